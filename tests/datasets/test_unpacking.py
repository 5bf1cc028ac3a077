"""Archives that try to write elsewhere, to fill the disk, or to be something else."""

import gzip
import tarfile

import pytest

from taskorder.datasets.unpacking import unpack

NAMES = ("a.bin", "b.bin")
GOOD = (("set/a.bin", b"aaa"), ("set/b.bin", b"bbb"))


@pytest.fixture
def run(tmp_path, make_tar):
    """A function (*members) that unpacks an archive of them into data/set and returns that folder."""

    def unpacked(*members, max_bytes=10**6):
        archive = tmp_path / "x.tar.gz"
        archive.write_bytes(make_tar(*members))
        unpack(archive, tmp_path / "data" / "set", NAMES, max_bytes)
        return tmp_path / "data" / "set"

    return unpacked


def special(name, kind, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_expected_files_are_unpacked_and_others_left_out(run, tmp_path):
    folder = run(special("set", tarfile.DIRTYPE), *GOOD, ("set/readme.html", b"x"), ("other/a.bin", b"y"))
    assert files(tmp_path / "data") == {"set/a.bin": b"aaa", "set/b.bin": b"bbb"}
    assert [path.name for path in (tmp_path / "data").iterdir()] == [folder.name]


def test_a_leading_dot_is_no_other_folder(run):
    assert files(run(("./set/a.bin", b"1"), ("./set/b.bin", b"2"))) == {"a.bin": b"1", "b.bin": b"2"}


def test_an_old_folder_keeps_what_is_not_ours(run, tmp_path):
    folder = tmp_path / "data" / "set"
    folder.mkdir(parents=True)
    (folder / "a.bin").write_bytes(b"broken")
    (folder / "mine.txt").write_bytes(b"keep")
    assert files(run(*GOOD)) == {"a.bin": b"aaa", "b.bin": b"bbb", "mine.txt": b"keep"}


@pytest.mark.parametrize(
    ("member", "said"),
    [
        (("/etc/evil", b"x"), "paths inside the archive"),
        (("../evil", b"x"), "paths inside the archive"),
        (("set/../../evil", b"x"), "paths inside the archive"),
        (("C:\\evil", b"x"), "paths inside the archive"),
        (special("set/a.bin", tarfile.SYMTYPE, "/etc/passwd"), "plain files only"),
        (special("unrelated", tarfile.SYMTYPE, "."), "plain files only"),
        (special("set/a.bin", tarfile.LNKTYPE, "set/b.bin"), "plain files only"),
        (special("set/null", tarfile.CHRTYPE), "plain files only"),
        (special("set/disk", tarfile.BLKTYPE), "plain files only"),
        (special("set/pipe", tarfile.FIFOTYPE), "plain files only"),
        (("set/a.bin", b"again"), "hold each file once"),
    ],
)
def test_what_is_no_plain_file_inside_is_refused(run, tmp_path, member, said):
    with pytest.raises(ValueError, match=said):
        run(*GOOD, member)
    assert list((tmp_path / "data").iterdir()) == []
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("name", ["set/a.bin", "unrelated"])
def test_a_huge_member_is_refused(run, tmp_path, name):
    huge = tarfile.TarInfo(name)
    huge.size = 3 * 10**6
    with pytest.raises(ValueError, match="must unpack to at most 1000000 bytes, got more"):
        run(huge, *GOOD)
    assert list((tmp_path / "data").iterdir()) == []


def test_a_missing_member_is_named(run):
    with pytest.raises(ValueError, match=r"must hold set/b\.bin, got no such file"):
        run(GOOD[0])


@pytest.mark.parametrize(
    "spoil", [lambda data: data[:-30], lambda data: b"junk" + data, gzip.decompress, gzip.compress]
)
def test_damaged_archives_are_refused(tmp_path, make_tar, spoil):
    archive = tmp_path / "x.tar.gz"
    archive.write_bytes(spoil(make_tar(*GOOD)))
    with pytest.raises(ValueError, match=r"must be a whole tar\.gz archive, got a damaged one"):
        unpack(archive, tmp_path / "set", NAMES, 10**6)
    assert not (tmp_path / "set").exists()

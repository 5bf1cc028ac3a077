"""Downloads against a loopback server that drops, lies, stalls and forges."""

import hashlib
import threading
import time
import urllib.request

import numpy as np
import pytest

from taskorder.datasets.download import _SameKind, download

DATA = np.random.default_rng(0).bytes(700_000)
MD5 = hashlib.md5(DATA).hexdigest()


@pytest.fixture
def get(tmp_path):
    """A function (address, **changes) that downloads to file.bin in the test's folder."""

    def run(address, **changes):
        path = tmp_path / "file.bin"
        options = {"md5": MD5, "max_bytes": 10**6, "timeout": 5.0, "tries": 3, "wait": 0.01, **changes}
        download(address, path, **options)
        return path.read_bytes()

    return run


def left(tmp_path):
    return sorted(path.name for path in tmp_path.iterdir())


def test_a_plain_download_reports_and_leaves_nothing_else(server, new_page, get, tmp_path):
    page = new_page(DATA)
    steps = []
    assert get(server.put("a", page), report=lambda done, total: steps.append((done, total))) == DATA
    assert steps[-1] == (len(DATA), len(DATA))
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert left(tmp_path) == ["file.bin"]
    assert get(server.base + "a") == DATA
    assert len(page.seen) == 1  # a good copy is not got again


def test_a_dropped_connection_is_taken_up_where_it_broke(server, new_page, get):
    page = new_page(DATA, cut=[300_000, 100_000])
    assert get(server.put("a", page)) == DATA
    assert [seen.get("range") for seen in page.seen] == [None, "bytes=300000-", "bytes=400000-"]
    assert page.seen[1]["if-range"] == '"one"'


def test_the_next_call_goes_on_from_the_part(server, new_page, get, tmp_path):
    page = new_page(DATA, cut=[200_000])
    with pytest.raises(ValueError, match=r"must be reachable, got: 200000 of 700000 bytes\. What has arrived is kept"):
        get(server.put("a", page), tries=1)
    assert left(tmp_path) == ["file.bin.part", "file.bin.part.tag"]
    assert get(server.base + "a", tries=1) == DATA
    assert page.seen[1]["range"] == "bytes=200000-"
    assert left(tmp_path) == ["file.bin"]


def test_a_server_without_ranges_sends_all_again(server, new_page, get):
    page = new_page(DATA, ranges=False, cut=[300_000])
    assert get(server.put("a", page)) == DATA
    assert len(page.seen) == 2


def test_another_version_is_not_joined_to_the_old_part(server, new_page, get, tmp_path):
    (tmp_path / "file.bin.part").write_bytes(b"x" * 1000)
    (tmp_path / "file.bin.part.tag").write_text('"older"')
    page = new_page(DATA)
    assert get(server.put("a", page), tries=1) == DATA
    assert page.seen[0]["if-range"] == '"older"'


def test_a_bad_part_without_a_version_is_dropped_once(server, new_page, get, tmp_path):
    (tmp_path / "file.bin.part").write_bytes(b"x" * 1000)
    page = new_page(DATA, tag=None)
    assert get(server.put("a", page)) == DATA
    assert [seen.get("range") for seen in page.seen] == ["bytes=1000-", None]


def test_a_weak_tag_is_no_version(server, new_page, get):
    page = new_page(DATA, tag='W/"weak"', cut=[1000])
    assert get(server.put("a", page)) == DATA
    assert "if-range" not in page.seen[1]


@pytest.mark.parametrize("size", [len(DATA), len(DATA) + 5])
def test_a_part_that_is_whole_or_too_long(server, new_page, get, tmp_path, size):
    (tmp_path / "file.bin.part").write_bytes((DATA + b"12345")[:size])
    assert get(server.put("a", new_page(DATA))) == DATA


def test_the_wrong_part_is_refused(server, new_page, get):
    page = new_page(DATA, cut=[300_000], wrong_range=True)
    assert get(server.put("a", page)) == DATA
    assert [seen.get("range") for seen in page.seen] == [None, "bytes=300000-", None]


@pytest.mark.parametrize("resume", [False, True])
def test_wrong_bytes_are_refused_and_removed(server, new_page, get, tmp_path, resume):
    forged = DATA[:-1] + bytes([DATA[-1] ^ 1])
    page = new_page(forged, cut=[1000] if resume else [])
    with pytest.raises(ValueError, match=f"must have the md5 {MD5}, got {hashlib.md5(forged).hexdigest()}") as refusal:
        get(server.put("a", page))
    assert "put a good copy into the folder yourself" in str(refusal.value)
    assert left(tmp_path) == []


def test_a_length_that_is_too_small_cannot_pass(server, new_page, get, tmp_path):
    with pytest.raises(ValueError, match="must have the md5"):
        get(server.put("a", new_page(DATA, length=500_000)))
    assert left(tmp_path) == []


def test_a_length_that_is_too_large_ends_in_the_truth(server, new_page, get):
    page = new_page(DATA, length=900_000)
    assert get(server.put("a", page)) == DATA  # the second request learns that nothing is missing
    assert len(page.seen) == 2


@pytest.mark.parametrize("length", [None, 10])
def test_files_past_the_limit_are_refused(server, new_page, get, tmp_path, length):
    page = new_page(DATA, length=length)
    with pytest.raises(ValueError, match=r"must have at most 5 bytes, got \d+ or more"):
        get(server.put("a", page), max_bytes=5)
    assert left(tmp_path) == []


def test_a_body_past_the_limit_is_cut_off(server, new_page, get, tmp_path):
    page = new_page(DATA, length=-1)
    with pytest.raises(ValueError, match="must have at most 400000 bytes"):
        get(server.put("a", page), max_bytes=400_000)
    assert left(tmp_path) == []
    assert get(server.base + "a") == DATA


def test_a_missing_file_is_said_at_once(server, get, monkeypatch):
    waits = []
    monkeypatch.setattr("taskorder.datasets.download.time.sleep", waits.append)
    with pytest.raises(ValueError, match="must be there, got HTTP status 404"):
        get(server.base + "nothing", wait=10)
    assert waits == []


def test_a_busy_server_is_asked_again(server, new_page, get):
    page = new_page(DATA, fail_first=2)
    assert get(server.put("a", page)) == DATA
    assert len(page.seen) == 3


def test_a_silent_server_is_left_after_the_timeout(server, new_page, get, tmp_path):
    page = new_page(DATA, stall=4.0)
    with pytest.raises(ValueError, match=r"must be reachable, got: timed out\. What has arrived is kept"):
        get(server.put("a", page), timeout=1.0, tries=1)
    assert (tmp_path / "file.bin.part").stat().st_size == len(DATA) // 2


def test_redirections_are_followed_to_http_only(server, new_page, get, tmp_path):
    server.put("b", new_page(DATA))
    assert get(server.put("a", new_page(location="/b"))) == DATA
    (tmp_path / "file.bin").unlink()
    secret = tmp_path / "secret"
    secret.write_bytes(DATA)
    for target in (secret.as_uri(), "ftp://127.0.0.1/x"):
        with pytest.raises(ValueError, match=r"must start with http|must be there, got HTTP status 302"):
            get(server.put("c", new_page(location=target)))
    with pytest.raises(ValueError, match="must be there, got HTTP status 302"):
        get(server.put("loop", new_page(location="/loop")))


def test_an_encrypted_address_stays_encrypted():
    request = urllib.request.Request("https://127.0.0.1/a")
    with pytest.raises(ValueError, match="must stay encrypted, got a redirection to 'http://127"):
        _SameKind().redirect_request(request, None, 302, "", {}, "http://127.0.0.1/b")
    assert _SameKind().redirect_request(request, None, 302, "", {}, "https://127.0.0.1/b") is not None


@pytest.mark.parametrize("address", ["file:///etc/hosts", "ftp://127.0.0.1/x", "data:,x", "nonsense"])
def test_other_schemes_are_refused(get, address):
    with pytest.raises(ValueError, match="`address` must start with http:// or https://"):
        get(address)


def test_no_server_at_all(server, get):
    with pytest.raises(ValueError, match=r"must be reachable, got: .*refused.*TASKORDER_DATA"):
        get("http://127.0.0.1:9/x", tries=2)


def test_a_folder_that_cannot_be_made(server, new_page, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="must be a folder with room to write"):
        download(server.put("a", new_page(DATA)), tmp_path / "file" / "x", md5=MD5, max_bytes=10**6)


def test_two_writers_do_not_mix(server, new_page, get, tmp_path):
    page = new_page(DATA, stall=0.5)
    first = threading.Thread(target=get, args=(server.put("a", page),))
    first.start()
    while not (tmp_path / "file.bin.part").exists():
        time.sleep(0.01)
    with pytest.raises(ValueError, match="must have one writer, got another process"):
        get(server.base + "a")
    first.join()
    assert (tmp_path / "file.bin").read_bytes() == DATA


def test_an_interruption_keeps_what_has_arrived(server, new_page, get, tmp_path):
    def interrupt(done, total):
        if done > 100_000:
            raise KeyboardInterrupt

    page = new_page(DATA)
    with pytest.raises(KeyboardInterrupt):
        get(server.put("a", page), report=interrupt)
    kept = (tmp_path / "file.bin.part").stat().st_size
    assert 100_000 < kept <= len(DATA)
    assert left(tmp_path) == ["file.bin.part", "file.bin.part.tag"]
    assert get(server.base + "a") == DATA
    assert page.seen[1]["range"] == f"bytes={kept}-"

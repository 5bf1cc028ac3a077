"""Every reader keeps to the budget with the worst files that we know, and takes large files that hold what they say."""

import ast
import re
from pathlib import Path

import pytest

pytest.importorskip("openpyxl")
pytest.importorskip("PIL")
pytest.importorskip("pyarrow")
pytest.importorskip("resource")
pytest.importorskip("starlette")

from taskorder import costs
from taskorder.costs import MB

from .bombs import Cost, broken, cost, written
from .cases import CASES

ROOT = Path(__file__).parents[2]
OPENING = re.compile(
    r"open|.*\.(open|read_text|read_bytes)|os\.(open|fdopen)|sys\.stdin.*\.read|.*urlopen"
    r"|(.*\.)?(ZipFile|GzipFile|ParquetFile|ParserCreate|load_workbook|fromstring|iterparse)"
    r"|(gzip|zlib|bz2|lzma)\.(decompress\w*)|(json|tomllib|pickle|marshal)\.loads?|.*literal_eval|csv\.(reader|DictReader)"
    r"|(np|numpy)\.(load|loadtxt|genfromtxt|fromfile|memmap)|.*format\.read_array|sqlite3\.connect"
    r"|.*\.(read|scan)_(csv|excel|feather|ipc|json|ndjson|orc|parquet|pickle|table)"
)
"""What opens a file or takes its contents apart."""
READERS_OF_FILES = {
    "tables/input_files.py": "all text, plain and in gzip",
    "tables/arrays.py": "NPY and NPZ",
    "tables/_workbook.py": "workbooks",
    "tables/_workbook_cells.py": "what leads to their cells",
    "tables/_workbook_parts.py": "their parts",
    "tables/separated.py": "rows of text",
    "parsing.py": "JSON, TOML, literals",
    "datasets/idx.py": "IDX",
    "datasets/cifar.py": "CIFAR, whose size is all there is",
    "datasets/images.py": "images",
    "datasets/table_files.py": "Parquet",
    "datasets/task_files.py": "the bytes of a spec, up to a limit",
    "datasets/task_list.py": "the bytes of a list of tasks, up to a limit",
    "datasets/unpacking.py": "tar.gz",
    "datasets/download.py": "what a server sends, up to the size of the data set",
    "runs/settings.py": "the bytes of a config, up to a limit",
    "runs/store_file.py": "stores",
    "report/report_input.py": "the bytes of what a report is about, up to a limit",
}
"""Modules that read what users give. All others ask them: a new one needs a case in cases.py, and a line here."""
READERS_OF_OURS = {
    "cli/__init__.py", "cli/output.py",  # /dev/null
    "files.py", "cli/export.py", "tables/writing.py", "runs/archive.py", "runs/locks.py",  # to write
    "learners/huggingface_weights.py",  # to lock a folder
    "records/writing.py", "explorer/searches.py", "runs/index.py",  # JSON that was made a moment before
    "learners/huggingface_description.py",  # and that of a tokenizer
    "explorer/app.py", "report/document.py", "report/still_svg.py", "tables/reading.py",  # parts of the package
    "machine.py", "learners/call_settings.py", "ordering/kernels/jit.py", "runs/cluster.py",
    "reproduction/running.py", "reproduction/corpora.py", "reproduction/language_runs.py",
    "reproduction/finetuning_data.py", "reproduction/finetuning_models.py", "reproduction/run_log.py",
}  # fmt: skip
"""Modules that read only what taskorder, the system or an option says."""


def opening(source: str) -> set[str]:
    """The calls in a source that open files or take their contents apart."""
    called = {ast.unparse(node.func) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)}
    return {name for name in called if OPENING.fullmatch(name)}


def test_every_reader_is_listed():
    package = ROOT / "src" / "taskorder"
    files = {file.relative_to(package).as_posix(): file for file in package.rglob("*.py")}
    files |= {file.relative_to(ROOT).as_posix(): file for file in (ROOT / "reproduction").rglob("*.py")}
    found = {name for name, file in files.items() if opening(file.read_text())}
    assert found == {*READERS_OF_FILES, *READERS_OF_OURS}
    assert len(files) > 100


@pytest.mark.parametrize(
    "call",
    [
        "open(path)", "path.open('rb')", "Path(path).read_text()", "json.loads(text)", "np.load(path)",
        "tomllib.load(f)", "zipfile.ZipFile(path)", "gzip.decompress(data)", "pandas.read_csv(path)",
        "sqlite3.connect(path)",
        "ElementTree.fromstring(text)", "sys.stdin.buffer.read()", "pickle.loads(data)", "Image.open(path)",
    ],
)  # fmt: skip
def test_a_new_reader_is_seen(call):
    assert opening(f"def f(path):\n    return {call}")


def test_what_reads_nothing_is_not_seen():
    assert opening("reopen()\njson.dumps(3)\nlist(rows)\nself.read(rows)\nread_table(path)") == set()


def test_what_breaks_the_budget():
    assert broken(Cost("refused: too large", 10 * MB, 0.1), 100, False) == []
    assert broken(Cost("refused: too large", 10 * MB, 0.1), 100, True) == ["refused: too large"]
    assert broken(Cost("taken", costs.most_memory(MB) + 1, 1), MB, True) == ["272 MB of 272"]
    assert broken(Cost("taken", 0, 1 + costs.most_seconds(MB)), MB, True) == ["13.0 s of 12.0"]
    for other in ("MemoryError: ", "never ended", "ended by signal 24", "TypeError: x"):
        assert broken(Cost(other, 0, 0), MB, False) == [other]


def test_cases_have_names_of_their_own():
    assert len({case.name for case in CASES}) == len(CASES) > 80
    assert sum(case.fair for case in CASES) > 15


def test_a_process_that_reads_nothing_is_no_cost(tmp_path):
    """The code of an earlier commit seemed to take forever: it had not begun."""
    (tmp_path / "src" / "taskorder").mkdir(parents=True)
    (tmp_path / "src" / "taskorder" / "__init__.py").write_text("raise ImportError('not here')")
    with pytest.raises(RuntimeError, match="not here"):
        cost(CASES[0].name, tmp_path / "input", tmp_path)


@pytest.mark.slow("memory")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_budget(case):
    with written(case.name) as (path, size):
        assert broken(cost(case.name, path), size, case.fair) == []

"""Public names are documented in NumPy style with an example, and long functions say why they do what they do."""

import ast
import inspect
import io
import tokenize
from pathlib import Path

import pytest

import taskorder
from taskorder import learners

ROOT = Path(__file__).parents[1]
PUBLIC = [(taskorder, name) for name in taskorder.__all__ if not name.startswith("_")]
PUBLIC += [(learners, name) for name in learners.__all__ if not name.endswith("Error")]
LONG = 40
"""Functions with more lines than this need a comment."""


def missing_parts(thing) -> list[str]:
    """Sections that the docstring of a public function or class lacks."""
    text = inspect.getdoc(thing) or ""
    parts = ["Examples"]
    if inspect.isfunction(thing):
        parts += ["Parameters"] if inspect.signature(thing).parameters else []
        parts += ["Returns"] if inspect.signature(thing).return_annotation not in (None, "None") else []
    lines = text.splitlines()
    missing = [part for part in parts if not any(line.strip() == part for line in lines)]
    return missing + (["a doctest"] if ">>>" not in text else [])


@pytest.mark.parametrize(("module", "name"), PUBLIC, ids=[f"{m.__name__}.{n}" for m, n in PUBLIC])
def test_public_names_have_numpy_docstrings_with_an_example(module, name):
    try:
        thing = getattr(module, name)
    except ImportError as problem:
        pytest.skip(f"an optional package is missing: {problem}")
    assert missing_parts(thing) == []


def documented(values: list) -> float:
    """The mean.

    Parameters
    ----------
    values
        Numbers.

    Returns
    -------
    float
        Their mean.

    Examples
    --------
    >>> documented([1, 3])
    2.0
    """
    return sum(values) / len(values)


def test_the_check_sees_what_is_missing():
    assert missing_parts(documented) == []
    assert missing_parts(test_the_check_sees_what_is_missing) == ["Examples", "Returns", "a doctest"]


def uncommented(source: str) -> list[str]:
    """Functions of more than LONG lines of code without a comment."""
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    comments = {token.start[0] for token in tokens if token.type == tokenize.COMMENT}
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            start = node.body[min(ast.get_docstring(node) is not None, len(node.body) - 1)].lineno
            end = node.end_lineno or start
            if end - start >= LONG and not comments & set(range(node.lineno, end)):
                names.append(node.name)
    return names


def test_long_functions_have_comments():
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "reproduction").rglob("*.py")]
    problems = {str(file.relative_to(ROOT)): names for file in files if (names := uncommented(file.read_text()))}
    assert len(files) > 100
    assert problems == {}


def test_the_walk_sees_long_functions():
    body = "\n".join(f"    x{k} = {k}" for k in range(LONG + 1))
    assert uncommented(f"def long():\n{body}\n") == ["long"]
    assert uncommented(f"def long():\n    # because\n{body}\n") == []
    assert uncommented("def short():\n    return 1\n") == []

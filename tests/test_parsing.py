"""JSON, TOML and literals: what their values would cost is told by their text, before there are any."""

import json
import tomllib
import tracemalloc
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder import costs, parsing
from taskorder.parsing import JSON_COSTS, MOST_DEPTH, json_values, literal_values, toml_values


@pytest.fixture
def small(monkeypatch):
    """A budget of 16 bytes for each byte, and hardly more."""
    monkeypatch.setattr(costs, "FREE_MEMORY", 1000)


def never(*ignored, **more):
    pytest.fail("it was parsed")


@pytest.mark.parametrize(
    "text",
    ["[" + "[]," * 1000 + "[]]", "[" + "{}," * 1000 + "{}]", "{" + ",".join(f'"{k}":0' for k in range(1000)) + "}"],
)
def test_many_small_values_are_refused_before_they_are_parsed(text, small, monkeypatch):
    monkeypatch.setattr(json, "loads", never)
    with pytest.raises(ValueError, match="so many small values that they would take"):
        json_values(text)


def test_the_size_of_a_packed_file_counts(small):
    text = json.dumps([0.123456] * 1000)
    assert len(json_values(text)) == 1000
    with pytest.raises(ValueError, match="so many small values"):
        json_values(text, num_bytes=100)


def test_long_texts_and_numbers_are_cheap(small):
    values = ["x" * 100_000, "\U0001f600" * 1000, 0.1234567890123456]
    assert json_values(json.dumps(values).encode("utf-8-sig")) == values


@pytest.mark.parametrize("brackets", ["[]", "[{"])
def test_nesting_is_counted_but_not_in_texts(brackets):
    opening, closing = ("[", "]") if brackets == "[]" else ('[{"a":', "}]")
    half = MOST_DEPTH if brackets == "[]" else MOST_DEPTH // 2
    assert json_values(opening * half + "1" + closing * half)
    with pytest.raises(ValueError, match=f"more than {MOST_DEPTH} lists or objects in one another"):
        json_values(opening * (half + 1) + "1" + closing * (half + 1))
    texts = ["[" * 1000, '"[' * 1000, "\\" * 999 + "{"]
    assert json_values(json.dumps(texts)) == texts


def test_brackets_without_an_end_are_one_of_our_errors():
    for text in ("[" * 100_000, '{"a":' * 100_000, '"' + '\\"[' * 100_000):
        with pytest.raises(ValueError):  # noqa: PT011  (json's own where it is shallow)
            json_values(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(),
        lambda v: st.lists(v) | st.dictionaries(st.text(), v),
    )
)
def test_the_values_are_those_of_json(values):
    assert json_values(json.dumps(values)) == values


@pytest.mark.slow("memory")
def test_the_costs_are_about_those_of_python():
    """At least half of what is taken, so that a text of any mixture stays within twice the budget."""
    for value in ([], [0.5], {}, {"a": 1}, [1.5] * 10, "ab", {"abc": "de"}):
        text = json.dumps([value] * 1000)
        tracemalloc.start()
        values = json.loads(text)
        taken = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert 2 * sum(text.count(mark) * cost for mark, cost in JSON_COSTS.items()) >= taken, values[0]


@pytest.mark.parametrize(
    "text",
    [
        "a." * 3000 + "a = 1",
        '"".' * 3000 + "a = 1",
        f"[{'a.' * 2000}a]\n" + "".join(f"b{k}.b.b = 1\n" for k in range(1000)),
        f'x = {{ y = """\n""", {"a." * 3000}a = "" }}',
    ],
    ids=["keys", "quoted keys", "keys below a header", "keys behind a text of two lines"],
)
def test_dotted_keys_of_many_parts_are_refused_before_they_are_parsed(text, monkeypatch):
    monkeypatch.setattr(tomllib, "loads", never)
    with pytest.raises(ValueError, match="dotted keys of too many parts"):
        toml_values(text.encode(), 10**6)


@pytest.mark.parametrize(
    "text",
    [
        "tasks = [" + '"St. A.", ' * 2000 + "]",
        "tasks = ['a.b'" + ", 'a.b'" * 2000 + "]",
        "x = [" + "0.5, " * 1500 + "]",
        "# don't. " + "..." * 3000 + "\na = 1",
        'a = "\\"' + "." * 5000 + '"',
    ],
    ids=["names", "literal names", "numbers", "a comment", "a text"],
)
def test_dots_elsewhere_are_no_keys(text):
    assert toml_values(text.encode(), 10**6) == tomllib.loads(text)


def test_toml_that_is_too_long_or_too_deep():
    with pytest.raises(ValueError, match="it has more than 10 bytes"):
        toml_values(b"a = 123456789", 10)
    with pytest.raises(ValueError, match="in one another"):
        toml_values(b"a = " + b"[" * 50_000, 10**6)


def test_literals_that_are_none_or_too_many(monkeypatch):
    assert literal_values("[1, 'a', (2,), {'b': None}]") == [1, "a", (2,), {"b": None}]
    for text in ("a", "[", "1 +", "[" * 1000, "{[]: 1}"):
        with pytest.raises(ValueError, match=r"no literal|malformed|so many"):
            literal_values(text)
    monkeypatch.setattr(costs, "FREE_MEMORY", 1000)
    with pytest.raises(ValueError, match="so many small values"):
        literal_values("[" + "0," * 1000 + "]")


@pytest.mark.slow("memory")
def test_patterns_take_one_pass():
    """Each quote of a text without an end was a new beginning: steps grew with the square of the length."""
    seconds = []
    for count in (50_000, 400_000):
        text = '"' + '\\"' * count
        start = process_time()
        for pattern in (parsing._JSON_TEXT, parsing._TOML_TEXT):
            assert pattern.sub("", text) == ""
        seconds.append(process_time() - start)
    # one pass over eight times the text; 64 times the steps would be 64 times as long
    assert seconds[1] < 40 * max(seconds[0], 0.005)

"""Orders in the settings of tools that fine-tune; tests/finetune and tests/finetune_tools run them in the real ones."""

import json
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder import PortableOrder, solve
from taskorder.adapters import TOOLS, settings, usage
from taskorder.adapters.literals import named, quoted, yaml_lines, yaml_value

yaml = pytest.importorskip("yaml")

ORDER = PortableOrder(names=("ants", "bees", "cats"), order=(2, 0, 1), versions={"taskorder": "1.0"})
TWICE = PortableOrder(names=("ants", "bees"), order=(1, 0, 1))
YAML_TOOLS = ("llamafactory", "axolotl")
HOSTILE = [
    *("no", "12", "1e5", "0x1f", "null", "~", "a: b", "- a", "# a", "'", '"', "a'b\"c", "a\\", "%", "@a", "[", "{a}"),
    *("!!python/object:x", "&a *a", "$(rm -rf /)", "`x`", "two\nlines", "a\u2028b", "a\x85b", "a\ufeff", "käse 🧀"),
]


def order_of(names):
    return PortableOrder(names=tuple(names), order=tuple(range(len(names))))


def learned_names(tool, text):
    """The data sets in the order in which the tool would read them from its fragment."""
    if tool == "llamafactory":
        return yaml.safe_load(text)["dataset"].split(",")
    if tool == "axolotl":
        return [entry["path"] for entry in yaml.safe_load(text)["datasets"]]
    if tool == "swift":
        shell = ["sh", "-c", "swift() { printf '%s\\0' \"$@\"; }\n" + text]
        words = subprocess.run(shell, capture_output=True, check=True, text=True).stdout.split("\0")
        assert words[:2] == ["sft", "--dataset"]
        return words[2 : words.index("--dataset_shuffle")]
    recipe = {}
    imports = "\n".join(line for line in text.splitlines() if not line.startswith("from "))
    exec(imports, recipe)
    return recipe["ORDER"]


@pytest.mark.parametrize("tool", TOOLS)
def test_every_tool_gets_the_planned_order(tool):
    assert learned_names(tool, usage(ORDER, tool)) == ["cats", "ants", "bees"]
    paths = {"ants": "data/a.json", "bees": "data/b.json", "cats": "data/c.json"}
    assert learned_names(tool, usage(ORDER, tool, paths)) == ["data/c.json", "data/a.json", "data/b.json"]


@pytest.mark.parametrize("tool", TOOLS)
def test_usage_shows_every_setting_below_a_comment(tool):
    text = usage(ORDER, tool)
    head = text.splitlines()
    assert head[0] == "# Planned order, from taskorder 1.0: cats -> ants -> bees"
    assert head[1].startswith("# Relies on: ")
    assert any(line.startswith("# Traps: ") for line in head)
    assert max(map(len, head)) <= 122
    for key in settings(ORDER, tool).keys() - {"order"}:
        assert key in text
    assert json.loads(json.dumps(settings(ORDER, tool))) == settings(ORDER, tool)


@pytest.mark.parametrize("tool", YAML_TOOLS)
def test_yaml_holds_the_settings_themselves(tool):
    assert yaml.safe_load(usage(ORDER, tool)) == settings(ORDER, tool)


def test_what_each_tool_needs_to_stop_mixing():
    llamafactory = settings(ORDER, "llamafactory")
    assert (llamafactory["mix_strategy"], llamafactory["disable_shuffling"]) == ("concat", True)
    axolotl = settings(ORDER, "axolotl")
    assert (axolotl["curriculum_sampling"], axolotl["shuffle_merged_datasets"]) == (True, False)
    swift = settings(ORDER, "swift")
    assert (swift["dataset_shuffle"], swift["train_dataloader_shuffle"]) == (False, False)
    assert settings(ORDER, "trl")["train_sampling_strategy"] == "sequential"
    assert settings(ORDER, "transformers").keys() == {"order", "train_sampling_strategy", "num_train_epochs"}
    assert {settings(ORDER, tool).get("num_train_epochs", 1) for tool in TOOLS} == {1}
    assert axolotl["num_epochs"] == 1


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_arrive_as_they_are(tool, name):
    made = order_of([name, "plain"])
    if tool == "swift" and {":", "#"} & set(name):
        with pytest.raises(ValueError, match="ms-swift reads ID:SUBSET#COUNT"):
            usage(made, tool)
        return
    if name.startswith("-") and tool == "swift":
        with pytest.raises(ValueError, match="do not begin with - for ms-swift"):
            usage(made, tool)
        return
    if tool == "llamafactory" and name != name.strip():
        with pytest.raises(ValueError, match="blanks at the ends for LLaMA-Factory"):
            usage(made, tool)
        return
    text = usage(made, tool)
    assert learned_names(tool, text) == [*made.names]
    assert text.splitlines()[1].startswith("# Relies on")


@given(st.text(min_size=1).filter(str.strip))
def test_any_text_survives_yaml_and_python(name):
    assert yaml.safe_load(f"a: {yaml_value(name)}\nb: [{yaml_value([name])}]") == {"a": name, "b": [[name]]}
    assert eval(quoted(name)) == name
    assert len(f"# {named([name])}".splitlines()) == 1


plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))


@given(values)
def test_any_value_survives_yaml(value):
    assert yaml.safe_load(f"a: {yaml_value(value)}") == {"a": value}
    assert yaml.safe_load(yaml_lines({"list": [{"path": "x", "more": value}]})) == {
        "list": [{"path": "x", "more": value}]
    }


def test_axolotl_takes_entries_and_keeps_what_they_hold():
    entry = {"path": "bees.jsonl", "type": "chat_template", "roles": {"user": ["human"]}, "shards": 3}
    values = settings(ORDER, "axolotl", {"ants": "a", "bees": entry, "cats": {"path": "c", "type": "alpaca"}})
    assert values["datasets"] == [{"path": "c", "type": "alpaca"}, {"path": "a"}, entry]
    assert yaml.safe_load(usage(ORDER, "axolotl", {"ants": "a", "bees": entry, "cats": "c"}))["datasets"][2] == entry


def test_every_order_has_a_folder_of_its_own_in_axolotl():
    """It finds a prepared data set whatever the order was."""
    other = PortableOrder(names=ORDER.names, order=(0, 1, 2))
    folders = {settings(order, "axolotl")["dataset_prepared_path"] for order in (ORDER, other)}
    assert len(folders) == 2
    assert settings(ORDER, "axolotl")["dataset_prepared_path"] in folders


def test_several_visits():
    for tool in TOOLS.keys() - {"llamafactory"}:
        assert learned_names(tool, usage(TWICE, tool)) == ["bees", "ants", "bees"]
    with pytest.raises(ValueError, match="loads one that is named twice only once, got 'bees' more than once"):
        usage(TWICE, "llamafactory")
    parts = {"ants": "ants", "bees": ["bees", "bees_again"]}
    for tool in TOOLS:
        assert learned_names(tool, usage(TWICE, tool, parts)) == ["bees", "ants", "bees_again"]
    with pytest.raises(ValueError, match="got 3 for 'bees', which is visited 2 times"):
        usage(TWICE, "trl", {"ants": "ants", "bees": ["a", "b", "c"]})


def test_groups_constraints_and_visits_of_a_plan():
    table = [[1, 0.2, 0.6, 0.1], [0.2, 1, 0.1, 0.3], [0.6, 0.1, 1, 0.2], [0.1, 0.3, 0.2, 1]]
    plan = solve(table, groups=[["A", "C"]], learned=["B"], last="D", retention=0.5)
    order = PortableOrder.from_plan(plan)
    for tool in TOOLS:
        text = usage(order, tool)
        assert learned_names(tool, text) == list(plan.named_order)
        assert "# Already learned, and not trained again: B\n" in text
    again = PortableOrder.from_plan(solve(table, visits=8, retention=1))
    assert len(again.order) > 4
    assert learned_names("swift", usage(again, "swift")) == list(again.named_order)


@pytest.mark.parametrize(
    ("datasets", "message"),
    [
        (["a"], "`datasets` must map task names to data sets, got ['a']"),
        ({"ants": "a", "bees": "b", "cat": "c"}, "must have task names as keys, got 'cat'. Did you mean 'cats'?"),
        ({"ants": "a", "bees": "b"}, "`datasets` must have a data set for every task to learn, got none for 'cats'."),
        ({"ants": "a", "bees": "b", "cats": 3}, "`datasets` must have text for each task, got 3 for 'cats'."),
        ({"ants": "a", "bees": "b", "cats": " "}, "`datasets` must have text for each task, got ' ' for 'cats'."),
        ({"ants": "a", "bees": "b", "cats": {"path": "c"}}, "must have text for each task, got {'path': 'c'}"),
        ({"ants": "a", "bees": "b", "cats": ["c", "d"]}, "got 2 for 'cats', which is visited 1 time."),
    ],
)  # fmt: skip
def test_bad_data_sets_are_named(datasets, message):
    with pytest.raises(ValueError) as refusal:  # noqa: PT011
        settings(ORDER, "trl", datasets)
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    "entry", [{"type": "alpaca"}, {"path": "a", "n": float("nan")}, {"path": "a", "n": {1}}, {"path": 3}]
)
def test_bad_entries_are_named(entry):
    with pytest.raises(ValueError, match=r"`datasets` must have (text, or a mapping with a path|values as in JSON)"):
        settings(ORDER, "axolotl", {"ants": entry, "bees": "b", "cats": "c"})


@pytest.mark.parametrize("name", ["a,b", "${x}", " a"])
def test_names_that_llamafactory_cannot_read_are_refused(name):
    with pytest.raises(ValueError, match=r"for LLaMA-Factory, got .* under another name"):
        settings(ORDER, "llamafactory", {"ants": name, "bees": "b", "cats": "c"})


def test_other_frameworks_take_no_data_sets_and_tools_need_a_task():
    with pytest.raises(ValueError, match=r"`datasets` must come with one of llamafactory, .* got 'clarena'"):
        settings(ORDER, "clarena", {"ants": "a"})
    with pytest.raises(ValueError, match=r"`framework` must be one of avalanche, .*transformers, got 'caffe'"):
        usage(ORDER, "caffe")
    with pytest.raises(ValueError, match="`order` must have a task left to learn, got none"):
        usage(PortableOrder(names=("A",), order=(), learned=(0,)), "trl")

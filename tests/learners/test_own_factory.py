"""Learners by the names that users type: refused in one line, and nothing is run that no name stands for."""

import pickle
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from taskorder import Task
from taskorder.arguments import BadArgument
from taskorder.cli import main
from taskorder.learners import own_factory
from taskorder.learners.named import named_learner

torch = pytest.importorskip("torch")
TASKS = [Task(name, np.eye(4, dtype=np.float32), np.array(["a", "b"] * 2)) for name in "xy"]
MODULES = {
    "good": "import torch\ndef make():\n    return torch.nn.Linear(4, 2)\n",
    "raises": "x = 1\n\n1 / 0\n",
    "wordy": "raise ValueError('one\\n  two\\n' + 'x' * 5000)\n",
    "exits": "import sys\nsys.exit(3)\n",
    "exits_saying": "import sys\nsys.exit('bye')\n",
    "odd_end": "class End(BaseException):\n    pass\nraise End('of all')\n",
    "broken": "def make(:\n",
    "needs_more": "import no_such_package_anywhere\n",
    "makers": (
        "import torch\nvalue, nothing, net = 3, None, torch.nn.Linear(4, 2)\n"
        "def make_net(): return torch.nn.Linear(4, 2)\n"
        "def wide(width): return torch.nn.Linear(width, 2)\n"
        "def returns_none(): pass\n"
        "def returns_text(): return 'net'\n"
        "def fails():\n    raise RuntimeError('no\\nluck')\n"
        "def leaves(): raise SystemExit('bye')\n"
        "class Net(torch.nn.Linear):\n    def __init__(self): super().__init__(4, 2)\n"
    ),
    "lazy": "def __getattr__(name): raise ZeroDivisionError(name)\n",
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with these modules, which no other test has imported."""
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text)
        sys.modules.pop(name, None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield tmp_path
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("..x:y", "without dots before it"),
        (".good:make", "without dots before it"),
        ("...:make", "must be torch:MODULE:FACTORY"),
        (".:.", "must be torch:MODULE:FACTORY"),
        ("good..x:make", "must be torch:MODULE:FACTORY"),
        ("good.:make", "must be torch:MODULE:FACTORY"),
        (":make", "must be torch:MODULE:FACTORY"),
        ("good:", "must be torch:MODULE:FACTORY"),
        (" good:make", "must be torch:MODULE:FACTORY"),
        ("good:make ", "must be torch:MODULE:FACTORY"),
        ("my net:make", "must be torch:MODULE:FACTORY"),
        ("class:make", "must be torch:MODULE:FACTORY"),
        ("go\0od:make", "must be torch:MODULE:FACTORY"),
        ("good.py:make", "Leave .py out: good:make."),
        ("folder/good:make", "in the folder of the module"),
        ("good:make.__call__", "Write a function of the module that calls it"),
        ("makers:Net.half", "Write a function of the module that calls it"),
        ("good:make()", "must be torch:MODULE:FACTORY"),
        ("nowhere:make", "No module named 'nowhere'. It is looked for in the current folder"),
        ("good.inner:make", "is not a package"),
        ("raises:make", "which raises ZeroDivisionError: division by zero (line 3 of raises.py). Mend it"),
        ("wordy:make", "which raises ValueError: one two xxx"),
        ("exits:make", "which raises SystemExit: 3 (line 2 of exits.py)"),
        ("exits_saying:make", "which raises SystemExit: bye"),
        ("odd_end:make", "which raises End: of all"),
        ("broken:make", "which raises SyntaxError: "),
        ("needs_more:make", "No module named 'no_such_package_anywhere' (line 1 of needs_more.py)"),
        ("good:mak", "got 'mak'. Did you mean 'make'?"),
        ("lazy:make", "which raises ZeroDivisionError: make"),
        ("makers:value", "which is an int. Name a function or a class."),
        ("makers:nothing", "which is a NoneType. Name a function or a class."),
        ("makers:net", "which is a Linear already"),
        ("makers:wide", "that needs no arguments, got makers:wide: missing a required argument: 'width'"),
    ],
)
def test_what_names_no_factory_is_refused_in_one_line(here, name, said):
    with pytest.raises(BadArgument, match=r"\A`learner` must .*\Z") as refusal:
        named_learner(f"torch:{name}", TASKS)
    assert said in str(refusal.value)
    assert len(str(refusal.value)) < 700


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("returns_none", "which returns nothing. Let it return an nn.Module."),
        ("returns_text", "which returns a str."),
        ("fails", "which raises RuntimeError: no luck (line 8 of makers.py). Mend it."),
        ("leaves", "which raises SystemExit: bye"),
    ],
)
def test_a_factory_that_makes_no_module_is_refused_in_one_line(here, name, said):
    learner = named_learner(f"torch:makers:{name}", TASKS)
    with pytest.raises(BadArgument, match=r"\A`learner` must name a function that makes a module, .*\Z") as refusal:
        learner.make(0)
    assert said in str(refusal.value)


@pytest.mark.parametrize("name", ["good:make", "makers:make_net", "makers:Net"])
def test_functions_and_classes_make_modules(here, name):
    learner = named_learner(f"torch:{name}", TASKS)
    model = learner.fit(learner.make(0), TASKS[0])
    assert learner.loss(model, TASKS[0]) > 0
    assert isinstance(pickle.loads(pickle.dumps(learner.module_factory))(), torch.nn.Module)


def test_ctrl_c_in_a_module_or_its_factory_is_passed_on(here):
    (here / "stopped.py").write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        named_learner("torch:stopped:make", TASKS)
    (here / "stopping.py").write_text("def make(): raise KeyboardInterrupt\n")
    learner = named_learner("torch:stopping:make", TASKS)
    with pytest.raises(KeyboardInterrupt):
        learner.make(0)


NAMES = st.text(st.sampled_from("ab.: /\\\0\n-()'\"é猫0_"), max_size=12) | st.text(max_size=12)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(NAMES)
@example("..x:y")
@example("a.b:c")
def test_no_text_imports_what_it_does_not_name(monkeypatch, text):
    imported = []

    def record(name):
        imported.append(name)
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(own_factory, "import_module", record)
    with pytest.raises(BadArgument, match=r"\A[^\n]*\Z"):
        own_factory.factory_named(text)
    module, _, name = text.partition(":")
    is_name = all(part.isidentifier() for part in (*module.split("."), name))
    assert imported == ([module] if is_name and imported else [])
    assert is_name or not imported


@settings(max_examples=100)
@given(NAMES | st.text(st.sampled_from("SGDClassifier(alph=1,'\"[]{}:.*"), max_size=30))
@example("SGDClassifier(alpha={[]: 1})")
@example("SGDClassifier(alpha=1, alpha=2)")
@example("SGDClassifier(**{'alpha': 1})")
@example("__class__(name='x')")
@example("SGDClassifier(alpha=" + "(" * 5000)
@example("SGDClassifier(alpha=" + "-" * 50000 + "1)")
def test_no_text_is_a_traceback_of_scikit_learn(text):
    refusals = []
    try:
        named_learner(f"sklearn:{text}", TASKS)
    except ValueError as refusal:
        refusals = [refusal]
    assert not any("\n" in str(refusal) for refusal in refusals)
    assert all(isinstance(refusal, BadArgument) or "partial_fit" in str(refusal) for refusal in refusals)


def test_the_command_line_says_it_in_one_line_and_ends_with_2(here, capsys):
    for name in ("x", "y"):
        (here / f"{name}.csv").write_text("a,b,label\n" + "1,2,p\n2,1,q\n" * 20)
    for learner in ("torch:..x:y", "torch:exits:make", "torch:exits_saying:make", "torch:makers:leaves"):
        assert main(["plan", "x.csv", "y.csv", "--pilot", "1.0", "--learner", learner]) == 2
        said = capsys.readouterr().err.strip()
        assert said.startswith("taskorder: error: `--learner` must "), said
        assert "\n" not in said


def test_a_program_that_leaves_with_a_message_is_no_traceback(monkeypatch, capsys):
    def leave(args):
        raise SystemExit("no\nmore")

    monkeypatch.setattr("taskorder.cli.solve.run", leave)
    assert main(["solve", "--demo"]) == 2
    assert capsys.readouterr().err == "taskorder: error: no more\n"

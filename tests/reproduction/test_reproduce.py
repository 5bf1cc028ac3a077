"""From a name to files, through the store, without computing twice; on a tiny experiment that the tests provide."""

import json
import sys
import types
from dataclasses import asdict, dataclass

import pytest

from reproduction import reproduce
from taskorder import experiments
from taskorder.cli import main
from taskorder.plots.figuredata import Check, FigureData, Panel, Series
from taskorder.runs.local import Interrupted
from taskorder.runs.specs import RunSpec


@dataclass(frozen=True)
class Config:
    """Settings of the tiny experiment."""

    count: int = 4
    scale: float = 1.0
    powers: tuple[int, ...] = (1, 2)
    word: str = "x"
    pairs: tuple[tuple[int, int], ...] = ((1, 2),)


@pytest.fixture
def tiny(monkeypatch):
    """An experiment called fig2b that counts its runs."""
    module = types.ModuleType("reproduction.fig2b")
    module.calls = 0
    module.Config, module.QUICK, module.BATCH = Config, Config(count=2), 1

    def run_batch(specs):
        module.calls += len(specs)
        return [{"y": spec.params["index"] * spec.params["scale"]} for spec in specs]

    def figure(config, results):
        line = Series("y", tuple(float(i) for i in range(config.count)), tuple(r["y"] for r in results))
        last = results[-1]["y"]
        check = Check(
            "The last is 3.",
            "paper, Fig. 0",
            f"{last}",
            last,
            None,
            None,
            "reproduced" if last == 3 else "not reproduced",
        )
        own = Check("Is | it?", "ours", "yes", None, None, None, "reproduced")
        return FigureData(
            "fig2b", "Tiny", (Panel("p", "x", "y", (line,)),), (check, own), asdict(config), notes=("Note.",)
        )

    module.specs = lambda config: [RunSpec("tiny.1", {"index": i, "scale": config.scale}) for i in range(config.count)]
    module.run_batch, module.figure = run_batch, figure
    monkeypatch.setitem(sys.modules, "reproduction.fig2b", module)
    monkeypatch.setattr(experiments, "fig2b", module, raising=False)
    return module


def test_numbers_and_pictures_are_written_and_not_computed_twice(tiny, tmp_path):
    figure, files = reproduce.reproduce("fig2b", tmp_path)
    assert [file.name for file in files] == ["fig2b.json", "fig2b.png", "fig2b.svg"]
    assert all(file.stat().st_size > 100 for file in files)
    assert figure.made["command"] == "python -m reproduction fig2b"
    assert figure.made["seconds"] >= 0
    assert tiny.calls == 4
    picture = files[1].read_bytes()
    files[1].unlink()
    again, _ = reproduce.reproduce("fig2b", tmp_path)
    assert again.panels == figure.panels
    assert tiny.calls == 4
    assert files[1].read_bytes() == picture


def test_what_is_drawn_first_is_what_is_drawn_again(tiny, tmp_path):
    first, again = (reproduce.reproduce("fig2b", tmp_path, settings={"scale": "0.3"})[0] for _ in range(2))
    assert tiny.calls == 4
    assert again == first


def test_drawing_needs_no_store_and_no_run(tiny, tmp_path, monkeypatch):
    reproduce.reproduce("fig2b", tmp_path)
    (tmp_path / "runs.sqlite").unlink()
    monkeypatch.setattr(tiny, "run_batch", None)
    monkeypatch.setattr(tiny, "figure", None)
    figure, _ = reproduce.reproduce("fig2b", tmp_path)
    assert figure.title == "Tiny"


def test_quick_and_custom_results_stay_apart(tiny, tmp_path):
    reproduce.reproduce("fig2b", tmp_path)
    reproduce.reproduce("fig2b", tmp_path, quick=True)
    figure, files = reproduce.reproduce("fig2b", tmp_path, settings={"scale": "2", "powers": "3,4"})
    assert {file.name for file in tmp_path.glob("*.json")} == {"fig2b.json", "fig2b-quick.json", "fig2b-custom.json"}
    assert files[2].name == "fig2b-custom.svg"
    assert figure.config["scale"] == 2.0
    assert figure.config["powers"] == [3, 4] or figure.config["powers"] == (3, 4)
    assert figure.made["command"] == "python -m reproduction fig2b --set scale=2 --set powers=3,4"
    assert tiny.calls == 8  # the quick one found its runs in the store


def test_changed_settings_are_computed(tiny, tmp_path):
    reproduce.reproduce("fig2b", tmp_path, settings={"scale": "2"})
    figure, _ = reproduce.reproduce("fig2b", tmp_path, settings={"scale": "3"})
    assert figure.panels[0].series[0].y == (0.0, 3.0, 6.0, 9.0)


def test_again_computes_anew_and_keeps_what_it_finishes(tiny, tmp_path, capsys):
    reproduce.reproduce("fig2b", tmp_path)
    reproduce.reproduce("fig2b", tmp_path, again=True)
    assert tiny.calls == 8
    (tmp_path / "fig2b.json").unlink()
    with pytest.raises(Interrupted):
        reproduce.reproduce("fig2b", tmp_path, again=True, report=lambda done, total: done >= 2)
    assert tiny.calls == 10
    reproduce.reproduce("fig2b", tmp_path)
    assert tiny.calls == 12


def test_without_matplotlib_there_are_numbers_and_verdicts(tiny, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(reproduce, "can_draw", lambda: False)
    assert main(["reproduce", "fig2b", "--results", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "reproduced: The last is 3." in said.out
    assert "drawing needs matplotlib" in said.err
    assert [file.name for file in tmp_path.glob("fig2b.*")] == ["fig2b.json"]


def test_numbers_that_are_not_finite_are_refused(tiny, tmp_path, capsys):
    assert main(["reproduce", "fig2b", "--results", str(tmp_path), "--set", "scale=nan"]) == 2
    assert "`--set` must give scale a value like 1.0, got 'nan'" in capsys.readouterr().err
    tiny.run_batch = lambda specs: [{"y": float("inf")} for _ in specs]
    assert main(["reproduce", "fig2b", "--results", str(tmp_path)]) == 2
    assert "must hold finite numbers" in capsys.readouterr().err


def test_the_command_prints_claims_and_files(tiny, tmp_path, capsys):
    assert main(["reproduce", "fig2b", "--results", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "fig2b  reproduced: The last is 3." in said
    assert "fig2b  holds: Is | it?" in said
    assert f"wrote {tmp_path / 'fig2b.svg'}" in said
    assert main(["reproduce", "fig2b", "--results", str(tmp_path), "--set", "scale=5", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [check["verdict"] for check in document["checks"]] == ["not reproduced", "holds"]
    assert len(document["files"]) == 3


def test_the_report_is_made_of_stored_full_size_results(tiny, tmp_path, capsys):
    assert main(["reproduce", "--report", str(tmp_path / "R.md"), "--results", str(tmp_path)]) == 2
    assert "`--results` must hold full-size results" in capsys.readouterr().err
    main(["reproduce", "fig2b", "--results", str(tmp_path), "--quick"])
    assert main(["reproduce", "--report", str(tmp_path / "R.md"), "--results", str(tmp_path)]) == 2
    main(["reproduce", "fig2b", "--results", str(tmp_path)])
    assert main(["reproduce", "--report", str(tmp_path / "R.md"), "--results", str(tmp_path)]) == 0
    text = (tmp_path / "R.md").read_text()
    assert "| The last is 3. | paper, Fig. 0 | 3.0 | reproduced |" in text
    assert "| Is \\| it? | ours | yes | holds |" in text
    assert "`python -m reproduction fig2b`, under 1 s on" in text
    assert "| fig3e | | no full-size result" in text
    assert "| fig5 |" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Name a figure to reproduce, or all"),
        (["fig8"], "`name` must be an experiment, got 'fig8'. Experiments: fig1c"),
        (["fig2b", "--partial"], "`--partial` must come without `--again`, with one of: fig1c, fig5"),
        (["fig2b", "--set", "scale"], "`--set` must be KEY=VALUE, got 'scale'"),
        (
            ["fig2b", "--set", "scala=1"],
            "`--set` must name a setting, got 'scala'. Settings: count, scale, powers, word",
        ),
        (["fig2b", "--set", "count=many"], "`--set` must give count a value like 4, got 'many'"),
        (["fig2b", "--set", "powers=1,b"], "`--set` must give powers a value like 1, got 'b'"),
    ],
)
def test_bad_input_is_named(tiny, tmp_path, capsys, words, message):
    assert main(["reproduce", *words, "--results", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


def test_results_that_cannot_be_used_are_named(tiny, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["reproduce", "fig2b", "--results", str(tmp_path / "file")]) == 2
    (tmp_path / "fig2b.json").write_text("{}")
    capsys.readouterr()
    assert main(["reproduce", "fig2b", "--results", str(tmp_path)]) == 2
    assert "fig2b.json` must hold a figure, got a damaged one" in capsys.readouterr().err
    assert main(["reproduce", "fig2b", "--results", str(tmp_path), "--again"]) == 0
    assert main(["reproduce", "--results", str(tmp_path), "--report", str(tmp_path)]) == 2
    assert "`--report` must be a file that can be written" in capsys.readouterr().err
    assert not list(tmp_path.parent.glob(".*.part"))


def test_every_name_loads_and_keeps_the_protocol():
    for name in experiments.NAMES:
        experiment = experiments.load(name)
        assert isinstance(experiment.QUICK, experiment.Config), name
        assert experiment.Config() != experiment.QUICK or len(experiment.specs(experiment.QUICK)) < 30, name
        specs = experiment.specs(experiment.QUICK)
        assert specs, name
        assert len({spec.digest for spec in specs}) == len(specs), name
        assert experiment.BATCH >= 1, name


def test_a_file_in_place_of_the_results_folder(tmp_path, capsys):
    (tmp_path / "table.csv").write_text("old")
    assert main(["reproduce", "fig2b", "--quick", "--results", str(tmp_path / "table.csv")]) == 2
    assert "`--results` must be a folder, got the file" in capsys.readouterr().err
    assert (tmp_path / "table.csv").read_text() == "old"

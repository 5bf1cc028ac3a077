"""From a name to files, through the store, without computing twice; on a tiny figure that the tests provide."""

import json
import types
from dataclasses import asdict, dataclass

import pytest

from reproduction import FIGURES, Figure, load, running
from reproduction.__main__ import main
from reproduction.claims import Claim, FigureData
from reproduction.running import reproduce
from taskorder.plots.records import Panel, Series
from taskorder.runs.local import Interrupted
from taskorder.runs.specs import RunSpec


@dataclass(frozen=True)
class Config:
    """Settings of the tiny figure."""

    count: int = 4
    scale: float = 1.0
    powers: tuple[int, ...] = (1, 2)
    word: str = "x"
    pairs: tuple[tuple[int, int], ...] = ((1, 2),)


@pytest.fixture
def tiny(monkeypatch):
    """A figure called fig2b that counts its runs."""
    made = types.SimpleNamespace(name="fig2b", full=Config(), quick=Config(count=2), keep=False, batch=1, calls=0)

    def run_batch(specs):
        made.calls += len(specs)
        return [{"y": spec.params["index"] * spec.params["scale"]} for spec in specs]

    def figure(config, results):
        line = Series("y", tuple(float(i) for i in range(config.count)), tuple(r["y"] for r in results))
        last = results[-1]["y"]
        check = Claim(
            "The last is 3.",
            "paper, Fig. 0",
            f"{last}",
            last,
            None,
            None,
            "reproduced" if last == 3 else "not reproduced",
        )
        own = Claim("Is | it?", "ours", "yes", None, None, None, "reproduced")
        return FigureData(
            "fig2b", "Tiny", (Panel("p", "x", "y", (line,)),), (check, own), asdict(config), notes=("Note.",)
        )

    made.specs = lambda config: [RunSpec("tiny.1", {"index": i, "scale": config.scale}) for i in range(config.count)]
    made.run_batch, made.figure = run_batch, figure
    monkeypatch.setattr(running, "load", lambda name: made if name == "fig2b" else load(name))
    return made


def test_numbers_and_pictures_are_written_and_not_computed_twice(tiny, tmp_path):
    figure, files = reproduce("fig2b", tmp_path)
    assert [file.name for file in files] == ["fig2b.json", "fig2b.png", "fig2b.svg"]
    assert all(file.stat().st_size > 100 for file in files)
    assert figure.made["command"] == "python -m reproduction fig2b"
    assert figure.made["seconds"] >= 0
    assert tiny.calls == 4
    picture = files[1].read_bytes()
    files[1].unlink()
    again, _ = reproduce("fig2b", tmp_path)
    assert again.panels == figure.panels
    assert tiny.calls == 4
    assert files[1].read_bytes() == picture


def test_what_is_drawn_first_is_what_is_drawn_again(tiny, tmp_path):
    first, again = (reproduce("fig2b", tmp_path, settings={"scale": "0.3"})[0] for _ in range(2))
    assert tiny.calls == 4
    assert again == first


def test_drawing_needs_no_store_and_no_run(tiny, tmp_path, monkeypatch):
    reproduce("fig2b", tmp_path)
    (tmp_path / "runs.sqlite").unlink()
    monkeypatch.setattr(tiny, "run_batch", None)
    monkeypatch.setattr(tiny, "figure", None)
    figure, _ = reproduce("fig2b", tmp_path)
    assert figure.title == "Tiny"


def test_quick_and_custom_results_stay_apart(tiny, tmp_path):
    reproduce("fig2b", tmp_path)
    reproduce("fig2b", tmp_path, quick=True)
    figure, files = reproduce("fig2b", tmp_path, settings={"scale": "2", "powers": "3,4"})
    assert {file.name for file in tmp_path.glob("*.json")} == {"fig2b.json", "fig2b-quick.json", "fig2b-custom.json"}
    assert files[2].name == "fig2b-custom.svg"
    assert figure.config["scale"] == 2.0
    assert figure.config["powers"] == [3, 4] or figure.config["powers"] == (3, 4)
    assert figure.made["command"] == "python -m reproduction fig2b --set scale=2 --set powers=3,4"
    assert tiny.calls == 8  # the quick one found its runs in the store


def test_changed_settings_are_computed(tiny, tmp_path):
    reproduce("fig2b", tmp_path, settings={"scale": "2"})
    figure, _ = reproduce("fig2b", tmp_path, settings={"scale": "3"})
    assert figure.panels[0].series[0].y == (0.0, 3.0, 6.0, 9.0)


def test_again_computes_anew_and_keeps_what_it_finishes(tiny, tmp_path, capsys):
    reproduce("fig2b", tmp_path)
    reproduce("fig2b", tmp_path, again=True)
    assert tiny.calls == 8
    (tmp_path / "fig2b.json").unlink()
    with pytest.raises(Interrupted):
        reproduce("fig2b", tmp_path, again=True, report=lambda done, total: done >= 2)
    assert tiny.calls == 10
    reproduce("fig2b", tmp_path)
    assert tiny.calls == 12


def test_without_matplotlib_there_are_numbers_and_verdicts(tiny, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(running, "can_draw", lambda: False)
    assert main(["fig2b", "--results", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "reproduced: The last is 3." in said.out
    assert "drawing needs matplotlib" in said.err
    assert [file.name for file in tmp_path.glob("fig2b.*")] == ["fig2b.json"]


def test_numbers_that_are_not_finite_are_refused(tiny, tmp_path, capsys):
    assert main(["fig2b", "--results", str(tmp_path), "--set", "scale=nan"]) == 2
    assert "`--set` must give scale a value like 1.0, got 'nan'" in capsys.readouterr().err
    tiny.run_batch = lambda specs: [{"y": float("inf")} for _ in specs]
    assert main(["fig2b", "--results", str(tmp_path)]) == 2
    assert "must hold finite numbers" in capsys.readouterr().err


def test_the_command_prints_claims_and_files(tiny, tmp_path, capsys):
    assert main(["fig2b", "--results", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "fig2b  reproduced: The last is 3." in said
    assert "fig2b  holds: Is | it?" in said
    assert f"wrote {tmp_path / 'fig2b.svg'}" in said
    assert main(["fig2b", "--results", str(tmp_path), "--set", "scale=5", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [check["verdict"] for check in document["claims"]] == ["not reproduced", "holds"]
    assert len(document["files"]) == 3


def test_the_report_is_made_of_stored_full_size_results(tiny, tmp_path, capsys):
    results, page = tmp_path / "results", tmp_path / "R.md"
    report = ["--report", str(page), "--results", str(results)]
    assert main(report) == 2
    assert "`--results` must hold full-size results" in capsys.readouterr().err
    main(["fig2b", "--results", str(results), "--quick"])
    assert main(report) == 2
    main(["fig2b", "--results", str(results)])
    assert main(report) == 0
    assert "Claims of the paper: 1 reproduced." in page.read_text()
    text = (tmp_path / "reproduction" / "pages" / "fig2b.md").read_text()
    assert "](../../results/fig2b.png)" in text
    assert "- Command: `python -m reproduction fig2b`, under 1 s on" in text
    assert "- Note." in text
    assert "| The last is 3. | paper, Fig. 0 | 3.0 | reproduced |" in text
    assert "| Is \\| it? | ours | yes | holds |" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Name a figure to reproduce, or all"),
        (["fig8"], "`name` must be a figure, got 'fig8'. Figures: fig1c"),
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
    assert main([*words, "--results", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("words", ["", "fig99", "fig2b --quik", "fig2b --partial", "--report x --results folder"])
def test_wrong_usage_is_one_line_and_writes_nothing(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    assert main(words.split()) == 2
    said = capsys.readouterr()
    assert said.err.startswith("taskorder: error: ")
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert [path.name for path in tmp_path.rglob("*")] == ["folder"]


def test_results_that_cannot_be_used_are_named(tiny, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["fig2b", "--results", str(tmp_path / "file")]) == 2
    (tmp_path / "fig2b.json").write_text("{}")
    capsys.readouterr()
    assert main(["fig2b", "--results", str(tmp_path)]) == 2
    assert "fig2b.json` must hold a figure, got a damaged one" in capsys.readouterr().err
    assert main(["fig2b", "--results", str(tmp_path), "--again"]) == 0
    assert main(["--results", str(tmp_path), "--report", str(tmp_path)]) == 2
    assert "`--report` must be a file that can be written" in capsys.readouterr().err
    assert not list(tmp_path.parent.glob(".*.part"))


@pytest.mark.parametrize("name", FIGURES)
def test_every_name_loads(name):
    figure = load(name)
    assert isinstance(figure, Figure)
    assert isinstance(figure.quick, type(figure.full))
    specs = figure.specs(figure.quick)
    assert figure.full != figure.quick or len(specs) < 30
    assert specs
    assert len({spec.digest for spec in specs}) == len(specs)
    assert figure.batch >= 1


def test_every_name_is_listed(capsys):
    assert main(["--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(FIGURES)


def test_a_file_in_place_of_the_results_folder(tmp_path, capsys):
    (tmp_path / "table.csv").write_text("old")
    assert main(["fig2b", "--quick", "--results", str(tmp_path / "table.csv")]) == 2
    assert "`--results` must be a folder, got the file" in capsys.readouterr().err
    assert (tmp_path / "table.csv").read_text() == "old"

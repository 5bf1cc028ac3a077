"""The pages about what was reproduced, from stored figures: a summary, and for each figure a page with all claims."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from reproduction import FIGURES
from reproduction.claims import Claim, FigureData
from reproduction.main_claims import PAPER, QUESTIONS, Row
from reproduction.running import write

PAGES = Path("reproduction") / "pages"
"""Where the pages of figures are, seen from the summary."""
OWN = {"reproduced": "holds", "not reproduced": "does not hold"}
"""What the verdicts are called for questions of our own."""
NOT_COVERED = "Figures 2a, 3b, 3c and 8 of the paper are drawings and examples without a claim."


def write_pages(figures: Sequence[FigureData], summary: Path, results: Path) -> list[Path]:
    """Write the summary, and into `PAGES` beside it the page of every figure; their paths."""
    folder = summary.parent / PAGES
    pictures = Path(os.path.relpath(results, folder)).as_posix()
    texts = {folder / f"{figure.name}.md": figure_page(figure, pictures) for figure in figures}
    texts = {summary: summary_page(figures), **texts}
    for path, text in texts.items():
        write(path, text)
    return list(texts)


def summary_page(figures: Sequence[FigureData]) -> str:
    """REPRODUCTION.md."""
    by_name = {figure.name: figure for figure in figures}
    # One list, in the order of the page, so that the page can be read here.
    return "\n".join(
        [
            "# What was reproduced",
            "",
            "Each figure of the paper was computed again, and each of its claims put to the numbers. Written by",
            "`python -m reproduction --report` from the numbers in `reproduction/results`.",
            "",
            f"- Claims of the paper: {_tally(figures, ours=False)}.",
            f"- Questions of our own: {_tally(figures, ours=True)}.",
            "",
            "The tables show the main ones; the page of a figure has all of them. [Errata](docs/errata.md) lists the",
            "errors that we found in the paper.",
            "",
            "## Claims of the paper",
            "",
            *_rows(PAPER, by_name, ours=False),
            "",
            "## Our own questions",
            "",
            *_rows(QUESTIONS, by_name, ours=True),
            "",
            "## How to run it",
            "",
            "    python -m reproduction --list             # the names",
            "    python -m reproduction fig3e --quick      # a smaller version, about a minute",
            "    python -m reproduction fig3e              # drawn from the stored numbers",
            "    python -m reproduction fig3e --again      # computed again, at the size of the paper",
            "    python -m reproduction all                # every figure that needs no image network",
            "    python -m reproduction images             # the others, from stored results",
            "",
            "Image networks were trained on a GPU with `taskorder run reproduction/configs/NAME.toml`; the results",
            "are in `reproduction/results/tables`.",
            "",
            "## How verdicts are decided",
            "",
            "By rules in the code of each figure, from a 95 % interval where there is one, else from an exact number:",
            "a claim is *reproduced* when the whole interval is on its side, *not reproduced* when none of it is, and",
            "*undecided* otherwise; a question of our own *holds* or *does not hold*. Where the paper does not give a",
            "number, the code states what we chose, and which rules were changed after a first look at the results.",
            "",
            f"## All figures\n\n{NOT_COVERED}",
            "",
            "| figure | shows | claims of the paper | our questions | cost |",
            "|---|---|---|---|---|",
            *(_figure_row(name, by_name.get(name)) for name in FIGURES),
            "",
        ]
    )


def _rows(rows: Sequence[Row], figures: Mapping[str, FigureData], *, ours: bool) -> list[str]:
    lines = [f"| {'question' if ours else 'claim'} | source | our number | verdict |", "|---|---|---|---|"]
    for row in rows:
        claims = row.claims(figures[row.figure], ours=ours) if row.figure in figures else []
        if not claims:
            lines.append(f"| {row.words} | {row.figure} | no full-size result | not tested |")
            continue
        source = row.figure if ours else _source(claims)
        verdicts = Counter(verdict_of(claim) for claim in claims)
        verdict = next(iter(verdicts)) if len(verdicts) == 1 else _counts(verdicts)
        lines.append(f"| {row.words} | {_link(row.figure, source)} | {_cell(row.answer(claims))} | {verdict} |")
    return lines


def _source(claims: Sequence[Claim]) -> str:
    """Where the paper says so; panels of one figure are joined."""
    return ", ".join(dict.fromkeys(claim.source.removeprefix("paper, ") for claim in claims))


def _figure_row(name: str, figure: FigureData | None) -> str:
    about = FIGURES[name][1]
    if figure is None:
        return f"| {name} | {about} | not tested | not tested | no full-size result |"
    paper, own = (_tally([figure], ours=ours) for ours in (False, True))
    return f"| {_link(name, name)} | {about} | {paper} | {own} | {_cost(figure)} |"


def _link(name: str, words: str) -> str:
    return f"[{words}]({(PAGES / name).as_posix()}.md)"


def figure_page(figure: FigureData, pictures: str) -> str:
    """The page of one figure: picture, command, cost, notes and all claims; `pictures` is the way to its folder."""
    took = "; its runs took" if figure.made.get("device") else ","
    lines = [
        f"# {figure.name}: {figure.title}",
        "",
        f"![{figure.title}]({pictures}/{figure.name}.png)",
        "",
        f"- Command: `{figure.made['command']}`{took} {_cost(figure)}",
        f"- Code: `reproduction/figures/{FIGURES[figure.name][0]}.py`",
        *(f"- {_cell(note)}" for note in figure.notes),
        "",
        "| claim | source | what we found | verdict |",
        "|---|---|---|---|",
        *(
            f"| {_cell(claim.claim)} | {claim.source} | {_cell(claim.found)} | {verdict_of(claim)} |"
            for claim in figure.claims
        ),
        "",
        "[Summary of all figures](../../REPRODUCTION.md)",
        "",
    ]
    return "\n".join(lines)


def verdict_of(claim: Claim) -> str:
    """The verdict in words: a question of our own holds or does not."""
    return OWN.get(claim.verdict, claim.verdict) if claim.source == "ours" else claim.verdict


def _tally(figures: Sequence[FigureData], *, ours: bool) -> str:
    return _counts(
        Counter(verdict_of(claim) for figure in figures for claim in figure.claims if (claim.source == "ours") == ours)
    )


def _counts(verdicts: Counter[str]) -> str:
    words = {"holds": "hold", "does not hold": "do not hold"}
    return ", ".join(
        f"{count} {verdict if count == 1 else words.get(verdict, verdict)}" for verdict, count in verdicts.most_common()
    )


def _cost(figure: FigureData) -> str:
    seconds = float(figure.made["seconds"])
    spent = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
    where = figure.made.get("device") or f"{figure.made['cores']} CPU cores"
    return f"{spent if seconds >= 1 else 'under 1 s'} on {where}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")

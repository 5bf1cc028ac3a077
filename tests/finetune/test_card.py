"""The section of a plan in a model card of the Hub, read back with the Hub's own package and shown by a real parser."""

import dataclasses
from html.parser import HTMLParser

import pytest

from taskorder import Plan, solve

hub = pytest.importorskip("huggingface_hub")

HEAD = "---\nlicense: mit\ntags:\n- lora\n---\n\n# My model\n\nWords.\n\n"
NAMES = [
    *("a|b", "two\nlines", "---", "<script>alert(1)</script>", "[x](y) ![z](w)", "{{ card_data }}", "`code` **bold**"),
    *("https://example.org www.example.org", "\ud800", "# title", "a\u2028b", "käse 🧀"),
]


@pytest.fixture(scope="module")
def plan():
    table = [[1.0 if k == j else 0.3 for j in range(len(NAMES))] for k in range(len(NAMES))]
    return solve(table, names=NAMES, learned=["a|b"], retention=0.3)


class Cells(HTMLParser):
    """The texts of the cells of a page, and the tags that it has."""

    def __init__(self):
        super().__init__()
        self.cells, self.tags, self.inside = [], set(), False

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.inside = tag == "td"
        if self.inside:
            self.cells.append("")

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, text):
        if self.inside:
            self.cells[-1] += text


def test_a_card_stays_valid(plan, tmp_path):
    card = hub.ModelCard(HEAD)
    before = card.data.to_dict()
    card.text += plan.to_markdown()
    card.save(tmp_path / "README.md")
    loaded = hub.ModelCard.load(tmp_path / "README.md")
    assert loaded.data.to_dict() == before
    assert "## Task order" in loaded.text
    assert loaded.text.count("\n---\n") == 0


def test_a_template_takes_it_as_text(plan):
    pytest.importorskip("jinja2")
    card = hub.ModelCard.from_template(
        hub.ModelCardData(license="mit"), template_str="---\n{{ card_data }}\n---\n\n" + plan.to_markdown()
    )
    assert "license: mit" in card.content.split("\n---")[0]
    assert card.text.count("license: mit") == 0


def test_markdown_shows_every_name_as_it_is(plan):
    page = Cells()
    page.feed(pytest.importorskip("markdown_it").MarkdownIt("gfm-like", {"linkify": False}).render(plan.to_markdown()))
    learned = [NAMES[0], *plan.named_order]
    shown = [name.replace("\n", " ").replace("\u2028", " ").replace("\ud800", "\ufffd") for name in learned]
    assert page.tags == {"h2", "p", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "strong"}
    assert page.cells[1::3] == shown
    assert page.cells[0::3] == ["before", *map(str, range(1, len(NAMES)))]


def test_names_from_a_file_cannot_break_out_either(plan):
    odd = "a\n---\n## more"
    text = dataclasses.replace(plan, rule=odd, table=odd, version=odd, notes=(odd,)).to_markdown()
    assert [line for line in text.splitlines() if line.startswith(("---", "##"))] == ["## Task order"]
    assert Plan.from_json(plan.to_json()).to_markdown() == plan.to_markdown()

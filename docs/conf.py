"""How `make docs` builds the site. The source is the whole repository, so that every link works on GitHub as well."""

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(Path(__file__).parent / "_ext")]

from taskorder._version import __version__  # noqa: E402

project = "taskorder"
author = "the taskorder authors"
project_copyright = "the taskorder authors, MIT license"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "mathml", "plaindocs"]
root_doc = "docs/index"
include_patterns = ["docs/*.md", "docs/*.rst", "*.md", "reproduction/pages/*.md", "src/taskorder/data/README.md"]
exclude_patterns = [".*", "build", "dist"]

myst_enable_extensions = ["dollarmath", "fieldlist"]
myst_dmath_allow_space = False
myst_heading_anchors = 3

default_role = "code"  # `name` in a docstring is code
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"

html_math_renderer = "mathml"
html_theme = "furo"
html_title = "taskorder"
html_static_path = ["_static"]
html_css_files = ["site.css"]
templates_path = ["_templates"]
html_additional_pages = {"index": "redirect.html"}
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
pygments_dark_style = "github-dark"


def add_figure_pages(app: Any, docname: str, source: list[str]) -> None:
    """Put the pages of the figures below the summary; a toctree in the file itself would show as code on GitHub."""
    if docname == "REPRODUCTION":
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\nreproduction/pages/*\n```\n"


def setup(app: Any) -> None:
    """Connect what is defined here."""
    app.connect("source-read", add_figure_pages)

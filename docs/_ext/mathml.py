"""Formulas as MathML, which browsers draw by themselves: no script, no font, no image, no LaTeX."""

from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(str(latex2mathml.tex2mathml(node.astext())))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="math">{latex2mathml.tex2mathml(node.astext(), as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Offer the renderer; conf.py chooses it."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

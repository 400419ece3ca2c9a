"""Formulas as MathML, made when the site is built: no script, no font, no network."""

from __future__ import annotations

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

log = logging.getLogger(__name__)
# What docutils does not know, in words that it does.
OTHER_WORDS = {r"\dots": r"\ldots", r"\Big/": "/"}


def to_mathml(node: nodes.Element, *, as_block: bool) -> str:
    tex = node.astext()
    for word, known in OTHER_WORDS.items():
        tex = tex.replace(word, known)
    if as_block and (r"\\" in tex or "&" in tex):
        tex = rf"\begin{{align*}}{tex}\end{{align*}}"
    try:
        return tex2mathml(tex, as_block=as_block)
    except MathError as error:
        log.warning("formula cannot be written as MathML: %s", error, location=node)
        return ""


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(to_mathml(node, as_block=False))
    raise nodes.SkipNode


def visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{to_mathml(node, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

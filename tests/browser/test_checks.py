"""The checks of pages find what they are for: each is shown a page that is wrong."""

from __future__ import annotations

import pytest

GOOD = """<!doctype html><html lang="en"><title>t</title><body><header><h1>t</h1></header><main>
<h2>s</h2><p>words</p><label>n <input></label><table><caption>c</caption>
<thead><tr><th scope="col">a</th></tr></thead><tbody><tr><th scope="row">b</th></tr></tbody></table>
<div id="p" class="plot" role="img" aria-label="a plot"></div></main></body></html>"""


@pytest.fixture
def bad(visit):
    seen = visit("about:blank")

    def show(old: str, new: str):
        assert old in GOOD
        seen.page.set_content(GOOD.replace(old, new))
        return seen

    return show


def test_checks_pass_a_page_that_is_right(bad) -> None:
    seen = bad("words", "other words")
    seen.check_contrast()
    seen.check_structure()


@pytest.mark.parametrize(
    ("style", "holds"),
    [
        ("color:#777", False),  # 4.48
        ("color:#767676", True),  # 4.54
        ("color:#949494;font-size:24px", True),  # 3.03, large
        ("color:#949494;font-size:18px", False),
        ("color:#fff;background:rgba(0,0,0,.5)", False),  # on grey: 3.95
        ("color:#fff;background:rgba(0,0,0,.6)", True),
    ],
)
def test_contrast_is_that_of_wcag(bad, style: str, holds: bool) -> None:
    seen = bad("<p>", f'<p style="{style}">')
    if holds:
        seen.check_contrast()
    else:
        with pytest.raises(AssertionError, match="words: "):
            seen.check_contrast()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("<h2>s</h2>", "<h3>s</h3>", "skips a level"),
        ("<caption>c</caption>", "", "without a caption"),
        ('<th scope="row">b</th>', "<td>b</td>", "without a head"),
        ('<th scope="col">a</th>', '<th scope="col"></th>', "without a head"),
        ('aria-label="a plot"', "", "no words for p"),
        ("<label>n <input></label>", "<input>", "no label"),
        ('<div id="p"', '<p id="p"></p><div id="p"', "is there twice"),
        ('lang="en"', "", "no language"),
        ("<p>words</p>", '<div style="width:9px;overflow:auto">words</div>', "cannot scroll"),
    ],
)  # fmt: skip
def test_structure_finds_what_a_screen_reader_would_miss(bad, old, new, problem) -> None:
    with pytest.raises(AssertionError, match=problem):
        bad(old, new).check_structure()

"""What stands under the blocks of a guide is what they print, draw and write."""

from __future__ import annotations

import base64
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

EXTENSIONS = Path(__file__).resolve().parents[2] / "docs" / "_ext"
PAGE = """# A page

```python
import matplotlib.pyplot as plt

two = 1 + 1
print("two is", two)
plt.plot([0, 1])
```

Words between.

```python
print(two + 1)
plt.savefig("line.png")
plt.close()
```

<!-- show: line.png -->

```text
not run
```
"""


@pytest.fixture(scope="module")
def outputs() -> ModuleType:
    pytest.importorskip("sphinx", reason="sphinx is not installed: pip install 'graphfilter[docs]'")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXTENSIONS))
        spec = importlib.util.spec_from_file_location("outputs", EXTENSIONS / "outputs.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules.pop("run_page", None)
        return module


def test_blocks_share_a_session_and_show_what_they_print_and_draw(outputs: ModuleType) -> None:
    shown = outputs.run_page("page", PAGE)
    assert [each["text"] for each in shown] == ["two is 2\n", "3\n", ""]
    drawn, saved = shown[0]["pictures"][0], shown[2]["pictures"][0]
    for picture in (drawn, saved):
        assert base64.b64decode(picture).startswith(b"\x89PNG")
    page = outputs.with_outputs(PAGE, shown)
    assert page.index("two is 2\n````") < page.index("Words between.") < page.index("\n3\n````")
    assert page.count("data:image/png;base64,") == 2
    # All that was there is there still.
    assert [line for line in PAGE.splitlines() if line not in page.splitlines()] == []


def test_sentences_are_wrapped_and_rows_of_tables_are_not(outputs: ModuleType) -> None:
    row = "  test   357   " + "99.7%   " * 20
    assert outputs.wrapped(row) == row
    lines = outputs.wrapped("word " * 40).splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= outputs.WIDTH


def test_command_shows_what_it_prints(outputs: ModuleType) -> None:
    (shown,) = outputs.run_page("page", "```console\n$ graphfilter --version\n```\n")
    assert shown["text"].startswith("graphfilter ")


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        ("```python\n1 / 0\n```\n", "ZeroDivisionError"),
        ("```console\n$ graphfilter fit --no-such\n```\n", "there is no option '--no-such'"),
        ("```console\n$ rm -r .\n```\n", "must be graphfilter"),
    ],
)
def test_block_that_fails_ends_the_build(outputs: ModuleType, block: str, reason: str) -> None:
    with pytest.raises(outputs.ExtensionError, match="a block does not run") as error:
        outputs.run_page("page", block)
    assert reason in str(error.value)


def test_guides_are_run_and_records_are_not(outputs: ModuleType) -> None:
    run = (
        "docs/get-started",
        "docs/tutorial-sklearn",
        "docs/howto/coverage",
        "docs/concepts/filters",
    )
    assert all(outputs.GUIDES.fullmatch(name) for name in run)
    for name in ("docs/howto/index", "docs/scale", "results/table2", "docs/performance"):
        assert outputs.GUIDES.fullmatch(name) is None

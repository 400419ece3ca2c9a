"""A headless Chromium, where there is one; pages that remember what went wrong in them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

CHECKS = Path(__file__).with_name("checks.js").read_text()
SCREENSHOTS = Path(__file__).resolve().parents[2] / "build" / "screenshots"
SWITCHES = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


class Watched:
    """A page, its console errors, and the addresses it asked for outside its own."""

    def __init__(self, page: Any, address: str, own: str) -> None:
        self.page = page
        self.errors: list[str] = []
        self.outside: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        page.on("request", lambda r: None if self._is_own(r.url, own) else
                self.outside.append(r.url))  # fmt: skip
        page.goto(address)

    @property
    def tree(self) -> str:
        """The accessibility tree, as Playwright writes it: a role and a name a line."""
        return self.page.locator("body").aria_snapshot()

    @staticmethod
    def _is_own(url: str, own: str) -> bool:
        return url.startswith((own.split("#")[0], "data:", "blob:"))

    def check(self) -> None:
        assert self.errors == []
        assert self.outside == []

    def check_contrast(self) -> None:
        """Hold every text on the screen to WCAG's contrast of 4.5, or 3 where it is large."""
        assert self.page.evaluate(f"() => {{ {CHECKS} return faintTexts(); }}") == []

    def check_structure(self) -> None:
        """Hold the page to what a screen reader goes by: names, headings, tables, labels."""
        assert self.page.evaluate(f"() => {{ {CHECKS} return structureProblems(); }}") == []

    def check_no_sideways_scroll(self) -> None:
        wide, room = self.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide <= room

    def keep(self, name: str) -> None:
        """Take a screenshot of the whole page, where somebody made a folder to look at them in."""
        if SCREENSHOTS.is_dir():
            self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("there is no chromium to open pages with")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(SWITCHES))
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium) -> Iterator[Callable[..., Watched]]:
    """Open an address: ``visit(url, width=390, dark=True)``.

    Requests must stay under ``root``, the address itself unless it is given.
    """
    contexts = []

    def open_page(url: str, *, root: str = "", width: int = 1200, dark: bool = False) -> Watched:
        context = chromium.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            accept_downloads=True,
        )
        contexts.append(context)
        return Watched(context.new_page(), url, root or url)

    yield open_page
    for context in contexts:
        context.close()

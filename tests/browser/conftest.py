"""A headless Chromium, where there is one; pages that remember what went wrong in them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

CHECKS = Path(__file__).with_name("checks.js").read_text()
SCREENSHOTS = Path(__file__).resolve().parents[2] / "build" / "screenshots"
SWITCHES = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--process-per-site",  # where pages share a process, a report's scripts are compiled once
)  # fmt: skip


class Watched:
    """A page, its console errors, and the addresses it asked for outside its own."""

    def __init__(self, page: Any, address: str, own: str) -> None:
        self.page = page
        self.errors: list[str] = []
        self.outside: list[str] = []
        self._listeners = {
            "pageerror": lambda error: self.errors.append(str(error)),
            "console": lambda m: self.errors.append(m.text) if m.type == "error" else None,
            "request": lambda r: None if self._is_own(r.url, own) else self.outside.append(r.url),
        }
        for event, listener in self._listeners.items():
            page.on(event, listener)
        page.goto(address)

    def leave(self) -> None:
        """Leave the page empty for another test: nothing stored, nobody listening."""
        self.page.evaluate(
            "() => { try { localStorage.clear(); sessionStorage.clear(); } catch {} }"
        )
        self.page.goto("about:blank")
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)

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


class Pages:
    """The pages of a window: one that was left serves again."""

    def __init__(self, window: Any) -> None:
        self._window = window
        self._free: list[Any] = []

    def open(self, url: str, *, root: str = "", width: int = 1200, dark: bool = False) -> Watched:
        page = self._free.pop() if self._free else self._window.new_page()
        page.bring_to_front()  # behind another it rarely draws, and a click waits for that
        page.set_viewport_size({"width": width, "height": 900})
        scheme = "dark" if dark else "light"
        page.emulate_media(media="null", color_scheme=scheme, reduced_motion="null")
        return Watched(page, url, root or url)

    def leave(self, visited: Iterable[Watched]) -> None:
        for seen in visited:
            if not seen.page.is_closed():
                seen.leave()
                self._free.append(seen.page)
        self._window.clear_cookies()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """One window of the browser: it takes longer to open one than to show most pages."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("there is no chromium to open pages with")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(SWITCHES))
        window = browser.new_context(accept_downloads=True)
        window.set_default_timeout(120_000)  # no page fails for being slow
        yield window
        browser.close()


@pytest.fixture(scope="session")
def pages(chromium) -> Pages:
    return Pages(chromium)


@pytest.fixture
def visit(pages: Pages) -> Iterator[Callable[..., Watched]]:
    """Open an address: ``visit(url, width=390, dark=True)``.

    Requests must stay under ``root``, the address itself unless it is given.
    """
    visited: list[Watched] = []

    def open_page(url: str, **how: Any) -> Watched:
        visited.append(pages.open(url, **how))
        return visited[-1]

    yield open_page
    pages.leave(visited)


@pytest.fixture(scope="module")
def visit_once(pages: Pages) -> Iterator[Callable[..., Watched]]:
    """Open an address as ``visit`` does, once for the tests of a file: they leave it as it was."""
    visited: dict[tuple[Any, ...], Watched] = {}

    def open_page(url: str, **how: Any) -> Watched:
        key = (url, *how.items())
        if key not in visited:
            visited[key] = pages.open(url, **how)
        visited[key].page.bring_to_front()
        return visited[key]

    yield open_page
    pages.leave(visited.values())

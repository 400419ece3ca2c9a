"""The built site: whole links, nothing from elsewhere, everything to be found."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import pytest

LOADED = {"script": "src", "link": "href", "img": "src", "source": "src", "iframe": "src"}


class Page(HTMLParser):
    """The links of a page, what it loads, and the places that can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.ids: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.ids.add(str(given["id"]))
        if tag == "a" and given.get("href"):
            self.links.add(str(given["href"]))
        if tag in LOADED and given.get(LOADED[tag]):
            self.loads.add(str(given[LOADED[tag]]))


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html")}


def test_links_of_the_site_are_whole(pages: dict[Path, Page]) -> None:
    assert len(pages) > 50
    broken = []
    for path, page in pages.items():
        for link in page.links:
            target, place = urldefrag(link)
            if target.startswith(("http://", "https://", "mailto:")):
                continue
            there = (path.parent / unquote(target)).resolve() if target else path
            if not there.exists():
                broken.append(f"{path.name}: {link}")
            elif place and there in pages and unquote(place) not in pages[there].ids:
                broken.append(f"{path.name}: {link} has no such place")
    assert broken == []


def test_pages_load_nothing_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        for address in page.loads - {"#"}:
            assert not address.startswith(("http:", "https:", "//")), f"{path.name}: {address}"
            assert (path.parent / address.split("?")[0]).exists(), f"{path.name}: {address}"
    for sheet in site.rglob("*.css"):
        text = sheet.read_text()
        assert "@import" not in text, sheet.name
        assert "url(http" not in text.replace('"', ""), sheet.name


def test_every_page_is_reached_from_the_first(site: Path, pages: dict[Path, Page]) -> None:
    seen, ahead = set(), [site / "index.html"]
    while ahead:
        path = ahead.pop()
        if path in seen or path not in pages:
            continue
        seen.add(path)
        targets = (urldefrag(link).url for link in pages[path].links)
        ahead += [(path.parent / unquote(target)).resolve() for target in targets if target]
    # The search page is reached by its form; the index is for browsers.
    assert set(pages) - seen <= {site / "search.html", site / "genindex.html"}


def test_search_knows_the_words_of_the_pages(site: Path) -> None:
    text = (site / "searchindex.js").read_text()
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    assert "docs/howto/imbalanced" in index["docnames"]
    assert {"frequenc", "imbalanc", "committe"} <= set(index["terms"])


def test_page_of_the_commands_has_every_option(site: Path) -> None:
    import typer.main

    from graphfilter.cli.app import app

    text = (site / "docs" / "commands.html").read_text()
    top: Any = typer.main.get_command(app)
    for name, command in top.commands.items():
        parts = getattr(command, "commands", {None: command})
        for own, part in parts.items():
            assert f"graphfilter {name}{f' {own}' if own else ''}<a" in text
            for option in part.params:
                if option.param_type_name == "option" and option.name != "help":
                    assert f">{option.opts[0]}<" in text, f"{name}: {option.opts[0]}"

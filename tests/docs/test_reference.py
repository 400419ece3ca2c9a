"""The reference and the public names are the same, and every name has an example that runs."""

from __future__ import annotations

import doctest
import inspect
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import graphfilter
from graphfilter_research import peers
from graphfilter_research.datasets import readers

API = Path(__file__).resolve().parents[2] / "docs" / "api"
ENTRY = re.compile(r"^\.\. (?:auto(?:class|function)|py:(?:data|class)):: (\w+)$", re.M)
ROOM = re.compile(r"^\.\. automodule:: ([\w.]+)$", re.M)
# Readers of files of a fixed layout, which an example would have to bring.
WITHOUT_EXAMPLES = ("graphfilter.data.files", readers.__name__)


def public_rooms() -> list[ModuleType]:
    """Return the package, its public modules, and those of the research package."""
    named = (getattr(graphfilter, name) for name in graphfilter.__all__)
    return [graphfilter, *filter(inspect.ismodule, named), peers, readers]


def names_of(room: ModuleType) -> list[str]:
    """Return the public names of a room: those that it lists, or all that it takes of its files."""
    if room is peers:
        return list(peers.NETWORKS)
    every = [n for n, v in vars(room).items() if n[0] != "_" and not inspect.ismodule(v)]
    return getattr(room, "__all__", every)


def public_names() -> dict[str, Any]:
    return {
        f"{room.__name__}.{name}": getattr(room, name)
        for room in public_rooms()
        for name in names_of(room)
        if not inspect.ismodule(getattr(room, name))
    }


def referenced_names() -> list[str]:
    """Return the names in the reference, each with the module its page or section is of."""
    names = []
    for page in API.glob("*.md"):
        room = ""
        for line in page.read_text().splitlines():
            if module := ROOM.match(line):
                room = module[1]
            if entry := ENTRY.match(line):
                names.append(f"{room}.{entry[1]}")
    return names


def test_public_names_are_those_of_the_reference() -> None:
    public, referenced = public_names(), referenced_names()
    assert len(referenced) == len(set(referenced))
    assert set(referenced) - set(public) == set()
    # A name that is public in two places is described in one of them.
    described = [id(public[name]) for name in referenced]
    missing = {n for n, found in public.items() if id(found) not in described}
    assert missing == set()


def test_every_public_name_has_an_example() -> None:
    """Its own or, of a config, that of what it makes."""
    on_pages = "\n".join(page.read_text() for page in API.glob("*.md"))
    without = []
    for name, found in public_names().items():
        room, _, own = name.rpartition(".")
        documented = inspect.isclass(found) or inspect.isfunction(found)
        text = (found.__doc__ or "") if documented else ""
        made = getattr(found, "network", None) or getattr(found, "filter_type", None)
        text += (made.__doc__ or "") if inspect.isclass(made) else ""
        entry = re.search(rf"^\.\. py:(?:data|class):: {own}\n(?:\n|   .*\n)+", on_pages, re.M)
        exempt = getattr(found, "__module__", room).startswith(WITHOUT_EXAMPLES)
        if not exempt and ">>>" not in text + (entry[0] if entry else ""):
            without.append(name)
    assert without == []


@pytest.mark.parametrize("page", sorted(API.glob("*.md")), ids=lambda page: page.stem)
def test_examples_on_the_page_run(page: Path) -> None:
    """Those of constants, which have no docstring of their own."""
    text = page.read_text().replace("```", "\n")
    example = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert runner.run(example).failed == 0


def test_rooms_of_the_reference_can_be_imported() -> None:
    rooms = {room for page in API.glob("*.md") for room in ROOM.findall(page.read_text())}
    assert {import_module(room).__name__ for room in rooms} == {r.__name__ for r in public_rooms()}

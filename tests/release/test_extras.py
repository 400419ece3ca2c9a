"""Packages that not everybody needs: whoever lacks one is told which extra brings it."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

import graphfilter as gf
from graphfilter.data import read_networkx
from graphfilter.util.errors import ConfigError, GraphFilterError

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ASKED = {
    found
    for path in (ROOT / "src").rglob("*.py")
    for found in re.findall(r'import_extra\("(\w+)", "(\w+)"', path.read_text("utf-8"))
    if path.name != "errors.py"
}
# Where a package is not named as its module is.
PACKAGES = {"yaml": "pyyaml", "charset_normalizer": "charset-normalizer"}


@pytest.mark.parametrize(("module", "extra"), sorted(ASKED))
def test_extra_that_is_named_has_the_package_and_the_core_does_not(module: str, extra: str) -> None:
    def names(asked: list[str]) -> set[str]:
        return {re.split(r"[>=\[;]", words)[0] for words in asked}

    package = PACKAGES.get(module, module)
    assert package in names(PROJECT["optional-dependencies"][extra])
    assert package in names(PROJECT["optional-dependencies"]["test"])
    assert package not in names(PROJECT["dependencies"])


def test_extras_of_formats_and_data_are_asked_for() -> None:
    wanted = {("networkx", "formats"), ("charset_normalizer", "formats"), ("openpyxl", "excel")}
    assert wanted | {("pooch", "data"), ("yaml", "data"), ("duckdb", "scale")} <= ASKED


def test_graphml_and_the_karate_club_need_networkx(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ConfigError, match=r"GraphML or GML needs networkx.+graphfilter\[formats\]"):
        read_networkx(tmp_path / "a.graphml")
    with pytest.raises(ConfigError, match=r"karate club needs networkx"):
        gf.load_dataset("karate")


def test_text_that_is_not_western_is_not_guessed_without_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guessed wrong it would be words that nobody wrote."""
    (tmp_path / "v.csv").write_bytes("id,слово\na,привет как дела\nb,хорошо\n".encode("cp1251"))
    (tmp_path / "e.csv").write_text("u,v\na,b\n")
    monkeypatch.setitem(sys.modules, "charset_normalizer", None)
    with pytest.raises(GraphFilterError, match=r"neither Unicode nor Western.+\[formats\]"):
        gf.read_tables(tmp_path / "e.csv", tmp_path / "v.csv")


def test_a_download_needs_pooch_and_the_folder_of_the_cache_is_its(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = pytest.importorskip("graphfilter_research.datasets.registry")
    monkeypatch.delenv("GRAPHFILTER_CACHE", raising=False)
    assert registry.cache_folder() == Path(pytest.importorskip("pooch").os_cache("graphfilter"))
    monkeypatch.setenv("GRAPHFILTER_CACHE", str(tmp_path))
    monkeypatch.delenv("GRAPHFILTER_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ConfigError, match=r"downloading a dataset needs pooch.+\[data\]"):
        gf.load_dataset("texas")

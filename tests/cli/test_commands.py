"""Commands, their help and their words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import typer
import typer.main
from hypothesis import given, strategies as st
from tests.conftest import RESEARCH

import graphfilter
from graphfilter.cli.app import MEANT, OLD, PANELS, RARE, REMOVED, RUN, app, laid_out, renewed
from graphfilter.cli.screen import ARGUMENTS, in_options, word_of
from graphfilter.training.loop import Training
from graphfilter.util.errors import DataFileError


def test_version_and_help(graphfilter) -> None:
    assert graphfilter("--version").out.startswith("graphfilter ")
    for command in ("fit", "predict", "inspect", "data"):
        result = graphfilter(command, "--help")
        assert "Usage" in result.out
        assert command in graphfilter("--help").out


def test_misspelled_command_is_one_sentence_with_the_right_one(graphfilter) -> None:
    refused = graphfilter("fitt", code=2)
    assert "Did you mean 'fit'? See graphfilter --help." in refused.err


def test_inspect_says_what_to_do(graphfilter, tmp_path: Path) -> None:
    picture = tmp_path / "p.png"
    result = graphfilter("inspect", "--dataset", "bipartite", "--picture", picture)
    assert "use an adaptive filter" in result.out
    assert "high" in result.out
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_inspect_shows_an_interval_where_labels_are_few(graphfilter, tmp_path: Path) -> None:
    ring = "a,b\n" + "".join(f"v{i},v{(i + 1) % 200}\n" for i in range(200))
    (tmp_path / "e.csv").write_text(ring)
    lines = (f"v{i},{'ab'[i // 50 % 2] if i % 3 else ''}\n" for i in range(200))
    (tmp_path / "v.csv").write_text("id,label\n" + "".join(lines))
    words = ("inspect", "--edges", tmp_path / "e.csv", "--vertices", tmp_path / "v.csv")
    result = graphfilter(*words)
    assert " to " in result.out
    assert "(95 %)" in result.out
    graphfilter(*words, "--label", "kind", code=2)


def test_inspect_without_labels_is_refused(graphfilter, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("a,b\n1,2\n")
    (tmp_path / "v.csv").write_text("id,x\n1,0.5\n2,0.1\n")
    result = graphfilter(
        "inspect", "--edges", tmp_path / "e.csv", "--vertices", tmp_path / "v.csv", code=2
    )
    assert "--label" in result.err


def test_fit_is_not_divided(graphfilter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As torchrun starts it: machines with other files would each have a model of their own."""
    monkeypatch.setenv("WORLD_SIZE", "2")
    refused = graphfilter("fit", "--dataset", "karate", "--out", tmp_path / "run", code=2)
    assert "must be one process; got 2" in refused.err
    assert not (tmp_path / "run").exists()


def test_data_export_to_a_file_is_refused(graphfilter, tmp_path: Path) -> None:
    (tmp_path / "k").write_text("mine")
    result = graphfilter("data", "export", "karate", "--out", tmp_path / "k", code=2)
    assert "a file is in the way" in result.err


def test_predict_to_a_folder_or_device_is_refused(graphfilter, tmp_path: Path) -> None:
    for out in (tmp_path, "/dev/null"):
        result = graphfilter("predict", "run", "--dataset", "karate", "--out", out, code=2)
        assert "must be a regular file" in result.err


def test_a_folder_below_a_file_is_refused(graphfilter, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    out = tmp_path / "file" / "folder" / "out"
    result = graphfilter("data", "export", "karate", "--out", out, code=2)
    assert "Give the name of a folder" in result.err


def test_data_commands(graphfilter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHFILTER_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GRAPHFILTER_DATA", raising=False)
    listed = graphfilter("data", "list")
    assert "embedded" in listed.out
    assert ("not here yet" in listed.out) == RESEARCH  # The core has all of its own.
    got = graphfilter("data", "get", "karate")
    assert "34 vertices" in got.out
    graphfilter("data", "export", "karate", "--out", tmp_path / "k")
    assert (tmp_path / "k" / "edges.csv").exists()
    graphfilter("data", "export", "karate", "--out", tmp_path / "k", code=2)
    unknown = graphfilter("data", "get", "karaty", code=2)
    assert "did you mean 'karate'" in unknown.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fit", "--dataset", "karate", "--seed", 2**32), "Invalid value for '--seed'"),
        (("fit", "--dataset", "karate", "--label", "club"), "--label is for tables"),
        (("fit", "--dataset", "karate", "--allow-missing"), "--allow-missing is for tables"),
        (("fit", "--dataset", "karate", "--edge-kind", "k"), "--edge-kind is for tables"),
        (("fit", "--edges", "e.csv"), "--vertices is missing"),
        (("fit", "--dataset", "karate", "--label", "\udcff"), "must be valid text"),
        (("fit", "--dataset", "karate", "--epoch", 3), "'--epochs'? See graphfilter fit --help."),
        (("fit", "--dataset", "karate", "--epochs", "many"), "Invalid value for '--epochs'"),
    ],
)
def test_bad_options_are_refused_before_anything_is_made(
    graphfilter, tmp_path: Path, words: tuple[object, ...], message: str
) -> None:
    out = tmp_path / "new" / "records.jsonl.gz"
    result = graphfilter(*words, "--out", out, code=2)
    assert message in result.err
    assert result.err.startswith("error: ")
    assert len(result.err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_torch_out_of_memory_is_one_line(
    graphfilter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (
        "fit",
        "--dataset",
        "karate",
        "--model",
        "sgf",
        "--set",
        f"hidden_size={10**6}",
        "--quiet",
    )
    monkeypatch.setenv("GRAPHFILTER_MEMORY", "1G")
    refused = graphfilter(*words, "--out", tmp_path / "run", code=2)
    assert "a smaller --set hidden_size" in refused.err
    monkeypatch.setenv("GRAPHFILTER_MEMORY", "999999999999999G")
    monkeypatch.setattr(Training, "advance", lambda *_: torch.empty(10**15))
    result = graphfilter(*words[:-3], "--quiet", "--out", tmp_path / "run", code=1)
    assert result.err.startswith("error: not enough memory")
    assert "fit --dry-run" in result.err


def commands(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Return every command that does something, by its words."""
    group = group or typer.main.get_command(app)
    for name, command in group.commands.items():
        if not getattr(command, "commands", None) or command.params:
            yield " ".join((*path, name)), command
        if getattr(command, "commands", None):
            yield from commands(command, (*path, name))


COMMANDS = dict(commands())
# Those that name the options that come first.
FIRST = {words: c.first for words, c in COMMANDS.items() if getattr(c, "first", ())}


@pytest.mark.parametrize("words", COMMANDS)
def test_command_has_an_example_and_flags_take_no_value(words: str) -> None:
    command = COMMANDS[words]
    # bench table is another name of table.
    own = words.removeprefix("bench ") if words == "bench table" else words
    assert re.search(rf"Example:  graphfilter {own}\b", command.help), words
    for param in command.params:
        if getattr(param, "is_flag", False):
            assert param.metavar == "", param.name
        elif param.param_type_name == "option":
            assert param.metavar, f"{words}: --{param.name} needs a word for its value"


@pytest.mark.parametrize("words", FIRST)
def test_at_most_eight_options_come_first_and_forty_are_shown(words: str) -> None:
    assert len(FIRST[words]) <= 8
    options = [p for p in COMMANDS[words].params if p.param_type_name == "option"]
    first = [p.name for p in options if not p.rich_help_panel]
    assert tuple(first) == FIRST[words]
    others = [p.rich_help_panel for p in options[len(first) :]]
    assert all(p.hidden == (p.rich_help_panel in RARE) for p in options)
    assert len(options) <= 40  # and what --set takes
    places = [PANELS.index(panel) for panel in others if panel in PANELS]
    assert places == sorted(places)


@pytest.mark.parametrize("words", [(), ("data",), ("fit",)])
def test_help_itself_takes_no_value(graphfilter, words: tuple[str, ...]) -> None:
    assert "<bool>" not in graphfilter(*words, "--help").out


def test_help_begins_with_a_short_line_per_option() -> None:
    for words, command in COMMANDS.items():
        for param in command.params:
            text = getattr(param, "help", "") or ""
            sentence = re.split(r"(?<=[.:;]) ", text)[0]
            assert text, f"{words}: --{param.name} has no help"
            assert len(sentence) <= 100, f"{words}: --{param.name}: {sentence}"


class Option:
    param_type_name = "option"

    def __init__(self, name: str, panel: str | None = None, *, is_flag: bool = False) -> None:
        self.name, self.rich_help_panel, self.is_flag = name, panel, is_flag
        self.metavar: str | None = None
        self.default: object = None


def test_layout_puts_the_named_first_and_the_rest_in_the_order_of_panels() -> None:
    given = [Option("a", PANELS[2]), Option("b"), Option("c", PANELS[0]), Option("d", PANELS[1])]
    found = laid_out(given, ("d", "b"))
    assert [option.name for option in found] == ["d", "b", "c", "a"]
    assert [option.rich_help_panel for option in found] == [None, None, PANELS[0], PANELS[2]]
    (left,) = laid_out([Option("e", is_flag=True)], ("b",))
    assert (left.rich_help_panel, left.metavar) == (RUN, "")
    # A command that names none keeps its options as they are declared.
    assert [option.name for option in laid_out([Option("z"), Option("y")], ())] == ["z", "y"]


ROOT = Path(graphfilter.__file__).parent


def test_every_option_of_the_list_is_one_of_a_command() -> None:
    known: set[str] = set()
    groups = [typer.main.get_command(app)]
    while groups:
        command = groups.pop()
        groups += getattr(command, "commands", {}).values()
        known |= {word for each in command.params for word in each.opts}
    said = {*(word.partition(" ")[0] for word in map(word_of, ARGUMENTS)), *MEANT.values()}
    assert said <= known
    assert not {*MEANT, *OLD} & {word for each in COMMANDS["fit"].params for word in each.opts}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("--drop a,b --quiet", "--column a=drop --column b=drop --quiet"),
        ("--features=a --categorical b", "--column a=only --column b=category"),
        ("--split-by day --scale log", "--split day=time --set scale=log"),
        ("--source a --to b --group", "--from a --to b --group"),
        ("--balanced --layers 4", "--set class_weight=balanced --set n_layers=4"),
        ("--scaling=row --init 0.5", "--set feature_scaling=row --set filter_init=0.5"),
        ("--title --x --label y", "--set title=--x --label y"),
    ],
)
def test_options_of_the_last_version_are_said_and_do_the_same(old: str, new: str) -> None:
    command = COMMANDS["fit"]
    words, notes = renewed(old.split(), {word for each in command.params for word in each.opts})
    assert words == new.split()
    assert len(notes) == len([word for word in old.split() if word.partition("=")[0] in OLD]) - (
        old.endswith("--group")
    )
    # A command whose own option has that name keeps it.
    assert renewed(old.split(), list(OLD)) == (old.split(), [])


@pytest.mark.parametrize("word", REMOVED)
def test_an_option_that_is_gone_is_answered_by_what_does_it_now(graphfilter, word: str) -> None:
    done = graphfilter("fit", word, "1", code=2)
    assert f"no option '{word}' since 0.3; {REMOVED[word]}" in done.err


def test_an_earlier_run_to_start_from_is_taken_with_a_note() -> None:
    for words in (["--start-from", "may", "--out", "june"], ["--start-from=may", "--out", "june"]):
        made, notes = renewed(words, ["--label", "--out"])
        assert made == ["--out", "june"]
        assert notes == ["--start-from may: a fit begins anew since 0.3; the option goes in 0.4."]


@pytest.mark.parametrize("typo", ["--vertice", "--nodes", "--labell", "--predict"])
def test_a_typo_is_answered_by_spelling_and_by_meaning(graphfilter, typo: str) -> None:
    meant = MEANT.get(typo, {"--vertice": "--vertices", "--labell": "--label"}.get(typo))
    assert (
        f"no option '{typo}'; did you mean '{meant}'?" in graphfilter("fit", typo, "x", code=2).err
    )


@pytest.mark.parametrize("word", ["--refit", "--wombat"])
def test_a_word_that_means_nothing_is_answered_by_no_other(graphfilter, word: str) -> None:
    assert (
        f"there is no option '{word}'. See graphfilter fit"
        in graphfilter("fit", word, "x", code=2).err
    )


@pytest.mark.parametrize("room", ["tables", "data", "estimators", "runs", "report", "large"])
def test_every_argument_that_a_message_names_has_its_option(room: str) -> None:
    for path in (ROOT / room).rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and id(node) not in said:
                named = re.findall(r"`([a-z_]+)[`=]", str(node.value))
                assert {*named} <= {*ARGUMENTS}, f"{path.name}, line {node.lineno}"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("pass `allow_missing=True`", "pass --allow-missing"),
        ("`keep_graph=False` leaves it out", "--set keep_graph=no leaves it out"),
        ("`drop=('my age', 'b')`", "--column 'my age=drop' --column b=drop"),
        ("`kinds=(('a b', 'text'),)`", "--column 'a b=text'"),
        ("`model='sgf'`", "--model sgf"),
        ("a smaller `hidden_size`", "a smaller --set hidden_size"),
        ("`y` and `drop=(' and ``", "`y` and `drop=(' and ``"),
    ],
)
def test_arguments_become_options(message: str, expected: str) -> None:
    assert in_options(message) == expected


@given(st.text())
def test_any_column_is_named_without_an_error(name: str) -> None:
    said = in_options(f"leave it out: `drop={(name,)}`.")
    assert said.startswith("leave it out: ")


def test_user_of_frames_is_told_arguments_of_python() -> None:
    import pandas as pd

    edges = pd.DataFrame({"source": ["a", "a"], "target": ["b", "nobody"]})
    vertices = pd.DataFrame({"id": ["a", "b"], "x": [1.0, 2.0], "label": ["p", "q"]})
    with pytest.raises(DataFileError, match=r"`allow_missing=True`") as caught:
        graphfilter.Graph.from_frames(vertices, edges)
    assert "--" not in str(caught.value)
    assert "--allow-missing" in in_options(str(caught.value))

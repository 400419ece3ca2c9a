"""Where a command's graph comes from: two tables, a dataset's name, or a file.

The options are declared once, as the fields of a dataclass; :func:`takes` gives them to a command.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphfilter.cli.options import COLUMNS, OTHER, TABLES, TEXT, Quiet, listed, option_field
from graphfilter.cli.progress import download_bar
from graphfilter.cli.screen import tell, waiting
from graphfilter.cli.words import in_options
from graphfilter.util.errors import ConfigError

if TYPE_CHECKING:
    from graphfilter.data.from_tables import Joined
    from graphfilter.data.graph import Graph
    from graphfilter.runs.plan import Source
    from graphfilter.tables.encoder import TableEncoder
    from graphfilter.tables.roles import Columns
    from graphfilter.tables.source import TableSource
    from graphfilter.tables.text_files import TextOptions


# The options that say where a graph comes from: kept with a run, so that it can be read again.
ORIGIN = (
    "edges", "vertices", "dataset", "graph", "allow_missing", "directed", "delimiter", "encoding",
    "decimal",
)  # fmt: skip


@dataclass(frozen=True)
class GraphOptions:
    """Name one graph and, where it comes in tables, the columns that hold what."""

    edges: Path | None = option_field(
        None, "Table of edges: CSV, TSV, TXT (or .gz), Excel or Parquet.", "FILE", TABLES
    )
    vertices: Path | None = option_field(
        None, "Table of vertices: an id, features, and a label where known.", "FILE", TABLES
    )
    allow_missing: bool = option_field(
        False,
        "Leave out edges to vertices that are not in the table, instead of stopping.",
        panel=TABLES,
    )
    directed: bool = option_field(
        False, "Keep directions: edges go from the source to the target.", panel=TABLES
    )
    dataset: str | None = option_field(
        None, "Named dataset: see graphfilter data list.", "NAME", OTHER
    )
    graph: Path | None = option_field(
        None,
        "Graph in one file: npz, MatrixMarket, GraphML, GML or an edge list; or a store "
        "(see graphfilter store).",
        "FILE",
        OTHER,
    )
    label: str | None = option_field(
        None, "Column of labels; empty cells are unlabelled.", "COLUMN", COLUMNS
    )
    unlabelled: str = option_field(
        "",
        "Labels that mean unlabelled, separated by commas. Default: NA, N/A, NaN, null, "
        "none, ? and -1; empty cells always.",
        "LABEL,LABEL",
        COLUMNS,
    )
    id: str | None = option_field(None, "Ids of the vertices.", "COLUMN", COLUMNS)
    source: str | None = option_field(None, "Ids of one end of the edges.", "COLUMN", COLUMNS)
    target: str | None = option_field(None, "Ids of the other end.", "COLUMN", COLUMNS)
    weight: str | None = option_field(None, "Edge weights, not negative.", "COLUMN", COLUMNS)
    edge_kind: str | None = option_field(
        None, "Edge types: each has its own filter.", "COLUMN", COLUMNS
    )
    merge: str | None = option_field(
        None,
        "How rows of the same edge are merged: sum, mean, max or last. Default: amounts, "
        "minutes and counts are added up.",
        "NAME",
        COLUMNS,
    )
    clean_ids: bool = option_field(
        False,
        "Clean ids in both tables: strip blanks and characters without width, and use "
        "one Unicode form.",
        panel=COLUMNS,
    )
    delimiter: str | None = option_field(
        None, "Separator: comma, semicolon, tab, pipe, space or a character.", "NAME", TEXT
    )
    encoding: str | None = option_field(
        None, "Encoding: utf-8, utf-16, cp1252, latin-1, ...", "NAME", TEXT
    )
    decimal: str | None = option_field(None, "Decimal sign: . or ,", "SIGN", TEXT)
    quiet: Quiet = False

    def words(self) -> tuple[str, ...]:
        """Return the words of the command line that name the graph."""
        return self.given_options()

    def given_options(self, names: Collection[str] = ()) -> tuple[str, ...]:
        """Return the words of the command line for every option that was given, of some names."""
        words: list[str] = []
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name == "quiet" or value in (f.default, "") or (names and f.name not in names):
                continue
            word = f"--{f.name.replace('_', '-')}"
            if isinstance(value, bool):
                words.append(word if value else word.replace("--", "--no-", 1))
                continue
            values = value if isinstance(value, list | tuple) else [value]
            words += [w for one in values for w in (word, str(one))]
        return tuple(words)

    @property
    def text(self) -> TextOptions:
        """How the tables are written."""
        from graphfilter.tables.text_files import TextOptions

        return TextOptions(self.delimiter, self.encoding, self.decimal)

    @functools.cached_property
    def vertex_table(self) -> TableSource:
        """The table of vertices: opened once, whatever is read of it."""
        from graphfilter.tables.formats import open_table

        assert self.vertices is not None
        return open_table(self.vertices, self.text)

    def columns(self, like: Columns | None = None) -> Columns:
        """Return the columns that were named; those that a table ``like`` this had otherwise."""
        from graphfilter.tables.roles import Columns

        chosen: dict[str, Any] = {f.name: getattr(self, f.name, None) for f in fields(Columns)}
        for name in ("features", "categorical", "drop", "unlabelled"):
            chosen[name] = listed(chosen[name] or "")
        if chosen["unlabelled"]:
            chosen["unlabelled"] = ("", *chosen["unlabelled"])
        chosen |= {"kinds": (), "predicted": ()}
        # Not the label: the table to predict may have none.
        for name in (
            "id", "source", "target", "weight", "unlabelled", "edge_kind", "directed", "merge",
            "clean_ids",
        ):  # fmt: skip
            chosen[name] = chosen[name] or getattr(like, name, None) or chosen[name]
        return Columns(**chosen)

    def read(
        self,
        *,
        encoder: TableEncoder | None = None,
        like: Columns | None = None,
        remedy: str | None = None,
    ) -> Source:
        """Read the graph and say what there is to say of it; one kind of source must be named.

        ``remedy`` is what an error about an edge to an unknown vertex advises.
        """
        self._check()
        from graphfilter.data.datasets import load_dataset
        from graphfilter.data.files import read_graph
        from graphfilter.data.from_tables import read_tables

        columns = None
        origin = {
            name: str(value)
            for name in ORIGIN
            if (value := getattr(self, name)) not in (None, False)
        }
        if self.dataset is not None:
            with download_bar(show=not self.quiet) as progress:
                found = load_dataset(self.dataset, progress=progress)
        elif self.graph is not None and self.graph.is_dir():
            with waiting(f"opening {self.graph}", quiet=self.quiet):
                found, encoder, columns = self._open_store(self.graph, encoder)
        elif self.graph is not None:
            with waiting(f"reading {self.graph}", quiet=self.quiet):
                found = read_graph(self.graph, directed=self.directed)
        else:
            assert self.edges is not None
            assert self.vertices is not None
            columns = self.columns(like)
            with waiting(f"reading {self.vertices} and {self.edges}", quiet=self.quiet):
                found, encoder = read_tables(
                    self.edges, self.vertex_table, columns=columns, encoder=encoder, text=self.text,
                    allow_missing=self.allow_missing, remedy=remedy,
                )  # fmt: skip
        found = self.at_its_time(found)
        # What is said of the graph stands in the report too.
        found = found.replace(notes=tuple(map(in_options, found.notes)))
        read = f"read {found.n_vertices:,} vertices and {found.n_edges:,} edges."
        tell([read, *found.notes], quiet=self.quiet)
        # Loads torch: after the reading, so that what is wrong with the graph is said at once.
        from graphfilter.runs.plan import Source

        return Source(found, encoder if columns else None, origin, columns, self.given_options())

    def join(
        self, known: Graph, *, title: str, encoder: TableEncoder | None, like: Columns | None
    ) -> Joined:
        """Read tables of new rows and join them to a graph that is known, and has a title."""
        from graphfilter.data.from_tables import join_tables

        for name in ("dataset", "graph"):
            if getattr(self, name) is not None:
                raise ConfigError(
                    f"--with joins tables of new rows to a graph; leave it out with --{name}, "
                    "which names a whole graph."
                )
        if self.vertices is None:
            raise ConfigError("--with needs a table of new rows: --vertices, and --edges if any.")
        with waiting(f"reading {self.vertices}", quiet=self.quiet):
            joined = join_tables(
                known, self.edges, self.vertex_table, title=title, columns=self.columns(like),
                allow_missing=self.allow_missing, encoder=encoder, text=self.text,
            )  # fmt: skip
        tell(joined.notes, quiet=self.quiet)
        return joined

    def at_its_time(self, graph: Graph) -> Graph:
        """Return the graph as of the moment that was said, where one can be."""
        return graph

    def _open_store(
        self, folder: Path, wanted: TableEncoder | None
    ) -> tuple[Graph, TableEncoder | None, Columns | None]:
        """Open a store; its features must be encoded as ``wanted``, where that is said."""
        from graphfilter.data.store import open_store, read_header
        from graphfilter.tables.encoder import TableEncoder
        from graphfilter.tables.roles import Columns
        from graphfilter.util.records import convert

        found, header = open_store(folder), read_header(folder)
        encoder = None if header.encoder is None else TableEncoder.from_dict(header.encoder)
        if wanted is not None and (encoder is None or encoder.columns != wanted.columns):
            raise ConfigError(
                f"{folder}: its features must be encoded as the model's were; they are not. Build "
                "it with graphfilter store ... --like RUN."
            )
        if self.directed and not found.directed:
            raise ConfigError(f"{folder}: it has no directions. Leave out --directed.")
        columns = None if header.columns is None else convert(Columns, header.columns)
        return found, encoder, columns

    def _check(self) -> None:
        """Raise unless one graph is named, and only what applies to it."""
        named = [name for name in ("dataset", "graph") if getattr(self, name) is not None]
        tables = self.edges is not None or self.vertices is not None
        if tables + len(named) != 1:
            raise ConfigError(
                "name one graph: --edges and --vertices, or --dataset NAME, or --graph FILE."
            )
        if not tables:
            others = [word for word in self.words() if word.startswith("--")]
            others.remove(f"--{named[0]}")
            if self.directed and self.graph is not None:
                others.remove("--directed")
            elif self.directed:
                raise ConfigError(
                    "--directed is for tables and files; a dataset with directions has a name of "
                    "its own, such as texas_directed: see graphfilter data list."
                )
            if others and others[0] in ("--edge-time", "--as-of"):
                raise ConfigError(
                    f"{others[0]} is for tables (--edges and --vertices): --{named[0]} has no "
                    "times of edges. Train on a table or store of the earlier edges, and predict "
                    "one of all."
                )
            if others:
                raise ConfigError(
                    f"{others[0]} is for tables (--edges and --vertices); leave it out with "
                    f"--{named[0]}, which has its own."
                )
        elif self.edges is None or self.vertices is None:
            missing = "--edges" if self.edges is None else "--vertices"
            raise ConfigError(f"--edges and --vertices go together; {missing} is missing.")

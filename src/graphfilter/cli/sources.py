"""Where a command's graph comes from: two tables and what their columns are, a name, or a file."""

# Annotations are evaluated here: typer reads them. Those of methods are text where they need
# what is imported late.
import functools
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphfilter.cli import app
from graphfilter.cli.screen import download_bar, in_options, tell, waiting, word_of
from graphfilter.util.errors import ConfigError, check_name, did_you_mean

if TYPE_CHECKING:
    from graphfilter.data.from_tables import Joined
    from graphfilter.data.graph import Graph
    from graphfilter.estimators.targets import Target
    from graphfilter.estimators.vertex import VertexEstimator
    from graphfilter.runs.loading import RunDescription
    from graphfilter.runs.plan import Source
    from graphfilter.tables.encoder import TableEncoder
    from graphfilter.tables.roles import Columns
    from graphfilter.tables.source import TableSource
    from graphfilter.tables.text_files import TextOptions
    from graphfilter.training import Task


def model_of(name: str | None) -> Any:
    """Return what --model names: package.module:name imported, anything else as it is."""
    if name is None or ":" not in name:
        return name
    import sys

    from graphfilter.systems.outside import named_object

    if "" not in sys.path:  # The current folder, as for python -m.
        sys.path.insert(0, "")
    return named_object(name)


def option_words(context: typer.Context) -> list[str]:
    """Return the options that were given, not left at their defaults, as the user writes them."""
    return [
        param.opts[0]
        for param in context.command.params
        if getattr(context.get_parameter_source(param.name or ""), "name", "") == "COMMANDLINE"
    ]


def split_commas(text: str) -> tuple[str, ...]:
    """Return the parts of a text that are separated by commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


# The options that say where a graph comes from: kept with a run, so that it can be read again.
ORIGIN = (
    "edges", "vertices", "rows", "dataset", "graph", "allow_missing", "directed", "delimiter",
    "encoding", "decimal",
)  # fmt: skip
# What a table to predict has as the table of the fit had it, where nothing else is said. Not the
# label: it may have none.
_AS_BEFORE = (
    "id", "source", "target", "weight", "unlabelled", "edge_kind", "directed", "merge", "clean_ids",
    "same_label", "label_anyway",
)  # fmt: skip


def rare(usual: Any) -> Any:
    """Declare what --set NAME=VALUE says; one that is False is there or not."""
    return field(default=usual, init=False, metadata={"rare": True})


@dataclass(frozen=True, kw_only=True)
class GraphOptions:
    """Name one graph and, where it comes in tables, the columns that hold what.

    Attributes
    ----------
    edges : FILE
        Table of edges: CSV, TSV, TXT (or .gz), Excel or Parquet; a folder or glob of parts; a URL
        such as s3://bucket/edges/.
    vertices : FILE
        Table of vertices: an id, features, and a label where known. Repeat for others, one per kind
        of vertex: users.csv, products.csv.
    rows : FILE
        Table that names a vertex in each row, such as orders: summed up for each. Repeat for
        others.
    settings : NAME=VALUE
        Rarely needed: delimiter=tab, encoding=cp1252 and decimal=, say how tables are written;
        merge=max how rows of the same edge are merged (sum, mean, max or last; amounts and counts
        are added up otherwise); clean_ids strips blanks and characters without width from ids;
        drop_duplicates counts rows that are the same in all columns once; label_anyway takes a
        column for a label though it has very many classes, or holds quantities. Repeat for others.
    allow_missing
        Go on where tables lack something: edges to vertices that are not in the table are left out,
        and infinite numbers are missing ones.
    directed
        Keep directions: edges go from the source to the target.
    dataset : NAME
        Named dataset: see graphfilter data list.
    graph : FILE
        Graph in one file: npz, GraphML, GML or an edge list; or a store (see graphfilter store).
    label : COLUMN
        Column of labels; empty cells are unlabelled.
    unlabelled : LABEL,LABEL
        Labels, or cells of --number, that mean unlabelled, separated by commas. Default: NA, N/A,
        NaN, null, none, ? and -1; empty cells always.
    same_label : LABEL=LABEL,LABEL
        Spellings of one label: yes=Yes,ja,JA. Repeat for others.
    id : COLUMN
        Ids of the vertices.
    source : COLUMN
        Where edges come from: ids of one end.
    target : COLUMN
        Where edges go to: ids of the other end.
    weight : COLUMN
        Edge weights, not negative.
    edge_kind : COLUMN
        Edge types: each has its own filter.
    """

    edges: str | None = app.option_field(None, app.TABLES)
    vertices: list[str] | None = app.option_field(None, app.TABLES)
    rows: list[str] | None = app.option_field(None, app.TABLES)
    allow_missing: bool = app.option_field(False, app.TABLES)
    drop_duplicates: bool = rare(False)
    directed: bool = app.option_field(False, app.TABLES)
    dataset: str | None = app.option_field(None, app.TABLES)
    graph: Path | None = app.option_field(None, app.TABLES)
    label: str | None = app.option_field(None, app.COLUMNS)
    unlabelled: str = app.option_field("", app.TARGET)
    same_label: list[str] | None = app.option_field(None, app.TARGET)
    label_anyway: bool = rare(False)
    id: str | None = app.option_field(None, app.COLUMNS)
    source: str | None = app.option_field(None, app.COLUMNS, name="--from")
    target: str | None = app.option_field(None, app.COLUMNS, name="--to")
    weight: str | None = app.option_field(None, app.COLUMNS)
    edge_kind: str | None = app.option_field(None, app.COLUMNS)
    merge: str | None = rare(None)
    clean_ids: bool = rare(False)
    delimiter: str | None = rare(None)
    encoding: str | None = rare(None)
    decimal: str | None = rare(None)
    settings: list[str] | None = app.option_field(None, app.TABLES, name="--set")
    quiet: app.Quiet = False
    help_all: app.HelpAll = False
    # Of a command that trains: what it may set of the model.
    others: dict[str, str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        """Read what --set says: rare options, and what a command may set of a model."""
        of_tables = {f.name: f for f in fields(self) if f.metadata.get("rare")}
        for word in self.settings or ():
            name, equals, value = (part.strip() for part in word.partition("="))
            if (found := of_tables.get(name)) is None:
                self.take(name, value if equals else None)
                continue
            is_flag = isinstance(found.default, bool) or name == "keep_graph"
            if (is_flag and value.lower() not in ("", "yes", "no")) or not (is_flag or value):
                must = "yes or no" if is_flag else f"a value: {name}=VALUE"
                raise ConfigError(f"--set {name} must have {must}; got {word!r}.")
            object.__setattr__(self, name, value.lower() != "no" if is_flag else value)

    def take(self, name: str, value: str | None) -> None:
        """Take a setting that is none of the tables; here there is none."""
        known = sorted(f.name for f in fields(self) if f.metadata.get("rare"))
        near = did_you_mean(name, known)
        raise ConfigError(f"--set has no {name!r} here{near} It has {', '.join(known)}.")

    def words(self, kind: "type[GraphOptions]") -> tuple[str, ...]:
        """Return the words of the command line for the options of a class that were given."""
        words: list[str] = []
        for f in fields(kind):
            usual: Any = getattr(f.default, "default", f.default)
            value = getattr(self, f.name, usual)
            if f.name == "quiet" or not f.init or value in (usual, ""):
                continue
            named: Any = getattr(f.default, "param_decls", None) or [word_of(f.name)]
            word = named[0].partition("/")[0]
            if isinstance(value, bool):
                words.append(word if value else word.replace("--", "--no-", 1))
                continue
            values = value if isinstance(value, list | tuple) else [value]
            words += [w for one in values for w in (word, str(one))]
        return tuple(words)

    @property
    def text(self) -> "TextOptions":
        """How the tables are written."""
        from graphfilter.tables.text_files import TextOptions

        return TextOptions(self.delimiter, self.encoding, self.decimal)

    @functools.cached_property
    def vertex_table(self) -> "TableSource":
        """The table of vertices: opened once, whatever is read of it."""
        from graphfilter.tables.opening import open_vertices

        assert self.vertices is not None
        return open_vertices(
            self.vertices, self.columns(), self.text, allow_missing=self.allow_missing
        )

    def columns(self, like: "Columns | None" = None) -> "Columns":
        """Return the columns that were named; those that a table ``like`` this had otherwise."""
        from graphfilter.tables.roles import Columns

        columns: dict[str, Any] = {f.name: getattr(self, f.name, None) for f in fields(Columns)}
        columns |= {n: split_commas(columns[n] or "") for n in ("unlabelled", "near")}
        columns |= {name: tuple(columns[name] or ()) for name in ("link", "same_label")}
        columns["no_link"] = bool(columns["no_link"])
        if columns["unlabelled"]:
            columns["unlabelled"] = ("", *columns["unlabelled"])
        columns |= dict.fromkeys(("kinds", "predicted", "features", "categorical", "drop"), ())
        for name in _AS_BEFORE:
            columns[name] = columns[name] or getattr(like, name, None) or columns[name]
        return Columns(**columns)

    def read(
        self,
        *,
        encoder: "TableEncoder | None" = None,
        like: "Columns | None" = None,
        remedy: str | None = None,
    ) -> "Source":
        """Read the graph and say what there is to say of it; one kind of source must be named.

        ``remedy`` is what an error about an edge to an unknown vertex advises.
        """
        self._check()
        from graphfilter.data.datasets import load_dataset
        from graphfilter.data.files import read_graph
        from graphfilter.data.from_tables import read_tables

        columns, quiet = None, self.quiet
        if self.dataset is not None:
            with download_bar(show=not quiet) as progress:
                graph = load_dataset(self.dataset, progress=progress)
        elif self.graph is not None and self.graph.is_dir():
            with waiting(f"opening {self.graph}", quiet=quiet):
                graph, encoder, columns = self._open_store(self.graph, encoder)
        elif self.graph is not None:
            with waiting(f"reading {self.graph}", quiet=quiet):
                graph = read_graph(self.graph, directed=self.directed)
        else:
            columns = self.columns(like)
            tables = [*map(str, self.vertices or ()), *([str(self.edges)] if self.edges else [])]
            with waiting(f"reading {' and '.join(tables)}", quiet=quiet):
                graph, encoder = read_tables(
                    self.edges, self.vertex_table, columns=columns, encoder=encoder, text=self.text,
                    allow_missing=self.allow_missing, remedy=remedy, rows=self.rows or (),
                )  # fmt: skip
        moment = getattr(self, "as_of", None)
        if moment is not None and not (self.rows and getattr(self, "edge_time", None) is None):
            if getattr(self, "edge_time", None) is None:
                raise ConfigError(
                    "--as-of needs the times of the edges: name their column, --edge-time."
                )
            graph = graph.as_of(moment)
            assert graph.history is not None
            graph = graph.replace(notes=(*graph.notes, graph.history.note()))
        # What is said of the graph stands in the report too.
        graph = graph.replace(notes=tuple(map(in_options, graph.notes)))
        sizes = f"read {graph.n_vertices:,} vertices and {graph.n_edges:,} edges."
        tell([sizes, *graph.notes], quiet=quiet)
        # Loads torch: after the reading, so that what is wrong with the graph is said at once.
        from graphfilter.runs.plan import Source

        options = {name: getattr(self, name) for name in ORIGIN}
        for name in ("rows", "vertices"):
            options[name] = "\n".join(map(str, options[name] or ())) or None
        origin = {name: str(value) for name, value in options.items() if value not in (None, False)}
        return Source(graph, encoder if columns else None, origin, columns)

    def read_as(self, about: "RunDescription", encoder: "TableEncoder | None") -> "Graph":
        """Read the graph for the model of a run: that of the run where none is named."""
        source = self
        if not any((self.edges, self.vertices, self.dataset, self.graph)):
            as_given: dict[str, Any] = {
                "graph": Path,
                **dict.fromkeys(("allow_missing", "directed"), bool),
                **dict.fromkeys(("rows", "vertices"), str.splitlines),
            }
            origin: dict[str, Any] = {
                n: as_given.get(n, str)(about.origin[n]) for n in ORIGIN if n in about.origin
            }
            if not origin:
                raise ConfigError(
                    "the run does not record its graph; name it: --edges and --vertices, "
                    "or --dataset NAME, or --graph FILE."
                )
            # Only tables must be told: a store knows its own, whatever tables it was built from.
            known = about.columns if "vertices" in origin else None
            told = [
                f"{n}={origin.pop(n)}" for n in ("delimiter", "encoding", "decimal") if n in origin
            ]
            settings = [*(self.settings or ()), *told]
            label = self.label or (known and known.label)
            source = replace(self, **origin, label=label, settings=settings)
        return source.read(encoder=encoder, like=about.columns).graph

    def join(
        self, known: "Graph", *, title: str, encoder: "TableEncoder | None", like: "Columns | None"
    ) -> "Joined":
        """Read tables of new rows and join them to a graph that is known, and has a title."""
        from graphfilter.data.from_tables import join_tables

        for name in ("dataset", "graph"):
            if getattr(self, name) is not None:
                raise ConfigError(
                    f"--with joins tables of new rows to a graph; leave it out with --{name}, "
                    "which names a whole graph."
                )
        if self.rows:
            raise ConfigError("--rows are of a whole graph; name it, in the place of --with.")
        if self.vertices is None:
            raise ConfigError("--with needs a table of new rows: --vertices, and --edges if any.")
        with waiting(f"reading {self.vertex_table}", quiet=self.quiet):
            joined = join_tables(
                known, self.edges, self.vertex_table, title=title, columns=self.columns(like),
                allow_missing=self.allow_missing, encoder=encoder, text=self.text,
            )  # fmt: skip
        tell(joined.notes, quiet=self.quiet)
        return joined

    def _open_store(
        self, folder: Path, expected: "TableEncoder | None"
    ) -> "tuple[Graph, TableEncoder | None, Columns | None]":
        """Open a store; its features must be encoded as ``expected``, where that is said."""
        from graphfilter.data.store import open_store, read_header
        from graphfilter.tables.encoder import TableEncoder
        from graphfilter.tables.roles import Columns
        from graphfilter.util.records import convert

        graph, header = open_store(folder), read_header(folder)
        encoder = None if header.encoder is None else TableEncoder.from_dict(header.encoder)
        if expected is not None and (encoder is None or encoder.columns != expected.columns):
            raise ConfigError(
                f"{folder}: its features must be encoded as the model's were; they are not. Build "
                "it with graphfilter store ... --like RUN."
            )
        if self.directed and not graph.directed:
            raise ConfigError(f"{folder}: it has no directions. Leave out --directed.")
        columns = None if header.columns is None else convert(Columns, header.columns)
        return graph, encoder, columns

    def _check(self) -> None:
        """Raise unless one graph is named, and only what applies to it."""
        sources = [name for name in ("dataset", "graph") if getattr(self, name) is not None]
        tables = self.edges is not None or self.vertices is not None
        if tables + len(sources) != 1:
            raise ConfigError(
                "name one graph: --vertices and --edges, or --dataset NAME, or --graph FILE."
            )
        if tables:
            if self.vertices is None:
                raise ConfigError("--edges and --vertices go together; --vertices is missing.")
            return
        if self.directed and self.graph is None:
            raise ConfigError(
                "--directed is for tables and files; a dataset with directions has a name of "
                "its own, such as texas_directed: see graphfilter data list."
            )
        fine = {f"--{sources[0]}", "--directed", "--set"}
        own = (f for f in fields(FitOptions) if f.metadata.get("rare"))
        said = [f"--set {f.name}" for f in own if getattr(self, f.name, f.default) != f.default]
        for word in (*said, *self.words(FitOptions)):
            if word.startswith("--") and word not in fine:
                raise ConfigError(
                    f"{word} is for tables (--edges and --vertices); leave it out with "
                    f"--{sources[0]}, which has its own."
                )


@dataclass(frozen=True, kw_only=True)
class RunOptions(GraphOptions):
    """Name a run, and a graph for its model where it is not that of the run."""

    run: Annotated[Path, app.Run]
    model: app.OwnModel = None

    def load(self) -> "tuple[VertexEstimator, RunDescription, TableEncoder | None]":
        """Load the model of the run, how it was made, and how its table was encoded."""
        from graphfilter.runs.loading import load_run

        return load_run(self.run, model_of(self.model))


@dataclass(frozen=True, kw_only=True)
class FeatureOptions(GraphOptions):
    """Say which columns are features, and how they are read.

    Attributes
    ----------
    column : NAME=KIND
        Read a column as number, boolean, category, date or text; drop leaves it out, only keeps no
        others as features. Repeat for others.
    near : COLUMN,COLUMN
        Join vertices with the ten nearest by these coordinates, such as lat,long.
    link : COLUMN
        Join vertices that share a value of this column, such as a device. Repeat for others.
    settings : NAME=VALUE
        As of other commands, and vertex_kind=COLUMN: vertex types (account, device), of which a
        column that a type never has is not missing on its vertices; no_link joins no vertices by
        shared values or coordinates where there is no table of edges. Rarely needed: delimiter=tab,
        encoding=cp1252 and decimal=, say how tables are written; merge=max how rows of the same
        edge are merged (sum, mean, max or last); clean_ids strips blanks and characters without
        width; drop_duplicates counts equal rows once; label_anyway takes any column for a label.
    """

    column: list[str] | None = app.option_field(None, app.COLUMNS)
    vertex_kind: str | None = rare(None)
    near: str = app.option_field("", app.COLUMNS)
    link: list[str] | None = app.option_field(None, app.COLUMNS)
    no_link: bool = rare(False)

    def columns(self, like: "Columns | None" = None) -> "Columns":
        """Add the kinds of columns that were said."""
        from graphfilter.tables.encoder import ASKED_KINDS

        columns, kinds = super().columns(like), list[tuple[str, str]]()
        for word in self.column or ():
            name, equals, kind = word.rpartition("=")
            if not equals:
                raise ConfigError(f"--column must be NAME=KIND, such as age=number; got {word!r}.")
            kind = check_name("kind of column", kind.strip().lower(), (*ASKED_KINDS, "only"))
            kinds.append((name, kind))
        drop, only = (tuple(n for n, k in kinds if k == kind) for kind in ("drop", "only"))
        others = tuple(pair for pair in kinds if pair[1] not in ("drop", "only"))
        return replace(columns, drop=drop, features=only, kinds=others)


@dataclass(frozen=True, kw_only=True)
class FitOptions(FeatureOptions):
    """Say which vertices train, too.

    Attributes
    ----------
    split : COLUMN[=KIND]
        Parts: a column of train, val or test. COLUMN=time: train on the earliest 60 %, validate on
        the next 20 %, test on the latest, for a model that will predict the future. COLUMN=group
        (household, plant, patient): no group is in two parts, for a model that will predict new
        groups.
    edge_time : COLUMN
        Times of the edges. With --as-of or --split COLUMN=time, training leaves later edges out;
        predictions use all.
    as_of : DATE
        Train only with the edges before this date (or number, like --edge-time).
    """

    split: str | None = app.option_field(None, app.SPLIT)
    edge_time: str | None = app.option_field(None, app.SPLIT)
    as_of: str | None = app.option_field(None, app.FEW_TABLES)


@dataclass(frozen=True, kw_only=True)
class PredictedOptions(FitOptions):
    """Say what to predict, where it is not one class per vertex.

    Attributes
    ----------
    number : COLUMN,COLUMN
        Predict numbers instead of a label; empty cells are unknown. Several columns, separated by
        commas, share a model.
    multilabel : COLUMN,COLUMN
        Predict several labels per vertex: columns of yes and no, separated by commas. Rows with all
        of them empty are unknown.
    """

    number: str = app.option_field("", app.TARGET)
    multilabel: str = app.option_field("", app.TARGET)

    @property
    def values_word(self) -> str:
        """The option that names numbers or labels to predict; empty where it is classes."""
        return "--number" if self.number else "--multilabel" if self.multilabel else ""

    def columns(self, like: "Columns | None" = None) -> "Columns":
        """Leave out of the features what is to be predicted."""
        columns = super().columns(like)
        targets = split_commas(self.number or self.multilabel)
        for name in targets:
            if name in columns.features:
                raise ConfigError(f"{name!r} is to be predicted: give it no --column of its own.")
        dropped = (*columns.drop, *(n for n in targets if n not in columns.drop))
        return replace(columns, drop=dropped, predicted=targets)

    def read_target(self) -> "Target":
        """Read what is to be predicted, one row per vertex."""
        from graphfilter.training import MULTILABEL, REGRESSION

        task = REGRESSION if self.number else MULTILABEL
        names = split_commas(self.number or self.multilabel)
        return read_values(self.vertex_table, task, names, unknown=split_commas(self.unlabelled))


def read_values(
    table: "TableSource",
    task: "Task",
    names: Sequence[str],
    *,
    to_learn: bool = True,
    unknown: Sequence[str] = (),
) -> "Target":
    """Read columns of numbers or of labels, one row per vertex."""
    import numpy as np

    from graphfilter.estimators.targets import named_target
    from graphfilter.tables.labels import read_label_columns, read_number_column
    from graphfilter.training import REGRESSION

    if task is not REGRESSION:
        return named_target(task, read_label_columns(table, names), names)
    numbers = [
        read_number_column(table, name, to_learn=to_learn, unknown=unknown) for name in names
    ]
    return named_target(task, np.column_stack(numbers), names)

"""Options of the columns of a table: which are features, how they are read, which divide it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from graphfilter.cli.options import COLUMNS, option_field
from graphfilter.cli.sources import GraphOptions
from graphfilter.util.errors import ConfigError, check_name

if TYPE_CHECKING:
    from graphfilter.data.graph import Graph
    from graphfilter.tables.roles import Columns


@dataclass(frozen=True)
class FeatureOptions(GraphOptions):
    """Say which columns are features, and how they are read."""

    features: str = option_field(
        "", "Use only these features, separated by commas.", "COLUMN,COLUMN", COLUMNS
    )
    categorical: str = option_field(
        "", "One-hot encode these columns of numbers.", "COLUMN,COLUMN", COLUMNS
    )
    drop: str = option_field("", "Leave these columns out.", "COLUMN,COLUMN", COLUMNS)
    column: list[str] | None = option_field(
        None,
        "Read a column as number, boolean, category, date, text or drop. Repeat for others.",
        "NAME=KIND",
        COLUMNS,
    )
    vertex_kind: str | None = option_field(
        None,
        "Vertex types (account, device): a column that a type never has is not missing "
        "on its vertices.",
        "COLUMN",
        COLUMNS,
    )

    def columns(self, like: Columns | None = None) -> Columns:
        """Add the kinds of columns that were said."""
        kinds = tuple(_split_kind(word) for word in self.column or ())
        return replace(super().columns(like), kinds=kinds)


@dataclass(frozen=True)
class FitOptions(FeatureOptions):
    """Say which vertices train, too."""

    split: str | None = option_field(
        None, "Parts: train, val or test per vertex.", "COLUMN", COLUMNS
    )
    edge_time: str | None = option_field(
        None,
        "Times of the edges. With --as-of or --split-by, training leaves later edges "
        "out; predictions use all.",
        "COLUMN",
        COLUMNS,
    )
    as_of: str | None = option_field(
        None,
        "Train only with the edges before this date (or number, like --edge-time).",
        "DATE",
        COLUMNS,
    )

    def at_its_time(self, graph: Graph) -> Graph:
        if self.as_of is None:
            return graph
        if self.edge_time is None:
            raise ConfigError(
                "--as-of needs the times of the edges: name their column, --edge-time."
            )
        graph = graph.as_of(self.as_of)
        assert graph.history is not None
        return graph.replace(notes=(*graph.notes, graph.history.note()))


def _split_kind(word: str) -> tuple[str, str]:
    """Take NAME=KIND apart."""
    from graphfilter.tables.columns import KINDS

    name, equals, kind = word.rpartition("=")
    if not equals:
        raise ConfigError(f"--column must be NAME=KIND, such as age=number; got {word!r}.")
    return name, check_name("kind of column", kind.strip().lower(), (*KINDS[:-1], "drop"))

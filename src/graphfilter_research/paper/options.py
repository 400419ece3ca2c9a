"""How a table or figure is to be run."""

from __future__ import annotations

from dataclasses import dataclass

from graphfilter.util.errors import check_count

# With --quick, which shows that everything works and nothing else.
QUICK_RUNS = 2
QUICK_EPOCHS = 10


@dataclass(frozen=True)
class Options:
    """How to run a target.

    Attributes
    ----------
    runs : int
        Run r has seed r and split r.
    quick : bool
        ``QUICK_RUNS`` runs of ``QUICK_EPOCHS`` epochs on few datasets: not to be published.
    device : {'auto', 'cpu', 'cuda', 'cuda:N'}
    jobs : int
        Processes, one (dataset, system) pair each at a time.
    literature : bool
        Run the systems of the Literature rows too.
    variants : bool
        Run what goes beyond the paper's rows too: variants of the Literature's systems, the
        authors' bipartite graphs and their splits of Texas and Cornell, further settings of SGF.
    """

    runs: int = 10
    quick: bool = False
    device: str = "auto"
    jobs: int = 1
    literature: bool = False
    variants: bool = False

    def __post_init__(self) -> None:
        for name in ("runs", "jobs"):
            check_count(name, getattr(self, name))

    @property
    def n_runs(self) -> int:
        return min(self.runs, QUICK_RUNS) if self.quick else self.runs

    @property
    def max_epochs(self) -> int | None:
        """The limit of epochs; None for each system's own."""
        return QUICK_EPOCHS if self.quick else None

    def file_name(self, target: str) -> str:
        """Return the name of a target's files, without suffix: quick ones are kept apart."""
        return f"{target}-quick" if self.quick else target

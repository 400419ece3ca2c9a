"""What *Adaptive Stacked Graph Filter* prints in Table 1, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Printed:
    """A mean ± deviation, and the digits after the point it is printed with.

    >>> str(Printed(0.23, 0.04)), str(Printed(2.0, 0.0, digits=1))
    ('0.23 ± 0.04', '2.0 ± 0.00')
    """

    mean: float
    deviation: float
    digits: int = 2

    def same_mean(self, mean: float) -> bool:
        """Return whether a measured mean would be printed the same."""
        return f"{mean:.{self.digits}f}" == f"{self.mean:.{self.digits}f}"

    def same_deviation(self, deviation: float) -> bool:
        """Return whether a measured deviation would be printed the same."""
        return f"{deviation:.2f}" == f"{self.deviation:.2f}"

    def __str__(self) -> str:
        return f"{self.mean:.{self.digits}f} ± {self.deviation:.2f}"


@dataclass(frozen=True)
class PublishedRow:
    """One row of Table 1.

    Attributes
    ----------
    printed_name : str
        The dataset's name in the paper.
    n_vertices, n_edges, n_features, n_classes : int
    label_frequency, feature_frequency : Printed
        r(Y) over classes and r(X) over features.
    kind : str
        The paper's *Type*.
    encoding : str
        The label encoding that gives the printed r(Y). The paper names none; this was measured.
    """

    printed_name: str
    n_vertices: int
    n_edges: int
    n_features: int
    n_classes: int
    label_frequency: Printed
    feature_frequency: Printed
    kind: str
    encoding: str


TABLE_1: dict[str, PublishedRow] = {
    "cora": PublishedRow(
        printed_name="Cora",
        n_vertices=2_708,
        n_edges=5_278,
        n_features=1_433,
        n_classes=7,
        label_frequency=Printed(0.23, 0.04),
        feature_frequency=Printed(0.91, 0.10),
        kind="Citation",
        encoding="signed",
    ),
    "citeseer": PublishedRow(
        printed_name="Citeseer",
        n_vertices=3_327,
        n_edges=4_676,
        n_features=3_703,
        n_classes=6,
        label_frequency=Printed(0.27, 0.03),
        feature_frequency=Printed(0.81, 0.19),
        kind="Citation",
        encoding="signed",
    ),
    "pubmed": PublishedRow(
        printed_name="Pubmed",
        n_vertices=19_717,
        n_edges=44_327,
        n_features=500,
        n_classes=3,
        label_frequency=Printed(0.55, 0.02),
        feature_frequency=Printed(0.87, 0.07),
        kind="Citation",
        encoding="signed",
    ),
    "photo": PublishedRow(
        printed_name="Amz-Photo",
        n_vertices=7_487,
        n_edges=119_043,
        n_features=745,
        n_classes=8,
        label_frequency=Printed(0.25, 0.04),
        feature_frequency=Printed(0.82, 0.04),
        kind="Co-purchase",
        encoding="signed",
    ),
    "computers": PublishedRow(
        printed_name="Amz-Computer",
        n_vertices=13_381,
        n_edges=245_778,
        n_features=767,
        n_classes=10,
        label_frequency=Printed(0.27, 0.05),
        feature_frequency=Printed(0.83, 0.04),
        kind="Co-purchase",
        encoding="signed",
    ),
    "wisconsin": PublishedRow(
        printed_name="Wisconsin",
        n_vertices=251,
        n_edges=450,
        n_features=1_703,
        n_classes=5,
        label_frequency=Printed(0.87, 0.08),
        feature_frequency=Printed(0.89, 0.23),
        kind="Web",
        encoding="onehot",
    ),
    "cornell": PublishedRow(
        printed_name="Cornell",
        n_vertices=183,
        n_edges=277,
        n_features=1_703,
        n_classes=5,
        label_frequency=Printed(0.86, 0.11),
        feature_frequency=Printed(0.86, 0.32),
        kind="Web",
        encoding="onehot",
    ),
    "texas": PublishedRow(
        printed_name="Texas",
        n_vertices=183,
        n_edges=279,
        n_features=1_703,
        n_classes=5,
        label_frequency=Printed(0.98, 0.03),
        feature_frequency=Printed(0.84, 0.32),
        kind="Web",
        encoding="onehot",
    ),
    "chameleon": PublishedRow(
        printed_name="Chameleon",
        n_vertices=2_277,
        n_edges=31_371,
        n_features=2_325,
        n_classes=5,
        label_frequency=Printed(0.81, 0.05),
        feature_frequency=Printed(0.99, 0.01),
        kind="Wikipedia",
        encoding="onehot",
    ),
    "bipartite": PublishedRow(
        printed_name="Bipartite",
        n_vertices=2_000,
        n_edges=50_182,
        n_features=50,
        n_classes=2,
        label_frequency=Printed(2.0, 0.00, digits=1),
        feature_frequency=Printed(1.0, 0.00, digits=1),
        kind="Synthetic",
        encoding="signed",
    ),
}

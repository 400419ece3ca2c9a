"""The sentences on top of a run's report, each of which follows from the comparisons beside it."""

from __future__ import annotations

from dataclasses import dataclass

from graphfilter.metrics import SIGNIFICANCE
from graphfilter.report.numbers import percent

# APPNP is low-pass on every graph. SGC squares the adjacency, so that the highest frequency
# passes as well as the lowest: it is shown beside, and does not answer whether low-pass will do.
NO_GRAPH, LOW_PASS, TWO_STEPS = "mlp", "appnp", "sgc"
BASELINES = {
    NO_GRAPH: "the same network without the graph",
    LOW_PASS: "a fixed low-pass filter: neighbours are always averaged",
    TWO_STEPS: "a fixed two-step average; passes the highest frequency as well as the lowest",
}


# Fewer vertices than this are counted rather than given in percent.
FEW_VERTICES = 20
# From here on, two digits of a percentage are shown.
MANY_VERTICES = 10_000


@dataclass(frozen=True)
class Score:
    """The accuracy of one model on the scored vertices, beside that of the fitted one.

    ``difference`` and ``p_value`` compare it with the fitted model on the same vertices; None
    for the fitted model itself.
    """

    title: str
    meaning: str
    accuracy: float
    low: float
    high: float
    difference: float | None = None
    p_value: float | None = None

    @property
    def verdict(self) -> str:
        """How the fitted model compares with this one: better, worse, or a tie (p > 0.05)."""
        if self.difference is None or self.p_value is None or self.p_value > SIGNIFICANCE:
            return "tie"
        return "better" if self.difference > 0 else "worse"


@dataclass(frozen=True)
class Found:
    """The comparisons that the sentences are made of.

    ``features_know`` is whether the network without the graph clearly beats always answering the
    largest class; ``graph_could_help`` whether a fixed filter clearly beats that network;
    ``adaptive`` whether the fitted model is the adaptive filter, or else another system.
    """

    ours: Score
    named: dict[str, Score]
    guessing: Score
    n_vertices: int
    has_edges: bool
    features_know: bool
    graph_could_help: bool
    adaptive: bool = True

    @property
    def digits(self) -> int:
        return 1 if self.n_vertices < MANY_VERTICES else 2

    def headline(self, part: str) -> str:
        """Return the conclusion in one sentence."""
        where = {
            "test": "vertices it never saw",
            "val": "validation vertices, which also chose the best epoch",
            "train": "vertices it was trained on, there being no others",
        }[part]
        n_right, n = round(self.ours.accuracy * self.n_vertices), self.n_vertices
        share = f"{self._share(self.ours)} of the"
        if n < FEW_VERTICES:
            share = f"{n_right} of {n}"
        start = f"The model is right for {share} {where}"
        if not self.has_edges:
            return f"{start}; there are no edges, so the graph neither helps nor misleads."
        if NO_GRAPH not in self.named:
            return f"{start}; no baselines were trained, so whether the graph helps is not known."
        return f"{start}; {self._graph()}, and {self._adapting()}."

    def _graph(self) -> str:
        """Return whether the graph helps."""
        without = self._share(self.named[NO_GRAPH])
        verdict = self.named[NO_GRAPH].verdict
        if verdict == "better":
            return f"the graph helps ({without} without it)"
        if verdict == "worse":
            whom = "this model" if self.graph_could_help else "it"
            return f"the graph misleads {whom} ({without} without it)"
        network = "the same network" if self.adaptive else "a network"
        said = f"it ties with {network} without the graph ({without})"
        return said if self.graph_could_help else f"{said}: the graph makes no clear difference"

    def _adapting(self) -> str:
        """Return whether a fixed filter would do."""
        fixed = self.named[LOW_PASS]
        ours = "the adaptive one" if self.adaptive else "it"
        does = {
            "better": f"does worse than {ours}",
            "worse": f"does better than {ours}",
            "tie": f"ties with {ours}",
        }[fixed.verdict]
        return f"a fixed low-pass filter ({self._share(fixed)}) {does}"

    def reason(self) -> str:
        """Return whether features, graph or both carry the classes, in words."""
        if NO_GRAPH not in self.named:
            return ""
        beaten = [self.named[n] for n in (LOW_PASS, TWO_STEPS) if n in self.named]
        beaten = [score for score in beaten if score.verdict == "worse"]
        if beaten and self.has_edges:
            best = max(beaten, key=lambda score: score.accuracy)
            reached = f"{best.title}, a fixed filter, reaches {self._share(best)}"
            if not self.adaptive:
                return f"{reached}: this model does not suit this graph. Fit sgf, which adapts."
            return (
                f"{reached}: the model has not learned all there is. Train longer, or from other "
                "seeds."
            )
        guess = f"always answering the largest class ({self._share(self.guessing)})"
        if self.guessing.verdict == "worse":
            return f"The model is right less often than {guess}: look at the classes one by one."
        if self.guessing.verdict == "tie":
            said = f"The model ties with {guess}"
            if self.named[NO_GRAPH].verdict == "worse":
                return f"{said}; the features alone do better."
            return f"{said}: more labels, or features that say more, are needed."
        return f"{self._where_from(guess)}{self._two_steps()}"

    def _where_from(self, guess: str) -> str:
        """Return what carries the classes, of a model that clearly beats guessing."""
        if not self.has_edges:
            return "What is known comes from the features."
        alone = self.named[NO_GRAPH].verdict
        if alone == "better" and self.features_know:
            return "The features and the graph both tell the classes apart."
        if alone == "better":
            return (
                "What is known comes from the graph: the features alone are not clearly better "
                f"than {guess}."
            )
        if alone == "worse":
            return "Trust the features here, and ask whether these edges mean what they should."
        if self.features_know:
            return "The features alone tell the classes about as well."
        return (
            f"The features alone are not clearly better than {guess}: more labels would tell "
            "whether the graph is."
        )

    def _two_steps(self) -> str:
        """Return that SGC does as well, where a low-pass filter does not."""
        steps = self.named.get(TWO_STEPS)
        if steps is None or steps.verdict != "tie" or self.named[LOW_PASS].verdict != "better":
            return ""
        return (
            " SGC, a fixed filter that lets the highest frequency through as well as the lowest, "
            f"ties with it ({self._share(steps)})."
        )

    def _share(self, score: Score) -> str:
        return percent(score.accuracy, self.digits)

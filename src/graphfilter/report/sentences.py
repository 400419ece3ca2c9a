"""The sentences on top of a report, each of which follows from the comparisons beside it."""

from __future__ import annotations

from dataclasses import dataclass

from graphfilter.runs.comparison import Accuracy, Comparison, LabelsWrong, MeanCost, Ranking, Score
from graphfilter.runs.fit import LOW_PASS, NO_GRAPH, TWO_STEPS, Fit
from graphfilter.training.thresholds import score_decision
from graphfilter.util.words import count

# Fewer vertices than this are counted rather than given in percent.
FEW_VERTICES = 20


@dataclass(frozen=True)
class Words:
    """A comparison in words.

    Attributes
    ----------
    found : Comparison
    start : str
        How good the model is: the beginning of the first sentence.
    has_edges : bool
        Whether there is a graph to help or mislead.
    adaptive : bool
        Whether the fitted model is the adaptive filter, or else another system.
    """

    found: Comparison
    start: str
    has_edges: bool = True
    adaptive: bool = True

    def headline(self) -> str:
        """Return the conclusion in one sentence."""
        if not self.has_edges:
            return f"{self.start}; there are no edges, so the graph neither helps nor misleads."
        if NO_GRAPH not in self.found.named:
            return (
                f"{self.start}; no baselines were trained, so whether the graph helps is not known."
            )
        return f"{self.start}; {self._graph()}, and {self._adapting()}."

    def _graph(self) -> str:
        """Return whether the graph helps."""
        alone = self.found.named[NO_GRAPH]
        without = self._write(alone)
        if alone.verdict == "better":
            return f"the graph helps ({without} without it)"
        if alone.verdict == "worse":
            whom = "this model" if self.found.graph_could_help else "it"
            return f"the graph misleads {whom} ({without} without it)"
        network = "the same network" if self.adaptive else "a network"
        text = f"it ties with {network} without the graph ({without})"
        if self.found.graph_could_help:
            return text
        return f"{text}: the graph makes no clear difference"

    def _adapting(self) -> str:
        """Return whether a fixed filter would do."""
        fixed = self.found.named[LOW_PASS]
        ours = "the adaptive one" if self.adaptive else "it"
        does = {
            "better": f"does worse than {ours}",
            "worse": f"does better than {ours}",
            "tie": f"ties with {ours}",
        }[fixed.verdict]
        return f"a fixed low-pass filter ({self._write(fixed)}) {does}"

    def reason(self) -> str:
        """Return whether features, graph or both carry what is known, in words."""
        named, guessing = self.found.named, self.found.guessing
        guess = f"{self.found.yardstick.guess} ({self._write(guessing)})"
        if NO_GRAPH not in named:
            does = {"worse": "does worse than", "tie": "ties with"}.get(guessing.verdict, "")
            return f"The model {does} {guess}." if does else ""
        beaten = [named[n] for n in (LOW_PASS, TWO_STEPS) if n in named]
        beaten = [score for score in beaten if score.verdict == "worse"]
        if beaten and self.has_edges:
            best = min(beaten, key=lambda score: score.lead or 0.0)
            reached = f"{best.title}, a fixed filter, reaches {self._write(best)}"
            if not self.adaptive:
                return f"{reached}: this model does not suit this graph. Fit sgf, which adapts."
            return (
                f"{reached}: the model has not learned enough. Train longer, or with other seeds."
            )
        if guessing.verdict == "worse":
            return f"The model does worse than {guess}: look at its errors one by one."
        if guessing.verdict == "tie":
            text = f"The model ties with {guess}"
            if named[NO_GRAPH].verdict == "worse":
                return f"{text}; the features alone do better."
            return f"{text}: more labels or more informative features are needed."
        return f"{self._where_from(guess)}{self._two_steps()}"

    def _where_from(self, guess: str) -> str:
        """Return what carries the answers, of a model that clearly beats guessing."""
        if not self.has_edges:
            return "The information comes from the features."
        alone = self.found.named[NO_GRAPH].verdict
        if alone == "better" and self.found.features_know:
            return "The features and the graph both carry information."
        if alone == "better":
            return (
                "The information comes from the graph: the features alone are not clearly "
                f"better than {guess}."
            )
        if alone == "worse":
            return "Rely on the features here, and check whether the edges mean what they should."
        if self.found.features_know:
            return "The features alone do about as well."
        return (
            f"The features alone are not clearly better than {guess}: more labels are needed "
            "to know whether the graph is."
        )

    def _two_steps(self) -> str:
        """Return that SGC does as well, where a low-pass filter does not."""
        named = self.found.named
        steps = named.get(TWO_STEPS)
        if steps is None or steps.verdict != "tie" or named[LOW_PASS].verdict != "better":
            return ""
        return (
            " SGC, a fixed filter that lets the highest frequency through as well as the lowest, "
            f"ties with it ({self._write(steps)})."
        )

    def _write(self, score: Score) -> str:
        return self.found.yardstick.write(score.value)


def begin(fit: Fit, found: Comparison) -> str:
    """Say how good a fit is, by the yardstick it is judged by."""
    where = {
        "test": "vertices it never saw",
        "val": "validation vertices, which also chose the best epoch",
        "train": "vertices it was trained on, as there are no others",
    }[found.part]
    shown, n = found.yardstick.write(found.ours.value), found.n_vertices
    if isinstance(found.yardstick, Accuracy):
        share = f"{shown} of the"
        if n < FEW_VERTICES:
            share = f"{round(found.ours.value * n)} of {n}"
        return f"The model is right for {share} {where}"
    if isinstance(found.yardstick, Ranking | MeanCost):
        text = _say_found(fit, where)
        if isinstance(found.yardstick, Ranking):
            return f"{text} (average precision {shown})"
        return f"{text}, which costs {shown} per vertex"
    if isinstance(found.yardstick, LabelsWrong):
        return f"{shown} of the labels are predicted wrong for {where}"
    return f"{fit.names[0]} is predicted with a typical error (RMSE) of {shown} for {where}"


def _say_found(fit: Fit, where: str) -> str:
    """Say how many of the class that is looked for are found."""
    assert fit.positive is not None
    judged, name = fit.judged, fit.names[fit.positive]
    scores = score_decision(
        (fit.answers[judged] == fit.positive).astype(float),
        fit.target.codes[judged] == fit.positive,
        0.5,
    )
    n = scores["found"] + scores["missed"]
    alarms = count(scores["false_alarms"], "false alarm")
    return f"The model finds {scores['found']:,} of {n:,} “{name}” among {where}, with {alarms}"

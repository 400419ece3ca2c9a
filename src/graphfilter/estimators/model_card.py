"""The model card that ``save`` writes beside a model: what it was fitted on, and how it answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graphfilter.estimators.earlier import FittedEstimator
from graphfilter.util.files import atomic_file
from graphfilter.util.words import listed_names, number
from graphfilter.version import __version__

CARD_FILE = "README.md"
# What model hubs read of a card.
_HEAD = "---\nlibrary_name: graphfilter\ntags:\n- graph-ml\n- node-classification\n---\n"


def write_card(estimator: FittedEstimator, folder: Path) -> None:
    """Write README.md to a folder, unless it holds another one, or one that says more."""
    path, head = folder / CARD_FILE, _HEAD.encode()
    knows_less = not hasattr(estimator, "graph_")
    if path.exists() and (knows_less or path.read_bytes()[: len(head)] != head):
        return
    with atomic_file(path) as made:
        made.write_text(model_card(estimator), encoding="utf-8")


def model_card(estimator: FittedEstimator) -> str:
    """Return the facts of a fit in Markdown; of a loaded model those that are saved with it."""
    kind, names = type(estimator).__name__, [str(n) for n in estimator.target_names_.tolist()]
    facts: list[tuple[str, Any]] = [("predicts", f"{estimator.task_}: {listed_names(names)}")]
    if (graph := getattr(estimator, "graph_", None)) is not None:
        facts.append(("fitted on", repr(graph)))
        split = estimator.split_
        parts = f"{len(split.train):,} for training, {len(split.val):,} for validation"
        facts.append(("known vertices", f"{parts} ({split.rule or 'given'})"))
    columns = getattr(estimator, "feature_names_in_", ())
    facts.append(("columns", f"{estimator.n_features_in_} {listed_names([*map(str, columns)])}"))
    facts.append(("model", estimator.system_.title))
    shares = getattr(estimator, "weights_", {}).items()
    facts.append(("members", ", ".join(f"{name} {w:.0%}" for name, w in shares if w >= 0.005)))
    facts.append(("settings", repr(estimator)))
    scores: dict[str, Any] = getattr(estimator, "validation_scores_", {})
    shown = {m.name: scores.get(key) for key, m in estimator.task_.metrics.items()}
    text = ", ".join(f"{name} {number(v)}" for name, v in shown.items() if isinstance(v, float))
    facts.append(("on validation vertices", text))
    facts.append(("version", f"graphfilter {__version__}"))
    rows = [(name, " ".join(str(text).replace("|", r"\|").split())) for name, text in facts]
    table = "\n".join(f"| {name} | {text} |" for name, text in rows if text)
    return (
        f"{_HEAD}\n# {kind}\n\n| | |\n|---|---|\n{table}\n\n"
        "Epochs and weights were chosen on the validation vertices; on others scores are somewhat "
        f'worse.\n\n```python\nimport graphfilter as gf\n\nmodel = gf.{kind}.load("folder")\n'
        "model.predict(X, graph=edges)\n```\n"
    )

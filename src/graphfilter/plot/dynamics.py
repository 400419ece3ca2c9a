"""How the scalars of a filter moved in training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import GraphFilterError
from graphfilter.plot.axes import take_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LETTERS = {"alpha": "α", "beta": "β", "theta": "θ", "cheby": "c"}


def dynamics(history: Mapping[str, Any], ax: Axes | None = None) -> Axes:
    """Draw the learned scalars of a filter by epoch: one row per scalar, red above 0, blue below.

    Parameters
    ----------
    history : mapping
        ``history_`` of a fitted estimator, or ``FitResult.history``: what has one row per epoch
        (α and β of a stacked filter) is drawn, what has one number per epoch is not.
    ax : matplotlib Axes, optional
        Drawn on; a new figure of pyplot's otherwise. The colour scale takes a part of its place.

    Examples
    --------
    >>> import graphfilter as gf
    >>> from matplotlib.figure import Figure
    >>> g = gf.data.make_bipartite(n_side=30, probability=0.3, n_features=4, seed=0)
    >>> clf = gf.SGFClassifier(n_layers=4, max_epochs=20, random_state=0).fit(graph=g)
    >>> ax = gf.plot.dynamics(clf.history_, Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()][:2]
    ['α₁', 'α₂']
    """
    scalars = _scalars(history)
    if not scalars:
        raise GraphFilterError(
            "history must hold the scalars of a filter by epoch, such as alpha and beta; got "
            f"{', '.join(map(str, history)) or 'nothing'}. Filters that are fixed have none."
        )
    axes = take_axes(ax)
    rows = np.concatenate([values.T for values in scalars.values()])
    most = float(np.abs(rows[np.isfinite(rows)]).max(initial=1e-12))
    n_epochs = rows.shape[1]
    image = axes.imshow(
        rows,
        aspect="auto",
        interpolation="nearest",
        cmap="RdBu_r",
        vmin=-most,
        vmax=most,
        extent=(-0.5, n_epochs - 0.5, len(rows) - 0.5, -0.5),
    )
    _label_rows(axes, scalars)
    axes.set_xlabel("epoch")
    axes.figure.colorbar(image, ax=axes, shrink=0.9, pad=0.02)
    return axes


def _scalars(history: Mapping[str, Any]) -> dict[str, NDArray[np.float64]]:
    """Return what has one row of numbers per epoch, (n_epochs, K) each."""
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in history.items()}
    return {name: values for name, values in arrays.items() if values.ndim == 2}


def _label_rows(axes: Axes, scalars: Mapping[str, NDArray[np.float64]]) -> None:
    """Name the rows: all where there are few, some of each kind otherwise."""
    ticks: list[int] = []
    labels: list[str] = []
    start = 0
    few = sum(values.shape[1] for values in scalars.values()) <= 20
    for name, values in scalars.items():
        k = values.shape[1]
        first = 1 if name in ("alpha", "beta") else 0
        for i in range(0, k, 1 if few else -(-k // 4)):
            ticks.append(start + i)
            labels.append(f"{_LETTERS.get(name, name)}{_subscript(first + i)}")
        start += k
        if start < sum(other.shape[1] for other in scalars.values()):
            axes.axhline(start - 0.5, color="black", linewidth=1)
    axes.set_yticks(ticks, labels)


def _subscript(number: int) -> str:
    return "".join("₀₁₂₃₄₅₆₇₈₉"[int(digit)] for digit in str(number))

"""KeptEstimator: what is done with a fitted estimator but asking it: saved, loaded and shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sklearn.utils.validation import check_is_fitted

from graphfilter.estimators.asking import AskedEstimator
from graphfilter.estimators.drawing import filter_view, fitted_card
from graphfilter.estimators.saving import load_estimator, save_estimator
from graphfilter.spectral.plot import plot_view
from graphfilter.util.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class KeptEstimator(AskedEstimator):
    """Files, pictures and pickles of a fitted estimator."""

    def settled_parameters(self) -> dict[str, Any]:
        """Return the parameters of the fit, those that were left open as they were chosen."""
        return {**self.get_params(deep=False), **self._still_chosen()}

    def _still_chosen(self) -> dict[str, Any]:
        """Return what was chosen for parameters that are open still."""
        given = self.get_params(deep=False)
        return {name: v for name, v in self.chosen_.items() if given[name] in (None, "auto")}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "members_")

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made again when it is needed."""
        state = dict(super().__getstate__())
        for name in ("prepared_", "outputs_", "folded_"):
            state.pop(name, None)
        return state

    def save(self, folder: str | Path, *, run: dict[str, Any] | None = None) -> None:
        """Write ``model.safetensors`` and ``config.json`` to ``folder``.

        The graph is not saved: predicting with a loaded model takes X and a graph. ``run`` is
        anything JSON can hold that should be stored with the model; without it, the folder of a run
        of ``graphfilter fit`` is refused, whose report would no longer be of its model.
        """
        check_is_fitted(self)
        if self.build_system(**self._still_chosen()) != self.system_:
            raise ConfigError(
                "parameters must be those of the fit to be saved; they were changed since. Fit "
                "again, or restore them."
            )
        if self.system_.keeps_graph:
            raise ConfigError(
                "a network that is bound to its graph cannot be saved without it; most others "
                "can be: sgf, mlp, sgc, appnp, gcn, gat, gcnii, ..."
            )
        if run is None and (Path(folder) / "metrics.json").exists():
            raise ConfigError(f"{folder}: holds a run of graphfilter fit; save to another folder.")
        save_estimator(self, folder, run)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what :meth:`save` wrote. Nothing in the files can run code."""
        return load_estimator(cls, folder)

    def plot_filter(self, ax: Axes | None = None) -> Axes:
        """Draw the learned filter over graph frequency, with the label frequencies.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Drawn on; a new figure of pyplot's otherwise.

        Examples
        --------
        >>> import graphfilter as gf
        >>> from matplotlib.figure import Figure
        >>> g = gf.data.make_bipartite(n_side=30, probability=0.3, n_features=4, seed=0)
        >>> clf = gf.SGFClassifier(max_epochs=10, random_state=0).fit(graph=g)
        >>> clf.plot_filter(Figure().subplots()).get_ylabel()
        'response f'
        """
        check_is_fitted(self)
        return plot_view(filter_view(self), ax)

    def _repr_html_inner(self) -> str:
        """Return scikit-learn's picture of the parameters and, once fitted, the filter below it."""
        return super()._repr_html_inner() + self._fitted_html()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += self._fitted_html()
        return bundle

    def _fitted_html(self) -> str:
        return fitted_card(self) if self.__sklearn_is_fitted__() else ""

"""What may change from run to run, and its limits: enforced here, whatever a page sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from graphfilter.estimators.sgf import SGFClassifier
from graphfilter.util.errors import ConfigError, check_number

# The least and the most of each whole number. The page shows the same.
LIMITS = {"n_layers": (1, 64), "max_epochs": (1, 10_000), "seed": (0, 2**32 - 1)}


@dataclass(frozen=True)
class RunSetting:
    """What may be changed from run to run; the defaults are the paper's."""

    operator: str = "augmented_adjacency"
    n_layers: int = 16
    filter_init: float | Literal["uniform"] = 0.5
    dropout: float = 0.7
    max_epochs: int = 1500
    seed: int = 0
    baselines: bool = True

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> RunSetting:
        """Take a setting from a page; every value is checked as the command line's are."""
        known = {f.name: f for f in fields(cls)}
        if unknown := sorted(set(given) - set(known)):
            raise ConfigError(f"unknown setting {unknown[0]!r}; known: {', '.join(known)}.")
        setting = cls(**given)
        for name, (least, most) in LIMITS.items():
            value = getattr(setting, name)
            whole = isinstance(value, int) and not isinstance(value, bool)
            if not whole or not least <= value <= most:
                raise ConfigError(
                    f"{name} must be a whole number from {least} to {most}; got {value!r:.40}."
                )
        check_number("dropout", setting.dropout)
        if not isinstance(setting.filter_init, str):
            check_number("filter_init", setting.filter_init)
        if type(setting.baselines) is not bool:
            raise ConfigError(f"baselines must be true or false; got {setting.baselines!r:.40}.")
        setting.classifier().check_parameters()
        return setting

    def classifier(self) -> SGFClassifier:
        """Return the classifier to be fitted."""
        return SGFClassifier(
            operator=self.operator,
            n_layers=self.n_layers,
            filter_init=self.filter_init,
            dropout=self.dropout,
            max_epochs=self.max_epochs,
            random_state=self.seed,
        )

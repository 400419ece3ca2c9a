"""Config: what a filter or network is made from, and so its identity.

The contract of every filter: it states its polynomial, and the base applies it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, ClassVar, overload

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from graphfilter.operators import Operator
from graphfilter.operators.polynomial import Basis, Dropout, apply_polynomial, apply_with_dropout
from graphfilter.util.errors import ConfigError, check_count, check_name, check_number
from graphfilter.util.plugins import SYSTEMS, load_plug_ins

__all__ = ["Config", "Filter", "FilterConfig", "apply_filters"]


# The metadata of a field that records of earlier versions do not know: at its default it is left
# out of a description, so that those records remain of this config.
ADDED = {"added": True}


@dataclass(frozen=True)
class Config:
    """Everything that distinguishes one filter or network from another, except data and weights.

    Objects with equal configs are the same function of their weights. They may therefore run side
    by side, share a record and load each other's weights. A subclass is a frozen dataclass whose
    fields are plain values or other configs, each with a default where one is sensible.

    Attributes
    ----------
    kind : str
        The name of what is built, for printing and for records.
    least : mapping
        The least values of counts (fields that are ``int``), where those are not 1.
    ranges : mapping
        The intervals of numbers (fields that are ``float``), where not every number will do.
    names : mapping
        What a field may be that holds a name.

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.filters.PowerFilterConfig(k=3).describe()
    {'kind': 'PowerFilter', 'k': 3}
    >>> gf.filters.PowerFilterConfig(k=3) == gf.filters.PowerFilterConfig(k=3)
    True
    """

    kind: ClassVar[str]
    least: ClassVar[Mapping[str, int]] = {}
    ranges: ClassVar[Mapping[str, str]] = {}
    names: ClassVar[Mapping[str, Collection[str]]] = {}

    def __post_init__(self) -> None:
        """Check every count, number and name, as the types of the fields say."""
        for field in fields(self):
            name, value, kind = field.name, getattr(self, field.name), str(field.type)
            if name in self.names and not kind.startswith("float"):
                check_name(name, value, self.names[name])
            elif name in self.names and isinstance(value, str):
                if value not in self.names[name]:
                    known = ", ".join(map(repr, self.names[name]))
                    raise ConfigError(f"{name} must be a number or {known}; got {value!r}.")
            elif kind == "int" or (kind == "int | None" and value is not None):
                check_count(name, value, least=self.least.get(name, 1))
            elif kind.startswith("float") and not isinstance(value, tuple | None):
                check_number(name, value, self.ranges.get(name, "(-inf, inf)"))

    def describe(self) -> dict[str, Any]:
        """Return the kind and every field as plain values that JSON can hold."""
        return {"kind": self.kind, **described_fields(self)}

    def arguments(self) -> str:
        """Return the fields as ``name=value``, for ``repr``."""
        pairs = ((f.name, getattr(self, f.name)) for f in fields(self))
        return ", ".join(f"{k}={v}" for k, v in pairs if not isinstance(v, Config))


def read_config(described: Mapping[str, Any]) -> Config:
    """Return the config that :meth:`Config.describe` described; ValueError where there is none.

    >>> import graphfilter as gf
    >>> config = gf.models.FilterNetworkConfig(filter=gf.filters.PowerFilterConfig(k=3))
    >>> read_config(config.describe()) == config
    True
    """
    values = dict(described)
    kind = values.pop("kind", None)
    return _config_of(str(kind))(**{name: _read(value) for name, value in values.items()})


@cache
def _config_of(kind: str) -> type[Config]:
    # Of its own: a config that inherits from another one is of no other kind.
    for _ in range(2):
        alike = [each for each in _subclasses(Config) if vars(each).get("kind") == kind]
        if len(alike) == 1:
            return alike[0]
        load_plug_ins(SYSTEMS)
    raise ValueError(f"a config of unknown kind {kind!r}")


def _subclasses(config: type[Config]) -> Iterator[type[Config]]:
    for each in config.__subclasses__():
        yield each
        yield from _subclasses(each)


def _read(value: Any) -> Any:
    if isinstance(value, dict):
        return read_config(value)
    return tuple(value) if isinstance(value, list) else value


def described_fields(config: Any) -> dict[str, Any]:
    """Return the fields of a config, less those ``ADDED`` later that are at their default."""
    values = {f.name: (f, getattr(config, f.name)) for f in fields(config)}
    return {
        name: _plain(value)
        for name, (f, value) in values.items()
        if not (f.metadata.get("added") and value == f.default)
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Config):
        return value.describe()
    return list(value) if isinstance(value, tuple) else value


class FilterConfig(Config):
    """The config of a filter, which builds it.

    Examples
    --------
    >>> import graphfilter as gf
    >>> config = gf.filters.StackedFilterConfig(n_layers=4)
    >>> config.build()
    StackedFilter(n_layers=4, init=0.5)
    """

    filter_type: ClassVar[type[Filter]]

    def build(self, seed: int = 0) -> Filter:
        """Make the filter; ``seed`` draws what is random at its start."""
        make: Any = self.filter_type
        return make(**{field.name: getattr(self, field.name) for field in fields(self)})


class Filter(nn.Module, ABC):
    r"""A polynomial graph filter :math:`f(P) = \sum_{k=0}^{K} w_k B_k(P)`.

    A subclass names the class of its config, ``class Mine(Filter, config=MineConfig)``, and takes
    its fields as arguments. It states its :meth:`weights`, and its :meth:`basis` where that is not
    powers of the operator. Response, plots, training, estimator and tests follow.

    Attributes
    ----------
    config : FilterConfig
        Its identity: what it was built from.
    degree : int
        K, the number of products with the operator.

    Examples
    --------
    >>> import graphfilter as gf
    >>> smooth = gf.filters.PowerFilter(k=2)
    >>> operator = gf.operators.augmented_adjacency(gf.load_dataset("karate"))
    >>> smooth(operator, gf.operators.to_tensor([[1.0]] * 34)).shape
    torch.Size([34, 1])
    """

    config: FilterConfig
    degree: int

    def __init_subclass__(cls, config: type[FilterConfig] | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if config is not None:
            config.filter_type, config.kind = cls, cls.__name__

    def __init__(self, config: FilterConfig) -> None:
        super().__init__()
        self.config = config

    @abstractmethod
    def weights(self) -> Tensor:
        """Return the weights in the filter's own basis, (K + 1,), differentiable.

        By tensor operations that do not wait for the device (no ``item``, no numpy): on a GPU they
        are captured once and replayed.
        """

    @classmethod
    def weights_side_by_side(cls, filters: Sequence[Any]) -> Tensor:
        """Return the weights of R filters of one config, (K + 1, R); overridden for speed only."""
        return torch.stack([f.weights() for f in filters], dim=1)

    def basis(self) -> Basis:
        """Return the basis the weights refer to: powers of the operator unless overridden."""
        return Basis.powers()

    @property
    def interval(self) -> tuple[float, float]:
        """The eigenvalues the filter is made for: [-1, 1] in powers of the operator."""
        return self.basis().interval

    def coefficients(self) -> Tensor:
        r"""Return :math:`\theta` (K + 1,) in float64: the same filter in powers of the operator."""
        return self.basis().to_powers(self.weights())

    @overload
    def response(self, lam: Tensor) -> Tensor: ...
    @overload
    def response(self, lam: ArrayLike) -> NDArray[np.float64]: ...
    def response(self, lam: Any) -> Any:
        r"""Return :math:`f(\lambda)` at eigenvalues of the operator, in float64.

        A tensor gives a differentiable tensor, anything else a numpy array.
        """
        if isinstance(lam, Tensor):
            return self.basis().evaluate(self.weights().double(), lam.double())
        with torch.no_grad():
            points = torch.as_tensor(np.asarray(lam, dtype=np.float64))
            return self.basis().evaluate(self.weights().double().cpu(), points).numpy()

    def forward(self, operator: Operator, x: Tensor, dropout: Dropout | None = None) -> Tensor:
        """Return f(P) x for columns (n, c), with ``dropout`` before every product if given."""
        if dropout is not None:
            self.check_operator(operator)
            return apply_with_dropout(operator, self.basis(), self.weights(), x, dropout)
        return apply_filters([self], operator, x)

    def check_operator(self, operator: Operator) -> None:
        """Raise where the filter is not defined on this operator."""

    def reset_parameters(self) -> None:
        """Set the learnable scalars, if any, to their initial values."""

    def extra_repr(self) -> str:
        return self.config.arguments()


class FixedFilter(Filter):
    """A filter without learnable scalars: its weights are known when it is made."""

    def __init__(self, config: FilterConfig, weights: Tensor) -> None:
        super().__init__(config)
        self.degree = len(weights) - 1
        self.register_buffer("theta", weights, persistent=False)

    def weights(self) -> Tensor:
        return self.get_buffer("theta")


def apply_filters(filters: Sequence[Filter], operator: Operator, x: Tensor) -> Tensor:
    """Apply R filters of one config at once, each to its own R-th of the columns of ``x``.

    Examples
    --------
    >>> import torch
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> operator = gf.operators.augmented_adjacency(g)
    >>> pair = [gf.filters.StackedFilter(4), gf.filters.StackedFilter(4)]
    >>> gf.filters.apply_filters(pair, operator, torch.ones(34, 6)).shape
    torch.Size([34, 6])
    """
    return apply_polynomial(operator, *polynomials_of(filters, operator), x)


def polynomials_of(filters: Sequence[Filter], operator: Operator) -> tuple[Basis, Tensor]:
    """Return the basis that R filters of one config run in on an operator, and weights (K + 1, R).

    Filters with powers as their basis run in powers of P / radius, which stay bounded at any
    degree (those of the Laplacian reach 2^K).
    """
    filters[0].check_operator(operator)
    if any(f.config != filters[0].config for f in filters):
        raise ConfigError("filters that run side by side must have one config.")
    weights = filters[0].weights_side_by_side(filters)
    basis = filters[0].basis()
    if basis == Basis.powers() and operator.radius != 1:
        powers = torch.arange(len(weights), dtype=torch.float64, device=weights.device)
        weights = weights.double() * (operator.radius**powers)[:, None]
        basis = Basis.powers(operator.radius)
    return basis, weights

"""Systems of what somebody brings: a filter, a config, or any torch module, from a file of theirs.

:func:`system_of` makes a system of it. :func:`describe_system` and :func:`read_system` keep it with
a saved model. Reading imports nothing and calls only classes of torch modules that were imported
before: whoever loads the model imports the file, or names the object.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor, nn

from graphfilter.filters import Filter, FilterConfig
from graphfilter.filters.base import described_fields, read_config
from graphfilter.models import FilterNetworkConfig, ModelConfig, Network, SizedNetwork
from graphfilter.models.layers import Draws, Input
from graphfilter.models.views import VIEWS
from graphfilter.operators import OPERATORS, Operator
from graphfilter.systems.registry import get_system
from graphfilter.systems.system import System, nested_configs
from graphfilter.training import TrainConfig
from graphfilter.util.errors import ConfigError

__all__ = ["system_of"]

_TAKEN = (
    "a system or its name, a filter, the config of a filter or network, or a torch.nn.Module (its "
    "class, an instance, or a function of n_features and n_classes that makes one)"
)


@dataclass(frozen=True)
class OutsideConfig(ModelConfig):
    """Of :class:`OutsideNetwork`.

    Parameters
    ----------
    dropout : float
        Not used: the module draws its own.
    module : str
        Where the module comes from, as ``package.module:name``.
    make : class, function or torch.nn.Module
        Makes the module from n_features and n_classes, or is copied. Not kept in files.
    """

    dropout: float = 0.0
    module: str = ""
    make: Any = field(default=None, repr=False)

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, "module": self.module}


class OutsideNetwork(SizedNetwork[OutsideConfig], config=OutsideConfig):
    """A torch module that knows nothing of this package, called as ``module(operator, x)``.

    ``operator @ x`` averages over neighbours; x (n_vertices, n_features) is dense. The module
    returns logits (n_vertices, n_classes). Its initial weights and its dropout are drawn from the
    seed of the network, and torch's own generator is left as it was; a ``forward`` that takes
    ``generator`` draws from it instead.

    Examples
    --------
    >>> import graphfilter as gf
    >>> class Averages(torch.nn.Module):
    ...     def __init__(self, n_features, n_classes):
    ...         super().__init__()
    ...         self.head = torch.nn.Linear(n_features, n_classes)
    ...     def forward(self, operator, x):
    ...         return self.head(operator @ x)
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model=Averages, max_epochs=5, random_state=0).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    def make_layers(self, n_features: int, n_classes: int, generator: Draws) -> None:
        make = self.config.make
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0 if generator is None else generator.initial_seed())
            module = (
                copy.deepcopy(make) if isinstance(make, nn.Module) else make(n_features, n_classes)
            )
        if not isinstance(module, nn.Module):
            raise ConfigError(
                f"{self.config.module} must make a torch.nn.Module from n_features and n_classes; "
                f"got {type(module).__name__}. Return the module."
            )
        self.module, self.n_classes = module, n_classes
        self._takes_generator = "generator" in inspect.signature(module.forward).parameters

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        dense = x if isinstance(x, Tensor) else x.to_dense()
        if self._takes_generator:
            logits = self.module(operator, dense, generator=generator)
        elif generator is None:
            logits = self.module(operator, dense)
        else:
            seed = torch.randint(2**62, (), generator=generator, device=generator.device)
            on_gpu = [dense.device] if dense.is_cuda else []
            with torch.random.fork_rng(devices=on_gpu):
                torch.manual_seed(int(seed))
                logits = self.module(operator, dense)
        expected = dense.shape[0], self.n_classes
        if not isinstance(logits, Tensor) or logits.shape != expected:
            shape = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
            raise ConfigError(
                f"{self.config.module} must return logits of shape {expected}, one row per vertex "
                f"and one column per class; got {shape}. Make its last layer n_classes wide."
            )
        return logits


def named_object(text: str) -> Any:
    """Import what ``package.module:name`` names; only for a name that the user has given.

    >>> named_object("graphfilter.filters:PowerFilter").__name__
    'PowerFilter'
    """
    module, _, name = text.partition(":")
    try:
        return attrgetter(name)(import_module(module))
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"a model of your own must be named as package.module:name, importable from here; got "
            f"{text!r} ({error}). Run from the folder of the file, or install its package."
        ) from None


def system_of(model: Any) -> System:
    """Return the system of a model, whatever it is given as.

    Parameters
    ----------
    model : str, System, Filter, FilterConfig, Network, ModelConfig, torch.nn.Module or callable
        A filter is put between an encoder and a head, as SGF's is. Classes stand for their
        defaults; a callable makes a torch module from n_features and n_classes.

    Examples
    --------
    >>> import graphfilter as gf
    >>> system_of(gf.filters.PowerFilter(k=3)).model.filter
    PowerFilterConfig(k=3)
    """
    if isinstance(model, str | System):
        return get_system(model) if isinstance(model, str) else model
    kinds: Any = (Filter, FilterConfig, Network, ModelConfig)
    if inspect.isclass(model) and issubclass(model, kinds):
        try:
            model = model.config_type() if issubclass(model, Network) else model()
        except TypeError as error:
            raise ConfigError(
                f"{model.__name__} must be given with its arguments, as it has no default for some "
                f"({error}). Pass model={model.__name__}(...)."
            ) from None
    if isinstance(model, Filter | Network):
        model = model.config
    if isinstance(model, FilterConfig):
        return System(model.kind, model.kind, FilterNetworkConfig(filter=model), setting="own")
    if isinstance(model, ModelConfig):
        return System(model.kind, model.kind, model, setting="own")
    if not (isinstance(model, nn.Module) or callable(model)):
        raise ConfigError(f"model must be {_TAKEN}; got {type(model).__name__}.")
    made: Any = type(model) if isinstance(model, nn.Module) else model
    config = OutsideConfig(module=f"{made.__module__}:{made.__qualname__}", make=model)
    return System(made.__name__, made.__name__, config, setting="own")


def origin_of(system: System) -> str:
    """Return where what is not part of this package comes from; empty where all of it is."""
    for config in nested_configs(system.model):
        if isinstance(config, OutsideConfig):
            return config.module
        kind: Any = getattr(config, "network", None) or getattr(config, "filter_type", type(config))
        if not kind.__module__.startswith(("graphfilter.", "graphfilter_research.")):
            return f"{kind.__module__}:{kind.__qualname__}"
    return ""


def describe_system(system: System) -> dict[str, Any]:
    """Return a system as plain values, for :func:`read_system`."""
    return {
        "from": origin_of(system), "name": system.name, "title": system.title,
        "operator": system.operator, "view": system.view, "model": system.describe(),
        "training": described_fields(system.config),
    }  # fmt: skip


class NotImportedError(ConfigError):
    """What a saved model was made of has not been imported, nor named."""


class WrongModelError(ConfigError):
    """What is named on loading is not what a saved model was made of."""


def read_system(described: Mapping[str, Any], model: Any = None) -> System:
    """Return the system that :func:`describe_system` described; imports nothing.

    ``model`` is what the user names: the object that the model was fitted with.
    """
    origin, operator, view = (str(described[name]) for name in ("from", "operator", "view"))
    brought = None if model is None else system_of(model)
    if brought is not None and brought.describe().get("kind") != described["model"].get("kind"):
        raise WrongModelError(
            f"model must be {origin or described['name']}, which was fitted; got {brought.title}. "
            "Name the one that was given to fit."
        )
    try:
        config = read_config(described["model"])
    except ValueError as error:
        if origin:
            raise NotImportedError(origin) from None
        raise ValueError(str(error)) from None
    if not isinstance(config, ModelConfig) or operator not in OPERATORS or view not in VIEWS:
        raise ValueError(f"a system of {config.kind}, {operator} and {view}")
    if isinstance(config, OutsideConfig):
        if brought is None:
            config = replace(config, make=_imported_class(config.module))
        elif isinstance(brought.model, OutsideConfig):
            config = replace(config, make=brought.model.make)
    system = System(
        str(described["name"]), str(described["title"]), config, operator,
        TrainConfig(**described["training"]), "own", view=view,
    )  # fmt: skip
    if brought is None and origin_of(system) != origin:
        raise NotImportedError(origin)
    return system


def _imported_class(origin: str) -> type[nn.Module]:
    """Return the class of a torch module that this process has imported already."""
    module, _, name = origin.partition(":")
    try:
        kind = attrgetter(name)(sys.modules[module])
    except (KeyError, AttributeError):
        kind = None
    if not (inspect.isclass(kind) and issubclass(kind, nn.Module)):
        raise NotImportedError(origin)
    return kind

"""pyarrow, which is slow to import: whoever takes it from here waits when it is first used."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any


@dataclass(eq=False)
class _Late:
    """A stand-in for a module, which is imported when something of it is asked for."""

    module: str

    def __getattr__(self, attribute: str) -> Any:
        if "module" not in vars(self):  # It has become the module, which has no such attribute.
            raise AttributeError(f"{vars(self).get('__name__')} has no {attribute!r}.")
        module = import_module(self.module)
        self.__dict__ = module.__dict__  # From now on it has what the module has.
        return getattr(module, attribute)


if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = _Late("pyarrow")

pc: Any = _Late("pyarrow.compute")
is_type: Any = _Late("pyarrow.types")
csv: Any = _Late("pyarrow.csv")
parquet: Any = _Late("pyarrow.parquet")

__all__ = ["csv", "is_type", "pa", "parquet", "pc"]

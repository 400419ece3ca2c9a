"""What later graphs are compared with, beside the model: ``reference.safetensors``."""

from __future__ import annotations

from pathlib import Path

import torch

from graphfilter.errors import ModelFileError
from graphfilter.fits import Fit, Reference
from graphfilter.run_folder.description import RunDescription
from graphfilter.run_folder.layout import REFERENCE_FILE
from graphfilter.storage import read_tensors, write_tensors
from graphfilter.version import __version__


def write_reference(fit: Fit, folder: Path) -> str:
    """Write the reference of a fit; return its checksum, empty where it predicts no other graph."""
    if fit.estimator.system_.keeps_graph or not fit.plan.has_features:
        return ""
    arrays = Reference.of(fit).to_arrays()
    tensors = {name: torch.tensor(values) for name, values in arrays.items()}
    about = {"kind": "reference", "version": __version__}
    return write_tensors(folder / REFERENCE_FILE, tensors, about)


def read_reference(folder: str | Path, run: RunDescription) -> Reference | None:
    """Read the reference of a run; None of a run that has none."""
    if not run.reference_sha256:
        return None
    path = Path(folder) / REFERENCE_FILE
    tensors, _ = read_tensors(path, run.reference_sha256)
    try:
        return Reference.from_arrays({name: values.numpy() for name, values in tensors.items()})
    except (KeyError, ValueError, IndexError) as error:
        raise ModelFileError(f"{path}: not a file that a fit wrote ({error}). Fit again.") from None

"""Cross entropy and accuracy on a CPU, by the compiled code of ``native.c``."""

from __future__ import annotations

import torch
from torch import Tensor

from graphfilter.operators.kernels.native_kernel import native_library
from graphfilter.operators.kernels.native_layers import MOST_CLASSES, check_tensor
from graphfilter.util.errors import GraphError


class CompiledLoss:
    """The classes of some rows and their weights in P sums, checked once, where it is made.

    Shapes
    ------
    rows, classes : int64 (m,);  weights : float32 (P, m, R);  all contiguous, on a CPU

    Examples
    --------
    >>> import torch
    >>> loss = CompiledLoss(torch.tensor([2]), torch.tensor([1]), torch.ones(1, 1, 1))
    >>> logits = torch.zeros(3, 1, 2)
    >>> loss.takes(torch.zeros(2, 1, 2))  # row 2 is not there
    False
    """

    def __init__(self, rows: Tensor, classes: Tensor, weights: Tensor) -> None:
        n_sets, m, n_runs = weights.shape
        check_tensor("rows", rows, (m,), torch.int64)
        check_tensor("classes", classes, (m,), torch.int64)
        check_tensor("weights", weights, (n_sets, m, n_runs))
        if m == 0 or int(rows.min()) < 0 or int(classes.min()) < 0:
            raise GraphError("rows and classes of a loss must exist and not be negative.")
        self._rows, self._classes, self._weights = rows, classes, weights
        self._n_rows, self._n_classes = int(rows.max()) + 1, int(classes.max()) + 1

    def takes(self, logits: Tensor) -> bool:
        """Return whether :meth:`sums` takes these logits (n, R, C); torch computes the same."""
        return (
            native_library() is not None
            and logits.dtype == torch.float32
            and logits.device.type == "cpu"
            and logits.shape[0] >= self._n_rows
            and logits.shape[1] == self._weights.shape[2]
            and self._n_classes <= logits.shape[2] <= MOST_CLASSES
        )

    def sums(self, logits: Tensor, factors: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Return sums over the rows, weighed: of losses, and of ones where the answer is right.

        With ``factors`` (R,) also the gradient of the first set's losses, times these, at the
        logits.

        Shapes
        ------
        logits, gradient : (n, R, C), contiguous;  sums : float64 (P, 2, R)
        """
        library = native_library()
        if library is None or not self.takes(logits):
            raise GraphError(f"logits must fit the rows; got shape {tuple(logits.shape)}.")
        n_sets, m, n_runs = self._weights.shape
        n_classes = logits.shape[2]
        check_tensor("logits", logits, (logits.shape[0], n_runs, n_classes))
        sums = torch.zeros(n_sets, 2, n_runs, dtype=torch.float64, device="cpu")
        grad = None
        if factors is not None:
            check_tensor("factors", factors, (n_runs,))
            grad = torch.zeros_like(logits)
        library.graphfilter_cross_entropy(
            m, n_runs, n_classes, n_sets, self._rows.data_ptr(), self._classes.data_ptr(),
            logits.data_ptr(), self._weights.data_ptr(), sums.data_ptr(),
            None if factors is None else factors.data_ptr(),
            None if grad is None else grad.data_ptr(),
        )  # fmt: skip
        return sums, grad

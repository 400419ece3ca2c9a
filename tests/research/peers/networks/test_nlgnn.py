from __future__ import annotations

import pytest
import torch

from graphfilter import operators
from graphfilter.data.graph import Graph
from graphfilter.util.errors import ConfigError
from graphfilter_research.peers.nlgnn import NLGNN, NLGNNConfig


def make_model(**options: object) -> NLGNN:
    generator = torch.Generator().manual_seed(0)
    config = NLGNNConfig(hidden_size=4, **options)  # pyright: ignore
    return NLGNN(3, 2, config, generator=generator).eval()


def test_nlgnn_with_kernel_one_treats_every_vertex_alone() -> None:
    """A convolution of width 1 does not see the order: it is a linear map of a z."""
    model = make_model(kernel_size=1)
    z = torch.randn(9, 4, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        attended = model.calibrate(z) * z
        w1, b1, w2, b2 = (
            p
            for conv in model.convs
            for p in (conv.get_parameter("weight"), conv.get_parameter("bias"))
        )
        hidden = torch.relu(attended @ w1[:, :, 0].T + b1)
        expected = hidden @ w2[:, :, 0].T + b2
        torch.testing.assert_close(model.aggregate(z), expected)


def test_nlgnn_convolves_in_the_order_of_attention() -> None:
    model = make_model(kernel_size=3)
    z = torch.randn(9, 4, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        order = model.calibrate(z).squeeze(1).argsort()
        # Sorted already: the sequence is the vertices as they come.
        first, second = model.convs
        sequence = (model.calibrate(z) * z)[order]
        expected = second(torch.relu(first(sequence.T[None])))[0].T
        torch.testing.assert_close(model.aggregate(z[order]), expected)
        torch.testing.assert_close(model.aggregate(z)[order], expected)


def test_nlgnn_with_mlp_inside_ignores_the_graph() -> None:
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))
    path = operators.augmented_adjacency(Graph.from_edges([[0, 1], [1, 2], [2, 3]]))
    pair = operators.augmented_adjacency(Graph.from_edges([[0, 3]]))
    with torch.no_grad():
        assert torch.equal(make_model(local="mlp")(path, x), make_model(local="mlp")(pair, x))
        assert not torch.equal(make_model()(path, x), make_model()(pair, x))


def test_nlgnn_refuses_an_unknown_local_part() -> None:
    with pytest.raises(ConfigError, match="did you mean 'mlp'"):
        make_model(local="mpl")

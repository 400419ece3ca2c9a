"""The settings of systems are those of their papers and of their authors' scripts.

What is on record is held to today's systems by ``paper/test_results.py``; here are lines of the
sources, copied by hand.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from graphfilter.data import describe
from graphfilter.data.datasets import make_csbm
from graphfilter.filters import HorizontalFilter, PageRankFilter
from graphfilter.models import FilterNetwork
from graphfilter.systems import SYSTEMS, System, get_system

# By system and, where its authors set that, dataset.
LINES: dict[tuple[str, str], dict[str, Any]] = {
    # The paper, appendix "Other methods".
    ("appnp-0.8", ""): {
        "K": 2, "alpha": 0.8, "dropout": 0.7, "learning_rate": 0.02, "weight_decay": 5e-4,
    },
    ("sgc", ""): {"k": 2, "dropout": 0.7, "learning_rate": 0.01, "weight_decay": 5e-4},
    ("gcnii", ""): {"n_layers": 64, "alpha": 0.5, "theta": 0.5},
    # chennnM/GCNII, full.sh and full-supervised.py.
    ("gcnii-loss", "texas"): {
        "n_layers": 32, "alpha": 0.5, "theta": 1.5, "weight_decay": 1e-4, "monitor": "loss",
        "patience": 100,
    },
    ("gcnii-star", "pubmed"): {"n_layers": 64, "alpha": 0.1, "theta": 0.5, "weight_decay": 5e-6},
    # tkipf/gcn, train.py: 200 epochs, stops by the last 10 validation losses.
    ("gcn-authors", ""): {
        "hidden_size": 16, "n_layers": 2, "dropout": 0.5, "learning_rate": 0.01,
        "weight_decay": 5e-4, "monitor": "loss", "max_epochs": 200, "patience": 10,
    },
    # PetarV-/GAT, execute_cora.py.
    ("gat-authors", "pubmed"): {
        "dropout": 0.6, "hidden_size": 8, "n_heads": 8, "n_out_heads": 8, "learning_rate": 0.01,
        "weight_decay": 1e-3, "monitor": "loss", "max_epochs": 100_000, "patience": 100,
    },
    # Geom-GCN: NewTableThree*_runs.txt and the defaults of train_*.py.
    ("gat-pei", "squirrel"): {
        "hidden_size": 48, "learning_rate": 0.05, "weight_decay": 5e-6, "patience": 100,
        "max_epochs": 5000,
    },
    ("gcn-pei-directed", "texas_directed"): {"hidden_size": 32, "weight_decay": 5e-5},
    ("geom-gcn-p", "cornell"): {
        "embedding": "poincare", "hidden_size": 32, "dropout": 0.5, "weight_decay": 5e-5,
    },
    # divelab/Non-Local-GNN, longrange.sh; they stop on accuracy after half of 3000 epochs.
    ("nlmlp", "wisconsin"): {
        "learning_rate": 0.05, "weight_decay": 5e-4, "kernel_size": 3, "local": "mlp",
        "monitor": "accuracy", "max_epochs": 3000, "patience": 200,
    },
    # gear/sgf, train_sgf.py and train_cheb.py: validation loss, patience 100.
    ("sgf-authors", ""): {
        "dropout_on": "every_layer", "n_layers": 16, "init": 0.5, "dropout": 0.7,
        "hidden_size": 64, "learning_rate": 0.0025, "weight_decay": 5e-4, "monitor": "loss",
        "patience": 100,
    },
    ("sgf-cheby-authors-1.5", ""): {"n_terms": 16, "lambda_max": 1.5, "operator": "laplacian"},
    ("fastgcn", ""): {"dropout": 0.0, "hidden_size": 16, "n_sampled": 400},
    ("gcn-blocks", "texas"): {
        "n_layers": 5, "hidden_size": 512, "n_heads": 8, "dropout": 0.2, "learning_rate": 3e-5,
        "weight_decay": 0.0, "max_epochs": 1000, "patience": 1000,
    },
    ("gcn-tuned", "minesweeper"): {
        "n_layers": 12, "hidden_size": 64, "norm": "batch", "residual": True, "dropout": 0.2,
        "learning_rate": 0.01, "weight_decay": 0.0, "max_epochs": 2000, "patience": 2000,
        "monitor": "roc_auc",
    },
    ("sage-tuned", "computers_lcc"): {
        "n_layers": 4, "hidden_size": 64, "norm": "layer", "residual": False, "dropout": 0.3,
        "learning_rate": 1e-3, "weight_decay": 5e-5, "max_epochs": 1000,
    },
    ("gat-tuned", "squirrel_filtered"): {
        "n_layers": 7, "hidden_size": 512, "norm": "batch", "dropout": 0.5, "max_epochs": 500,
    },
    ("fsgnn", "cora"): {
        "n_hops": 3, "hidden_size": 64, "dropout": 0.6, "learning_rate": 0.01,
        "weight_decay": 1e-3, "filter_learning_rate": 0.01, "filter_weight_decay": 0.1,
        "patience": 100, "monitor": "loss", "max_epochs": 1500,
    },
    ("acm-gcn", "squirrel"): {
        "learning_rate": 0.002, "structure": True, "weight_decay": 1e-4, "dropout": 0.6,
        "hidden_size": 64, "patience": 200, "max_epochs": 5000,
    },
    ("glognn", "cora"): {
        "learning_rate": 0.01, "dropout": 0.8, "weight_decay": 1e-5, "alpha": 77.0,
        "beta": 1000.0, "gamma": 0.8, "delta": 0.9, "n_layers": 2, "n_hops": 6, "patience": 40,
        "monitor": "loss",
    },
    # Their line says delta = 1; see what the system says of it.
    ("glognn", "squirrel"): {
        "learning_rate": 0.01, "dropout": 0.8, "weight_decay": 5e-5, "alpha": 0.0, "beta": 1.0,
        "gamma": 0.0, "delta": 0.0, "n_layers": 2, "n_hops": 1, "patience": 200,
        "monitor": "accuracy",
    },
}  # fmt: skip


@pytest.mark.parametrize(("name", "dataset"), LINES)
def test_system_is_trained_as_its_authors_do(name: str, dataset: str) -> None:
    settings = get_system(name).for_dataset(dataset).settings()
    line = LINES[name, dataset]
    assert {key: settings[key] for key in line} == line


def test_gpr_gnn_starts_as_pagerank() -> None:
    network = get_system("gpr-gnn").build(make_csbm(20, mean_degree=3, n_features=4), 0)
    assert isinstance(network, FilterNetwork)
    assert isinstance(network.filter, HorizontalFilter)
    torch.testing.assert_close(network.filter.coefficients(), PageRankFilter(10, 0.1).weights())
    # Reproduce_GPRGNN.sh: its alpha on Chameleon is 1.
    weights = get_system("gpr-gnn-authors").for_dataset("chameleon").settings()["init"]
    assert weights == (1.0, *[0.0] * 10)


def test_authors_is_said_only_where_every_number_is_theirs() -> None:
    assert {name for name, system in SYSTEMS.items() if system.setting == "authors"} == {
        "gcnii-loss", "gcnii-star", "gcn-authors", "gat-authors", "gpr-gnn-authors", "sgf-authors",
        "sgf-cheby-authors", "sgf-cheby-authors-1.5",
    }  # fmt: skip


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=lambda system: system.name)
def test_what_authors_change_is_for_registered_datasets(system: System) -> None:
    for name in system.datasets:
        assert describe(name).name == name


def test_settings_are_not_looked_up_by_the_name_of_a_graph() -> None:
    """A user's file that happens to be called texas.csv is not Texas."""
    graph = make_csbm(20, mean_degree=3, n_features=4).replace(name="texas")
    network = get_system("gcnii-authors").build(graph, 0)
    assert network.config == get_system("gcnii-authors").model

"""Every number of the systems in their authors' own setting, where each was found.

The files named are those of the authors' repositories; a change to a number here needs a source.
"""

from __future__ import annotations

from typing import Any

import pytest

from graphfilter.systems import SYSTEMS, get_system
from graphfilter_research.peers.author_systems import AUTHOR_SYSTEMS

# Learning rate, weight decay, filter's learning rate and decay, monitor, limit of epochs, patience.
TRAINED: dict[str, tuple[float, float, float, float, str, int, int]] = {
    # chennnM/GCNII, full-supervised.py: validation loss, patience 100.
    "gcnii-authors": (0.01, 1e-4, 0.01, 5e-4, "accuracy", 1500, 200),
    "gcnii-loss": (0.01, 1e-4, 0.01, 5e-4, "loss", 1500, 100),
    "gcnii-star": (0.01, 1e-4, 0.01, 5e-4, "loss", 1500, 100),
    # tkipf/gcn, train.py: 200 epochs, stops by the last 10 validation losses.
    "gcn-authors": (0.01, 5e-4, 0.01, 5e-4, "loss", 200, 10),
    # PetarV-/GAT, execute_cora.py.
    "gat-authors": (0.005, 5e-4, 0.01, 5e-4, "loss", 100_000, 100),
    # Geom-GCN: NewTableThree*_runs.txt and the defaults of train_*.py.
    "gcn-pei": (0.05, 5e-6, 0.01, 5e-4, "loss", 5000, 100),
    "gcn-pei-directed": (0.05, 5e-6, 0.01, 5e-4, "loss", 5000, 100),
    "gat-pei": (0.05, 5e-6, 0.01, 5e-4, "loss", 5000, 100),
    "geom-gcn": (0.05, 5e-6, 0.01, 5e-4, "loss", 5000, 100),
    "geom-gcn-p": (0.05, 5e-6, 0.01, 5e-4, "loss", 5000, 100),
    "geom-gcn-s": (0.05, 5e-6, 0.01, 5e-4, "loss", 5000, 100),
    # jianhao2016/GPRGNN, train_model.py.
    "gpr-gnn-authors": (0.01, 5e-4, 0.01, 0.0, "loss", 1000, 200),
    # divelab/Non-Local-GNN, longrange.sh; they stop on accuracy after half of 3000 epochs.
    "nlmlp": (0.05, 5e-4, 0.01, 5e-4, "accuracy", 3000, 200),
    # gear/sgf, train_sgf.py, train_sgfs.py, train_cheb.py: validation loss, patience 100.
    "sgf-authors": (0.0025, 5e-4, 0.01, 5e-4, "loss", 1500, 100),
    "sgf-horizontal-authors": (0.0025, 5e-4, 0.01, 5e-4, "loss", 1500, 100),
    "sgf-cheby-authors": (0.0025, 5e-4, 0.01, 5e-4, "loss", 1500, 100),
    "sgf-cheby-authors-1.5": (0.0025, 5e-4, 0.01, 5e-4, "loss", 1500, 100),
    # Cited by the paper, run in the loop of the others.
    "graphsage": (0.01, 5e-4, 0.01, 5e-4, "accuracy", 1500, 200),
    "fastgcn": (0.01, 5e-4, 0.01, 5e-4, "accuracy", 1500, 200),
    "gfnn": (0.01, 5e-4, 0.01, 5e-4, "accuracy", 1500, 200),
    "glp": (0.01, 5e-4, 0.01, 5e-4, "accuracy", 1500, 200),
}
GCNII = {"dropout": 0.5, "n_layers": 64, "hidden_size": 64, "alpha": 0.5, "theta": 0.5}
SGF = {"dropout": 0.7, "hidden_size": 64, "activation": "relu", "filter_on": "hidden",
       "encoder_layers": 1}  # fmt: skip
CHEBY = {**SGF, "dropout_on": "linear", "n_terms": 16, "init": 0.5}
GEOM = {"dropout": 0.5, "hidden_size": 16}
PPR = (0.1, 0.09, 0.081, 0.0729, 0.06561, 0.059049, 0.0531441, 0.04782969, 0.043046721,
       0.0387420489, 0.3486784401)  # fmt: skip
MODELS: dict[str, dict[str, Any]] = {
    "gcnii-authors": GCNII,
    "gcnii-loss": GCNII,
    "gcnii-star": GCNII,
    "gcn-authors": {"dropout": 0.5, "hidden_size": 16, "n_layers": 2},
    "gat-authors": {"dropout": 0.6, "hidden_size": 8, "n_heads": 8, "n_out_heads": 1},
    "gcn-pei": {"dropout": 0.5, "hidden_size": 16, "n_layers": 2},
    "gcn-pei-directed": {"dropout": 0.5, "hidden_size": 16},
    "gat-pei": {"dropout": 0.5, "hidden_size": 8, "n_heads": 8},
    "geom-gcn": {**GEOM, "embedding": "isomap"},
    "geom-gcn-p": {**GEOM, "embedding": "poincare"},
    "geom-gcn-s": {**GEOM, "embedding": "structure"},
    "gpr-gnn-authors": {
        "dropout": 0.5, "hidden_size": 64, "logit_dropout": 0.5, "degree": 10,
        "init": pytest.approx(PPR),
    },
    "nlmlp": {"dropout": 0.5, "hidden_size": 48, "kernel_size": 5, "local": "mlp"},
    "sgf-authors": {**SGF, "dropout_on": "every_layer", "n_layers": 16, "init": 0.5},
    "sgf-horizontal-authors": {
        **SGF, "dropout_on": "every_layer", "degree": 16, "init": (1.0, *[0.0] * 16),
    },
    "sgf-cheby-authors": {**CHEBY, "lambda_max": 2.0},
    "sgf-cheby-authors-1.5": {**CHEBY, "lambda_max": 1.5},
    "graphsage": {"dropout": 0.5, "hidden_size": 64},
    "fastgcn": {"dropout": 0.0, "hidden_size": 16, "n_sampled": 400},
    "gfnn": {"dropout": 0.5, "hidden_size": 32, "k": 2},
    "glp": {"dropout": 0.5, "hidden_size": 16, "alpha": 1 / 11, "tolerance": 1e-12},
}  # fmt: skip
AUTHORS = {
    "gcnii-loss", "gcnii-star", "gcn-authors", "gat-authors", "gpr-gnn-authors", "sgf-authors",
    "sgf-cheby-authors", "sgf-cheby-authors-1.5",
}  # fmt: skip

# chennnM/GCNII, full.sh: layers, alpha, theta (their lamda), weight decay.
GCNII_BY_DATASET = {
    "cora": (64, 0.2, 0.5, 1e-4),
    "citeseer": (64, 0.5, 0.5, 5e-6),
    "pubmed": (64, 0.1, 0.5, 5e-6),
    "chameleon": (8, 0.2, 1.5, 5e-4),
    "cornell": (16, 0.5, 1.0, 1e-3),
    "cornell_geomgcn": (16, 0.5, 1.0, 1e-3),
    "texas": (32, 0.5, 1.5, 1e-4),
    "wisconsin": (16, 0.5, 1.0, 5e-4),
}
# Geom-GCN, NewTableThreeGCN_runs.txt: hidden units, weight decay.
PEI_BY_DATASET = {
    "pubmed": (64, 5e-6),
    "chameleon": (48, 5e-6),
    "squirrel": (48, 5e-6),
    "actor": (32, 5e-6),
    "cornell": (32, 5e-5),
    "cornell_geomgcn": (32, 5e-5),
    "texas": (32, 5e-5),
    "wisconsin": (32, 5e-5),
}
# jianhao2016/GPRGNN, Reproduce_GPRGNN.sh: learning rate, alpha, weight decay, dprate.
CHIEN_BY_DATASET = {
    "cora": (0.01, 0.1, 5e-4, 0.5),
    "citeseer": (0.01, 0.1, 5e-4, 0.5),
    "pubmed": (0.05, 0.2, 5e-4, 0.5),
    "computers": (0.05, 0.5, 0.0, 0.5),
    "computers_lcc": (0.05, 0.5, 0.0, 0.5),
    "photo": (0.01, 0.5, 0.0, 0.5),
    "photo_lcc": (0.01, 0.5, 0.0, 0.5),
    "chameleon": (0.05, 1.0, 0.0, 0.7),
    "squirrel": (0.05, 0.0, 0.0, 0.7),
    "actor": (0.01, 0.9, 0.0, 0.5),
    "texas": (0.05, 1.0, 5e-4, 0.5),
    "cornell": (0.05, 0.9, 5e-4, 0.5),
    "cornell_geomgcn": (0.05, 0.9, 5e-4, 0.5),
}


def test_author_settings_cover_every_such_system() -> None:
    assert set(TRAINED) == set(MODELS) == {system.name for system in AUTHOR_SYSTEMS}


@pytest.mark.parametrize("name", TRAINED)
def test_author_system_has_its_numbers(name: str) -> None:
    system = get_system(name)
    names = ("learning_rate", "weight_decay", "filter_learning_rate", "filter_weight_decay",
             "monitor", "max_epochs", "patience")  # fmt: skip
    trained = dict(zip(names, TRAINED[name], strict=True))
    assert system.describe_training() == trained
    operator = "laplacian" if "cheby" in name else "augmented_adjacency"
    expected = {"operator": operator, "patience_share": 0.0, **trained, **MODELS[name]}
    assert system.settings() == expected


def test_authors_is_said_only_where_every_number_is_theirs() -> None:
    assert {name for name, system in SYSTEMS.items() if system.setting == "authors"} == AUTHORS


@pytest.mark.parametrize("name", ["gcnii-authors", "gcnii-loss", "gcnii-star"])
def test_gcnii_is_set_by_dataset(name: str) -> None:
    found = by_dataset(name, ("n_layers", "alpha", "theta", "weight_decay"))
    assert found == GCNII_BY_DATASET


@pytest.mark.parametrize("name", ["gcn-pei", "gat-pei", "geom-gcn", "geom-gcn-p", "geom-gcn-s"])
def test_pei_et_al_set_by_dataset(name: str) -> None:
    expected = dict(PEI_BY_DATASET)
    if name == "gat-pei":
        del expected["pubmed"]
    assert by_dataset(name, ("hidden_size", "weight_decay")) == expected


def test_gpr_gnn_authors_set_by_dataset() -> None:
    names = ("learning_rate", "filter_learning_rate", "init", "weight_decay", "logit_dropout")
    for name, (rate, own, init, *others) in by_dataset("gpr-gnn-authors", names).items():
        given, alpha, *expected = CHIEN_BY_DATASET[name]
        assert rate == own == given
        # The first and the last weight of personalised PageRank with this alpha.
        assert (init[0], init[-1]) == pytest.approx((alpha, (1 - alpha) ** 10))
        assert others == expected
    assert set(get_system("gpr-gnn-authors").datasets) == set(CHIEN_BY_DATASET)


def test_nlmlp_is_set_by_dataset() -> None:
    assert by_dataset("nlmlp", ("learning_rate", "weight_decay", "kernel_size")) == {
        "texas": (0.05, 5e-4, 5),
        "wisconsin": (0.05, 5e-4, 3),
        "cornell": (0.05, 5e-5, 3),
        "cornell_geomgcn": (0.05, 5e-5, 3),
    }


def test_gat_authors_set_pubmed() -> None:
    found = by_dataset("gat-authors", ("n_out_heads", "learning_rate", "weight_decay"))
    assert found == {"pubmed": (8, 0.01, 1e-3)}


def by_dataset(name: str, keys: tuple[str, ...]) -> dict[str, tuple[Any, ...]]:
    system = get_system(name)
    settings = {d: system.for_dataset(d).settings() for d in system.datasets}
    return {d: tuple(found[key] for key in keys) for d, found in settings.items()}

"""What every system is and how it is trained, written out, so that no setting changes unnoticed.

The results on record were made in these settings; a change to one belongs in the changelog.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from graphfilter.systems import SYSTEMS, get_system
from graphfilter.systems.committees import COMMITTEES
from graphfilter_research.peers.author_systems import AUTHOR_SYSTEMS
from graphfilter_research.peers.later_systems import LATER_SYSTEMS

# learning rate, weight decay; the filter's learning rate, its weight decay
SGF = (0.0025, 5e-4, 0.01, 5e-4)  # the paper, section 5: one setting for every graph
OTHERS = (0.01, 5e-4, 0.01, 5e-4)  # the paper, appendix "Other methods"; Kipf & Welling 2017
APPNP = (0.02, 5e-4, 0.01, 5e-4)  # the paper, appendix "Other methods"
GAT = (0.005, 5e-4, 0.01, 5e-4)  # Veličković et al. 2018, section 3.3

SETTINGS = {
    "sgf": SGF,
    "sgf-channels": SGF,
    "mlp": SGF,
    "sgf-laplacian": SGF,
    "sgf-horizontal": SGF,
    "sgf-cheby": SGF,
    "sgf-cheby-1.5": SGF,
    "sgf-every-layer": SGF,
    "sgf-random": SGF,
    "sgc": OTHERS,
    "appnp-0.2": APPNP,
    "appnp-0.8": APPNP,
    "appnp": OTHERS,  # Klicpera et al. 2019: 0.01; the decay is that of the other systems
    "ppnp": OTHERS,
    "gpr-gnn": (0.01, 5e-4, 0.01, 0.0),  # Chien et al. 2021: the filter is not decayed
    "gcn": OTHERS,
    "gat": GAT,
    "gcnii": (0.01, 1e-4, 0.01, 5e-4),  # Chen et al. 2020
    "jknet-dropedge": GAT,
    "mixhop": OTHERS,
    "arma": OTHERS,
    "chebnet": OTHERS,
    "linkx": (0.002, 1e-5, 0.01, 5e-4),  # Lim et al. 2021: a setting of linkx_tuning.sh
    "ap-gcn": (0.01, 8e-3, 0.01, 5e-4),  # Spinelli et al. 2020
    "lanczosnet": OTHERS,
    "graphsaint": OTHERS,
    "hop-mlp": OTHERS,
    "nlgnn": OTHERS,
}
# Epochs; of batches, which are many steps each, fewer.
PATIENCE = {"hop-mlp": 50}

AUGMENTED, ADJACENCY, LAPLACIAN = "augmented_adjacency", "adjacency", "laplacian"

# The paper, section 5 and its appendix: the same network around every filter.
HIDDEN: dict[str, Any] = {
    "dropout": 0.7, "hidden_size": 64, "activation": "relu", "dropout_on": "linear",
    "filter_on": "hidden",
    "encoder_layers": 1,
}  # fmt: skip
LOGITS = {**HIDDEN, "filter_on": "logits"}
# Klicpera et al. 2019 and Chien et al. 2021 drop half.
HALF = {**LOGITS, "dropout": 0.5}
CHEBYSHEV = {"degree": 16, "lambda_min": 0.0, "init": 0.5}
GPR_START = (0.1, 0.09, 0.081, 0.0729, 0.06561, 0.059049, 0.0531441, 0.04782969, 0.043046721,
             0.0387420489, 0.3486784401)  # fmt: skip
GCNII = {"dropout": 0.5, "n_layers": 64, "hidden_size": 64, "alpha": 0.5, "theta": 0.5}

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "sgf": (AUGMENTED, {**HIDDEN, "n_layers": 16, "init": 0.5}),
    "sgf-channels": (
        "channels",
        {"dropout": 0.7, "hidden_size": 64, "n_layers": 16, "init": 0.5},
    ),
    "mlp": (AUGMENTED, HIDDEN),
    "sgf-laplacian": (LAPLACIAN, {**HIDDEN, "n_layers": 16, "init": 0.5}),
    "sgf-horizontal": (AUGMENTED, {**HIDDEN, "degree": 16, "init": 0.5}),
    "sgf-cheby": (LAPLACIAN, {**HIDDEN, **CHEBYSHEV, "lambda_max": 2.0}),
    "sgf-cheby-1.5": (LAPLACIAN, {**HIDDEN, **CHEBYSHEV, "lambda_max": 1.5}),
    "sgf-every-layer": (
        AUGMENTED,
        {**HIDDEN, "dropout_on": "every_layer", "n_layers": 16, "init": 0.5},
    ),
    "sgf-random": (AUGMENTED, {**HIDDEN, "n_layers": 16, "init": "uniform"}),
    "sgc": (AUGMENTED, {**LOGITS, "hidden_size": None, "k": 2}),
    "appnp-0.2": (AUGMENTED, {**LOGITS, "K": 2, "alpha": 0.2}),
    "appnp-0.8": (AUGMENTED, {**LOGITS, "K": 2, "alpha": 0.8}),
    "appnp": (AUGMENTED, {**HALF, "K": 10, "alpha": 0.1}),
    "ppnp": (AUGMENTED, {**HALF, "alpha": 0.1, "tolerance": 1e-12}),
    "gpr-gnn": (AUGMENTED, {**HALF, "degree": 10, "init": pytest.approx(GPR_START)}),
    "gcn": (AUGMENTED, {"dropout": 0.5, "hidden_size": 16, "n_layers": 2}),
    "gat": (AUGMENTED, {"dropout": 0.6, "hidden_size": 8, "n_heads": 8}),
    "gcnii": (AUGMENTED, GCNII),
    "jknet-dropedge": (
        AUGMENTED,
        {"dropout": 0.5, "n_layers": 6, "hidden_size": 32, "drop_edge": 0.5},
    ),
    "mixhop": (AUGMENTED, {"dropout": 0.5, "hidden_size": 20, "n_layers": 2}),
    "arma": (
        ADJACENCY,
        {"dropout": 0.5, "hidden_size": 16, "n_stacks": 2, "n_steps": 1, "skip_dropout": 0.75},
    ),
    "chebnet": (LAPLACIAN, {"dropout": 0.5, "hidden_size": 16, "n_terms": 3}),
    "linkx": (ADJACENCY, {"dropout": 0.5, "hidden_size": 256, "n_layers": 1}),
    "ap-gcn": (AUGMENTED, {"dropout": 0.5, "hidden_size": 64, "max_steps": 10, "cost": 0.005}),
    "lanczosnet": (
        AUGMENTED,
        {
            "dropout": 0.5, "short": (1, 2, 3), "long": (5, 7, 10, 20, 30), "n_vectors": 20,
            "hidden_size": 64, "n_layers": 2,
        },
    ),
    "graphsaint": (
        AUGMENTED,
        {
            "dropout": 0.5, "n_roots": None, "walk_length": 2, "n_samples": 50,
            "hidden_size": 64, "n_layers": 2,
        },
    ),
    "hop-mlp": (AUGMENTED, {"dropout": 0.5, "n_hops": 4, "hidden_size": 64, "batch_size": 512}),
    "nlgnn": (AUGMENTED, {"dropout": 0.5, "hidden_size": 48, "kernel_size": 5, "local": "gcn"}),
}  # fmt: skip


def test_settings_cover_every_trained_system() -> None:
    """Those in their authors' own setting stand in the tests of author and later settings."""
    apart = {s.name for s in (*COMMITTEES, *AUTHOR_SYSTEMS, *LATER_SYSTEMS)}
    apart.add("label-propagation")
    assert set(SETTINGS) == set(MODELS) == set(SYSTEMS) - apart


@pytest.mark.parametrize("name", SETTINGS)
def test_system_is_trained_in_its_setting(name: str) -> None:
    learning_rate, weight_decay, filter_learning_rate, filter_weight_decay = SETTINGS[name]
    assert get_system(name).describe_training() == {
        "max_epochs": 1500,
        "patience": PATIENCE.get(name, 200),
        "monitor": "accuracy",
        "learning_rate": learning_rate,
        "weight_decay": weight_decay,
        "filter_learning_rate": filter_learning_rate,
        "filter_weight_decay": filter_weight_decay,
    }


@pytest.mark.parametrize("name", MODELS)
def test_system_has_its_model_and_operator(name: str) -> None:
    system = get_system(name)
    operator, model = MODELS[name]
    expected = {"operator": operator, **asdict(system.config), **model}
    assert system.settings() == expected

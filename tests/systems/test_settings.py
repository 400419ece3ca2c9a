"""How every system is trained, written out, so that no setting changes unnoticed.

The results on record were made in these settings; a change to one belongs in the changelog.
"""

from __future__ import annotations

from dataclasses import asdict

import pytest

from graphfilter.systems import SYSTEMS, get_system

# learning rate, weight decay; the filter's learning rate, its weight decay
SGF = (0.0025, 5e-4, 0.01, 5e-4)  # the paper, section 5: one setting for every graph
OTHERS = (0.01, 5e-4, 0.01, 5e-4)  # the paper, appendix "Other methods"; Kipf & Welling 2017
APPNP = (0.02, 5e-4, 0.01, 5e-4)  # the paper, appendix "Other methods"
GAT = (0.005, 5e-4, 0.01, 5e-4)  # Veličković et al. 2018, section 3.3

SETTINGS = {
    "sgf": SGF,
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
    "gcnii-authors": (0.01, 1e-4, 0.01, 5e-4),  # on a graph the authors did not use
    "jknet-dropedge": GAT,
    "mixhop": OTHERS,
    "arma": OTHERS,
    "chebnet": OTHERS,
    "linkx": (0.01, 1e-3, 0.01, 5e-4),  # Lim et al. 2021
    "ap-gcn": (0.01, 8e-3, 0.01, 5e-4),  # Spinelli et al. 2020
    "lanczosnet": OTHERS,
    "graphsaint": OTHERS,
    "nlgnn": OTHERS,
    "geom-gcn": OTHERS,
}

# Chen et al. 2020, the fully supervised runs: weight decay by dataset.
GCNII_WEIGHT_DECAY = {
    "cora": 1e-4,
    "citeseer": 5e-6,
    "pubmed": 5e-6,
    "chameleon": 5e-4,
    "cornell": 1e-3,
    "cornell_geomgcn": 1e-3,
    "texas": 1e-4,
    "wisconsin": 5e-4,
}


def test_settings_cover_every_trained_system() -> None:
    assert set(SETTINGS) == set(SYSTEMS) - {"label-propagation"}


@pytest.mark.parametrize("name", SETTINGS)
def test_system_is_trained_in_its_setting(name: str) -> None:
    learning_rate, weight_decay, filter_learning_rate, filter_weight_decay = SETTINGS[name]
    assert asdict(get_system(name).config) == {
        "max_epochs": 1500,
        "patience": 200,
        "monitor": "accuracy",
        "learning_rate": learning_rate,
        "weight_decay": weight_decay,
        "filter_learning_rate": filter_learning_rate,
        "filter_weight_decay": filter_weight_decay,
    }


def test_gcnii_authors_decay_weights_by_dataset() -> None:
    system = get_system("gcnii-authors")
    configs = {name: system.for_dataset(name).config for name in system.datasets}
    assert {name: config.weight_decay for name, config in configs.items()} == GCNII_WEIGHT_DECAY
    assert {config.learning_rate for config in configs.values()} == {0.01}

"""What can be reproduced, in the paper's order. A new table or figure is added to the list below.

A file of this folder declares it as its ``TARGET``.
"""

from __future__ import annotations

from graphfilter_research.paper import (
    accuracy_table,
    answers,
    appendix_search,
    committee_table,
    confirm,
    figure2,
    figure3,
    figures1_5,
    figures6_7,
    filter_dynamics,
    last_epoch,
    peer_table,
    settings,
    share_table,
    table1,
    table4,
    table5,
)
from graphfilter_research.paper.target import Target

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        table1.TARGET,
        figures6_7.TARGET,
        figures1_5.TARGET,
        accuracy_table.TARGET_2,
        accuracy_table.TARGET_3,
        last_epoch.TARGET,
        settings.THETA_TARGET,
        figure2.TARGET,
        figure3.TARGET,
        figure3.SEEDS_TARGET,
        filter_dynamics.TARGET_4,
        table4.TARGET,
        table5.TARGET,
        filter_dynamics.TARGET_8,
        appendix_search.TARGET,
        settings.TARGET,
        answers.TARGET,
        committee_table.TARGET,
        peer_table.TARGET,
        share_table.FEW_LABELS_TARGET,
        share_table.NEW_VERTICES_TARGET,
        confirm.CONFIRM,
        confirm.FOUNDATION,
    )
}

"""What can be reproduced, in the paper's order. A new table or figure is added to the list below.

A file of this folder declares it as its ``TARGET``.
"""

from __future__ import annotations

from graphfilter_research.paper import (
    answers,
    appendix_search,
    committee_table,
    figure2,
    figure3,
    figure3_seeds,
    figure4,
    figure8,
    figures1_5,
    figures6_7,
    label_efficiency,
    last_epoch,
    new_vertices,
    peer_table,
    settings,
    table1,
    table2,
    table3,
    table4,
    table5,
    theta,
)

TARGETS = {
    module.TARGET.name: module.TARGET
    for module in (
        table1,
        figures6_7,
        figures1_5,
        table2,
        table3,
        last_epoch,
        theta,
        figure2,
        figure3,
        figure3_seeds,
        figure4,
        table4,
        table5,
        figure8,
        appendix_search,
        settings,
        answers,
        committee_table,
        peer_table,
        label_efficiency,
        new_vertices,
    )
}

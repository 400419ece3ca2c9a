"""
What the graph needed
=====================

A committee trains members that each see the graph in another way and weighs them on validation
vertices. Its weights say what carried the answer.
"""

import matplotlib.pyplot as plt

import graphfilter as gf

EPOCHS = 100

graphs = {
    "neighbours agree": gf.data.make_csbm(n_vertices=500, frequency=0.4, seed=0),
    "neighbours say nothing": gf.data.make_csbm(n_vertices=500, frequency=1.0, seed=0),
}

figure, axes = plt.subplots(1, 2, figsize=(9, 2.6), sharex=True, layout="constrained")
for ax, (title, graph) in zip(axes, graphs.items(), strict=True):
    committee = gf.GraphClassifier(effort="low", max_epochs=EPOCHS, random_state=0)
    committee.fit(graph=graph)
    shares = dict(sorted(committee.weights_.items()))
    ax.barh(list(shares), [100 * share for share in shares.values()])
    ax.set(title=title, xlabel="share of the answers in %")
plt.show()

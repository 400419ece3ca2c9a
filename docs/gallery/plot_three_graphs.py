"""
One setting, three kinds of graph
=================================

The same network, trained in the same setting, learns a low-pass filter where neighbours agree, a
flat one where they say nothing and a high-pass one where they disagree.
"""

import matplotlib.pyplot as plt

import graphfilter as gf

EPOCHS = 200

graphs = {
    "neighbours agree": gf.data.make_digits(),
    "neighbours say nothing": gf.data.make_csbm(n_vertices=1000, frequency=1.0, seed=0),
    "neighbours disagree": gf.data.make_bipartite(n_side=500, probability=0.03, seed=0),
}

# %%
# ``plot_filter`` draws the learned response and where the labels lie.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
for ax, (title, graph) in zip(axes, graphs.items(), strict=True):
    clf = gf.SGFClassifier(max_epochs=EPOCHS, random_state=0).fit(graph=graph)
    clf.plot_filter(ax)
    ax.set(title=title, xlabel="graph frequency")
    ax.get_legend().set_visible(ax is axes[1])
plt.show()

# %%
# The filter is large where the labels are. Its scale and sign do not matter: the layer after it
# undoes them.

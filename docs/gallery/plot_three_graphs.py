"""
One setting, three kinds of graph
=================================

The same network, trained in the same setting, learns a low-pass filter where neighbours agree, a
flat one where they say nothing and a high-pass one where they disagree.
"""

import matplotlib.pyplot as plt
import numpy as np

import graphfilter as gf

EPOCHS = 200

graphs = {
    "neighbours agree": gf.data.make_digits(),
    "neighbours say nothing": gf.data.make_csbm(n_vertices=1000, frequency=1.0, seed=0),
    "neighbours disagree": gf.data.make_bipartite(n_side=500, probability=0.03, seed=0),
}

# %%
# Frequency runs from 0 to 2; the operator's eigenvalue is 1 minus it. Only the size of the response
# counts, so each curve is drawn as a share of its largest value.

frequencies = np.linspace(0, 2, 101)
figure, axes = plt.subplots(1, 3, figsize=(10, 3), sharey=True, layout="constrained")
for ax, (title, graph) in zip(axes, graphs.items(), strict=True):
    clf = gf.SGFClassifier(max_epochs=EPOCHS, random_state=0).fit(graph=graph)
    response = np.abs(clf.filter_.response(1 - frequencies))
    ax.plot(frequencies, response / response.max(), linewidth=3)
    ax.axvline(gf.spectral.label_frequency(graph).mean(), color="tab:orange", linestyle=":")
    ax.set(title=title, xlabel="graph frequency", ylim=(0, 1.05))
axes[0].set_ylabel("size of the response")
plt.show()

# %%
# The dotted line is the mean frequency of the labels: the filter is large where they are.

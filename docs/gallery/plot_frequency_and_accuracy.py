"""
Accuracy over the label frequency
=================================

A fixed low-pass filter is best where neighbours agree and fails where they disagree. A network
without the graph does not care. The learned filter follows the better of the two, and uses
disagreement as well as agreement.
"""

import matplotlib.pyplot as plt
import numpy as np

import graphfilter as gf

EPOCHS = 100
FREQUENCIES = (0.3, 0.6, 1.0, 1.4, 1.7)

# %%
# Random graphs whose labels have a given frequency; everything else is the same.

systems = {"sgf": "learned filter", "appnp": "fixed low-pass", "mlp": "no graph"}
accuracy = {name: [] for name in systems}
for frequency in FREQUENCIES:
    graph = gf.data.make_csbm(n_vertices=600, frequency=frequency, seed=0)
    split = gf.splits.stratified(graph.labels, seed=0)
    for name in systems:
        clf = gf.SystemClassifier(model=name, max_epochs=EPOCHS, random_state=0)
        clf.fit(graph=graph, split=split)
        right = clf.predict()[split.test] == graph.classes[graph.labels[split.test]]
        accuracy[name].append(right.mean())

# %%

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for marker, (name, title) in zip("os^", systems.items(), strict=True):
    ax.plot(FREQUENCIES, 100 * np.array(accuracy[name]), marker=marker, label=title)
ax.set(xlabel="label frequency", ylabel="test accuracy in %")
ax.legend()
plt.show()

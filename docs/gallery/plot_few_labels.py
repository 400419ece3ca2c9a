"""
Few labels
==========

The fewer labels there are, the more a graph helps: handwritten digits, joined to the most similar
ones, with and without their graph.
"""

import matplotlib.pyplot as plt
import numpy as np

import graphfilter as gf

EPOCHS = 120
SHARES = (0.01, 0.02, 0.05, 0.1)

graph = gf.data.make_digits()
accuracy = {"sgf": [], "mlp": []}
for share in SHARES:
    split = gf.splits.few(graph.labels, seed=0, share=share)
    for name, values in accuracy.items():
        clf = gf.SystemClassifier(model=name, max_epochs=EPOCHS, random_state=0)
        clf.fit(graph=graph, split=split)
        right = clf.predict()[split.test] == graph.classes[graph.labels[split.test]]
        values.append(right.mean())

# %%

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
titles = {"sgf": "with the graph", "mlp": "features alone"}
for marker, (name, title) in zip("o^", titles.items(), strict=True):
    ax.semilogx(SHARES, 100 * np.array(accuracy[name]), marker=marker, label=title)
ax.set_xticks(SHARES, [f"{share:.0%}" for share in SHARES])
ax.minorticks_off()
ax.set(xlabel="share of the vertices that is labelled", ylabel="test accuracy in %")
ax.legend()
plt.show()

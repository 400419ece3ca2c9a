"""
Watch a filter being learned
============================

The stacked filter has two scalars per layer, α and β. On a bipartite graph, where neighbours always
disagree, this is how they move from their start to a high-pass filter.
"""

import matplotlib.pyplot as plt
import numpy as np

import graphfilter as gf

EPOCHS = 150

graph = gf.data.make_bipartite(n_side=300, probability=0.05, seed=0)

# %%
# Where the graph has frequencies, and where its labels have their energy: all of it at the far end.

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
gf.spectral.plot_spectrum(graph, ax)
plt.show()

# %%
# Every scalar by epoch: red above 0, blue below.

clf = gf.SGFClassifier(max_epochs=EPOCHS, random_state=0).fit(graph=graph)
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
scalars = np.hstack([clf.history_["alpha"], clf.history_["beta"]]).T
ax.imshow(scalars, aspect="auto", cmap="RdBu_r", vmin=-abs(scalars).max(), vmax=abs(scalars).max())
ax.set(xlabel="epoch", ylabel="α of each layer, then β")
plt.show()

# %%
# And the response before training and at the end.

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
gf.plot.response(gf.filters.StackedFilter(), ax, label="before training")
gf.plot.response(clf.filter_, ax, label="learned")
ax.legend()
plt.show()

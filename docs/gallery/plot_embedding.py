"""
An embedding of every vertex
============================

``transform`` gives the filtered hidden layer: numbers per vertex for clustering, search or another
model. Here two principal components of it, for handwritten digits of which one in ten is labelled.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

import graphfilter as gf

EPOCHS = 120

graph = gf.data.make_digits()
y = np.where(np.arange(graph.n_vertices) % 10 == 0, graph.labels, -1)
clf = gf.SGFClassifier(max_epochs=EPOCHS, random_state=0)
clf.fit(graph.features, y, graph=graph.edges)
places = PCA(2, random_state=0).fit_transform(clf.transform())

# %%
# The colours are the true digits, which nine in ten of the points did not show in training.

figure, ax = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
dots = ax.scatter(*places.T, c=graph.labels, cmap="tab10", s=6)
ax.legend(*dots.legend_elements(), title="digit", loc=6, bbox_to_anchor=(1, 0.5))
ax.set(xticks=[], yticks=[], title="the filtered hidden layer, in two dimensions")
plt.show()

import numpy as np

import graphfilter as gf

g = gf.load_dataset("digits")  # 1,797 scans, each joined to similar ones
names = g.classes[g.labels]
hidden = np.arange(g.n_vertices) % 2 == 0  # half of the labels are unknown
clf = gf.SGFClassifier(random_state=0)
clf.fit(g.features, np.where(hidden, None, names), graph=g.edges)
print(f"{(clf.predict()[hidden] == names[hidden]).mean():.1%} of the hidden labels are right")
print(clf.explain(33).sentence)

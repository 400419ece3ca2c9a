import graphfilter as gf

g = gf.load_dataset("digits")  # 1,797 scans, each joined to similar ones
truth = g.classes[g.labels]
y = truth.astype(object)
y[::2] = None  # half of the labels are unknown
clf = gf.SGFClassifier(random_state=0).fit(g.features, y, graph=g.edges)
print(f"{(clf.predict() == truth)[::2].mean():.1%} of the hidden labels are right")
print(clf.explain(33).sentence)

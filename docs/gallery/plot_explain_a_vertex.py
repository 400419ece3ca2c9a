"""
Why is this vertex labelled so?
===============================

The score of a vertex, the log-odds of its class, is divided exactly into what its own features, its
neighbours by distance and its position in the graph contribute.
"""

import matplotlib.pyplot as plt

import graphfilter as gf

EPOCHS = 200

club = gf.load_dataset("karate")
clf = gf.SGFClassifier(max_epochs=EPOCHS, random_state=0).fit(graph=club)
why = clf.explain(33)
print(why.sentence)

# %%
# What the vertices at each distance add, its place and what every vertex starts from: together they
# are the score.

shares = {f"features, {step.name}": step.contribution for step in why.steps}
shares |= {"its position": why.structure, "start of every vertex": why.base}
colours = ["tab:blue" if share > 0 else "tab:orange" for share in shares.values()]
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.barh(list(shares), list(shares.values()), color=colours)
ax.invert_yaxis()
ax.axvline(0, color="grey", linewidth=1)
ax.set(xlabel=f"adds to the score for {why.predicted}")
plt.show()

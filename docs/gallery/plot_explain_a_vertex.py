"""
Why is this vertex labelled so?
===============================

The answer for a vertex is divided into what each of its columns and each of its neighbours adds, in
points of probability.
"""

import matplotlib.pyplot as plt

import graphfilter as gf

EPOCHS = 200

club = gf.load_dataset("karate")
clf = gf.SGFClassifier(max_epochs=EPOCHS, random_state=0).fit(graph=club)
why = clf.explain(33)
print(why.sentence)

# %%
# Where an average vertex with as many neighbours starts, and what each reason adds: together they
# are the probability.

names = [name for name, _ in why.parts]
shares = [share for _, share in why.parts]
colours = ["tab:blue" if share > 0 else "tab:orange" for share in shares]
figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
ax.barh(names, [100 * share for share in shares], color=colours)
ax.invert_yaxis()
ax.axvline(0, color="grey", linewidth=1)
ax.set(xlabel=f"points of probability for {why.predicted}")
plt.show()

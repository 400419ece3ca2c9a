"""Suggested beside drawn labels: seeds with both ways are compared, in a table and a picture."""

from __future__ import annotations

import numpy as np

import next_labels
import resumable
import write_docs


def record(dataset: str, seed: int, way: str, *accuracies: float) -> next_labels.Record:
    return {"dataset": dataset, "seed": seed, "way": way, "accuracies": list(accuracies)}


RECORDS = [
    record("cora", 0, "random", 0.5, 0.6),
    record("cora", 0, "suggest", 0.5, 0.7),
    record("cora", 1, "random", 0.3, 0.8),
    record("photo", 0, "random", 0.4, 0.6),
    record("photo", 0, "suggest", 0.4, 0.6),
    record("photo", 1, "random", 0.4, 0.6),
    record("photo", 1, "suggest", 0.4, 0.8),
]


def test_table_compares_seeds_that_have_both_ways() -> None:
    lines = next_labels.table(RECORDS).splitlines()
    assert "| cora | 1 | 0.500 | 0.600 | 0.700 | +0.100 |" in lines
    assert "| photo | 2 | 0.400 | 0.600 | 0.700 | +0.100 ± 0.100 |" in lines
    assert lines[-1] == "| mean | | | | | +0.100 |"


def test_picture_has_both_ways_of_every_dataset() -> None:
    figure = next_labels.draw(RECORDS)
    assert [axes.get_title() for axes in figure.axes] == ["cora (seeds: 1)", "photo (seeds: 2)"]
    for axes in figure.axes:
        assert [len(line[0].get_xdata()) for line in axes.containers] == [2, 2]
        assert list(axes.containers[0][0].get_xdata()) == [20, 40]


def test_the_how_to_shows_the_picture() -> None:
    name = write_docs.picture("next_labels")
    assert f"../images/{name}" in (write_docs.HOWTO / "next-label.md").read_text(encoding="utf-8")
    assert (write_docs.PAGE.parent / "images" / name).is_file()


def test_page_says_what_the_records_say_of_suggested_labels() -> None:
    """What docs/howto/next-label.md says: better everywhere, beyond two errors on two datasets."""
    last = {
        (r["dataset"], r["way"], r["seed"]): r["accuracies"][-1]
        for r in resumable.read_records(resumable.records_of("next_labels"))
    }
    certain = set()
    for name in next_labels.DATASETS:
        gains = np.array(
            [last[name, "suggest", s] - last[name, "random", s] for s in range(next_labels.N_SEEDS)]
        )
        error = gains.std(ddof=1) / len(gains) ** 0.5
        assert 0.012 < gains.mean() < 0.021
        assert gains.mean() > error
        if gains.mean() > 2 * error:
            certain.add(name)
    assert certain == {"actor", "photo"}

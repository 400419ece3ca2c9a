"""The few lines of the README, from the records that are there."""

from __future__ import annotations

from collections.abc import Iterator

import turns
from harness import Record, markdown, show_ratio, show_seconds, three_digits

HEAD = ["", "graphfilter", "peer", "peer / ours"]
DEVICES = {"cpu": "CPU", "cuda": "GPU"}


def table(records: dict[str, Record]) -> str:
    """Return one table of what was measured, ours beside the peer."""
    return markdown(HEAD, list(_rows(records)))


def _rows(records: dict[str, Record]) -> Iterator[list[str]]:
    # What a careful user would run comes first; its times are left out, being of a busy machine.
    for row in records.get("turns-cpu", {}).get("epochs", []):
        for kind in ("plain_sparse", "plain_csr", "pyg_compiled"):
            # Records made before a peer was timed do not have it.
            if (ratio := row["ratios"].get(kind)) is None:
                continue
            name = f"CPU, {row['dataset'].capitalize()}: epoch of training, turn by turn"
            yield [name, "", turns.PEERS[kind], show_ratio(ratio["median"])]
    for device, title in DEVICES.items():
        for row in records.get(f"epoch-{device}", {}).get("epochs", []):
            if row["dataset"] in ("cora", "computers"):
                name = f"{title}, {row['dataset'].capitalize()}: epoch of training"
                yield _times(name, row["ours"], row["pyg"], "PyG, gather–scatter")
    for row in records.get("layer-cuda", {}).get("rows", []):
        size = f"{records['layer-cuda']['n_entries'] / 1e6:.0f} M entries"
        name = f"GPU, {size}, {row['degrees']}, {row['storage']}: one layer"
        yield _times(name, row["ours"], row["csr_then_sum"], "cuSPARSE")
    for device, title in DEVICES.items():
        for row in records.get(f"memory-{device}", {}).get("peak_bytes", []):
            if row["K"] == 16:
                size = f"{records[f'memory-{device}']['n_vertices'] / 1e6:.1f} M vertices"
                name = f"{title}, {size}, K = 16: peak memory of a step"
                for peer, of in (("autograd", "autograd"), ("pyg", "PyG")):
                    yield _sizes(name, row["ours"], row.get(peer), of)
    if huge := records.get("huge-cuda"):
        entries = f"{huge['n_entries'] / 1e9:.1f} billion entries"
        peak = f"{three_digits(huge['peak_bytes'] / 1e9)} GB"
        name = f"GPU, {huge['n_vertices'] / 1e6:.0f} million vertices, {entries}: exact step"
        yield [name, f"{_median(huge['step'])}, {peak}", "", ""]


def _times(name: str, ours: Record, peer: Record | None, title: str) -> list[str]:
    if peer is None:
        return [name, _median(ours), "out of memory", ""]
    ratio = show_ratio(peer["median"] / ours["median"])
    return [name, _median(ours), f"{_median(peer)} ({title})", ratio]


def _sizes(name: str, ours: int, peer: int | None, title: str) -> list[str]:
    mine = f"{ours / 2**20:,.0f} MiB"
    if peer is None:
        return [name, mine, f"out of memory ({title})", ""]
    return [name, mine, f"{peer / 2**20:,.0f} MiB ({title})", show_ratio(peer / ours)]


def _median(timing: Record) -> str:
    return show_seconds(timing).partition(" (")[0]

"""The tables of three analysts, small: churn, fraud and revenue, as people have them in files.

Each maker returns the columns of the edges and of the vertices, as cells of text; ``write`` puts
them into two CSV files. What a table holds, and what is true of it, stands in the maker's
docstring, so that a test can compare an answer with it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np

Table = dict[str, list[str]]


@dataclass(frozen=True)
class AnalystTables:
    """Two tables, and the roles of their columns as options of the command line."""

    edges: Table
    vertices: Table
    options: tuple[str, ...]

    def write(self, folder: Path) -> tuple[str, ...]:
        """Write edges.csv and vertices.csv; return the options that read them, roles included."""
        folder.mkdir(parents=True, exist_ok=True)
        paths = {"edges": folder / "edges.csv", "vertices": folder / "vertices.csv"}
        for name, path in paths.items():
            table: Table = getattr(self, name)
            with path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(table)
                writer.writerows(zip(*table.values(), strict=True))
        files = [word for name, path in paths.items() for word in (f"--{name}", str(path))]
        return (*files, *self.options)


def make_churn(n: int = 240, seed: int = 0) -> AnalystTables:
    """Make customers who call each other; who churns is called by others who do.

    Vertices: customer (8 digits, leading zeros), age (some gaps), joined (dates), postcode (5
    digits, some with a leading zero), tariff (three words), complaint (several words, often the
    same sentence), churn (yes, no, or blank on a third of the rows). Edges: caller, callee, minutes
    (pairs repeat, in both directions), day (a date in 2024).
    """
    rng = np.random.default_rng(seed)
    churns = rng.random(n) < 0.4
    customer = [f"{i:08d}" for i in range(n)]
    sentences = [
        "the bill was far too high", "no signal at home again", "hotline never answers the phone",
        "wants a new handset soon", "moved to another town last month",
    ]  # fmt: skip
    ends = [f"since {word}" for word in ("march", "april", "may", "june", "july", "winter")]
    choice = rng.integers(0, len(sentences), n)
    choice[churns & (rng.random(n) < 0.6)] = 0
    vertices = {
        "customer": customer,
        "age": _with_gaps(rng.integers(18, 80, n), rng.random(n) < 0.9),
        "joined": [_day(date(2019, 1, 1), d) for d in rng.integers(0, 1500, n)],
        "postcode": [f"{p:05d}" for p in rng.choice([1067, 4109, 10115, 50667, 80331], n)],
        "tariff": rng.choice(["flat", "prepaid", "family"], n).tolist(),
        "complaint": _with_gaps(
            [f"{sentences[c]} {rng.choice(ends)}" for c in choice], rng.random(n) < 0.7
        ),
        "churn": _with_gaps(np.where(churns, "yes", "no"), rng.random(n) < 2 / 3),
    }
    pairs = _pairs_of_like(churns, 3 * n, 0.85, rng)
    again = np.concatenate([pairs, pairs[: n // 2], pairs[n // 2 : n, ::-1]])
    edges = {
        "caller": [customer[u] for u, _ in again],
        "callee": [customer[v] for _, v in again],
        "minutes": [str(m) for m in rng.integers(1, 60, len(again))],
        "day": [_day(date(2024, 1, 1), d) for d in rng.integers(0, 366, len(again))],
    }
    return AnalystTables(edges, vertices, ("--id", "customer", "--label", "churn"))


def make_fraud(n_accounts: int = 300, n_devices: int = 120, seed: int = 0) -> AnalystTables:
    """Make accounts that log in from devices; frauds (about one in eleven) share a few devices.

    The graph is bipartite, so no two accounts are adjacent. Vertices: id (A... or D...), type
    (account, device), opened and balance (accounts only), model and rooted (devices only), is_fraud
    (0, 1, or blank: on every device and on some accounts). Edges: account, device, logins,
    first_seen.
    """
    rng = np.random.default_rng(seed)
    fraud = rng.random(n_accounts) < 1 / 11
    fraud[:8] = True
    rings = max(3, n_devices // 12)
    edges: Table = {"account": [], "device": [], "logins": [], "first_seen": []}
    for account in range(n_accounts):
        low, high = (0, rings) if fraud[account] else (rings, n_devices)
        used = rng.choice(np.arange(low, high), size=2, replace=False)
        if rng.random() < 0.1:
            used[0] = rng.integers(0, n_devices)
        for device in dict.fromkeys(used.tolist()):
            edges["account"].append(f"A{account:04d}")
            edges["device"].append(f"D{device:04d}")
            edges["logins"].append(str(rng.integers(1, 30)))
            edges["first_seen"].append(_day(date(2023, 1, 1), int(rng.integers(0, 500))))
    known = rng.random(n_accounts) < 0.8
    known[:8] = True
    no_accounts, no_devices = [""] * n_accounts, [""] * n_devices
    balances = np.round(rng.lognormal(6, 1, n_accounts), 2)
    vertices = {
        "id": [f"A{i:04d}" for i in range(n_accounts)] + [f"D{i:04d}" for i in range(n_devices)],
        "type": ["account"] * n_accounts + ["device"] * n_devices,
        "opened": [_day(date(2020, 1, 1), d) for d in rng.integers(0, 1200, n_accounts)]
        + no_devices,
        "balance": [f"{b:.2f}" for b in balances] + no_devices,
        "model": no_accounts + rng.choice(["phone", "tablet", "desktop"], n_devices).tolist(),
        "rooted": no_accounts + rng.choice(["yes", "no"], n_devices, p=[0.2, 0.8]).tolist(),
        "is_fraud": _with_gaps(fraud.astype(int), known) + no_devices,
    }
    return AnalystTables(edges, vertices, ("--id", "id", "--label", "is_fraud"))


def make_revenue(n: int = 200, seed: int = 0) -> AnalystTables:
    """Make shops that supply each other; neighbours have like revenues.

    Vertices: shop, staff, region, founded (a year), revenue (amounts with a euro sign, blank on a
    fifth of the rows). Edges: seller, buyer, amount (euros; pairs repeat), weekday.
    """
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n)
    order = np.argsort(size)
    near = [
        (order[i], order[j])
        for i in range(n)
        for j in np.clip(i + rng.integers(1, 6, 3), 0, n - 1).tolist()
        if i != j
    ]
    pairs = np.array([*near, *near[: n // 2]])
    shop = [f"shop {i}" for i in range(n)]
    revenue = np.exp(10 + size + 0.1 * rng.normal(size=n))
    vertices = {
        "shop": shop,
        "staff": [str(s) for s in rng.integers(1, 40, n)],
        "region": rng.choice(["north", "south", "east", "west"], n).tolist(),
        "founded": [str(y) for y in rng.integers(1950, 2020, n)],
        "revenue": _with_gaps([f"€{r:.0f}" for r in revenue], rng.random(n) < 0.8),
    }
    edges = {
        "seller": [shop[u] for u, _ in pairs],
        "buyer": [shop[v] for _, v in pairs],
        "amount": [f"{a:.2f}" for a in rng.lognormal(5, 1, len(pairs))],
        "weekday": rng.choice(["mon", "tue", "wed", "thu", "fri"], len(pairs)).tolist(),
    }
    return AnalystTables(edges, vertices, ("--id", "shop", "--number", "revenue"))


def _with_gaps(cells: Iterable[object], known: np.ndarray) -> list[str]:
    """Write cells, blank where they are not known."""
    return [str(cell) if k else "" for cell, k in zip(cells, known, strict=True)]


def _pairs_of_like(group: np.ndarray, m: int, share: float, rng: np.random.Generator) -> np.ndarray:
    """Draw m pairs of vertices, a share of them within a group."""
    first = rng.integers(0, len(group), m)
    second = rng.integers(0, len(group), m)
    for i in np.flatnonzero(rng.random(m) < share):
        second[i] = rng.choice(np.flatnonzero(group == group[first[i]]))
    return np.stack([first, second], axis=1)[first != second]


def _day(start: date, days: int) -> str:
    return (start + timedelta(days=int(days))).isoformat()

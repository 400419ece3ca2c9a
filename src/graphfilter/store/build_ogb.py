"""From the raw files of an OGB dataset to a store, in the stages of any build."""

from __future__ import annotations

import hashlib
import json
from os import PathLike
from pathlib import Path

from graphfilter.store.build import FeatureFacts, Kept, building
from graphfilter.store.edges import EdgeFacts, PairFacts, sort_pairs
from graphfilter.store.engine import check_engine
from graphfilter.store.folder import check_folder
from graphfilter.store.header import FORMAT, Header, write_header
from graphfilter.store.ogb import OgbFolder
from graphfilter.store.vertices import Report, VertexFacts
from graphfilter.version import __version__


def build_ogb_store(
    source: str | PathLike[str],
    path: str | PathLike[str],
    *,
    memory: int = 4 << 30,
    overwrite: bool = False,
    report: Report | None = None,
) -> Header:
    """Build a graph store from the folder of an OGB dataset, such as ``dataset/ogbn_arxiv``.

    Citations are taken in both directions, as its leaderboards do; the split is the public one.
    Only tables and arrays of numbers are read. A build that was stopped goes on after its last
    finished stage.
    """
    check_engine()
    report = report or (lambda what, done, total: None)
    folder, raw = check_folder(Path(path), overwrite), OgbFolder(Path(source))
    with building(folder, overwrite) as scratch:
        kept = Kept(scratch, _hash_asked(raw))
        features = kept.once("features", FeatureFacts, lambda: FeatureFacts(
            raw.write_features(folder, report)
        ))  # fmt: skip
        facts = kept.once("vertices", VertexFacts, lambda: _label_facts(raw, folder))
        pairs = kept.once("pairs", PairFacts, lambda: raw.write_edges(scratch, report))
        edges = kept.once("edges", EdgeFacts, lambda: sort_pairs(
            pairs, raw.n_vertices, scratch, folder, directed=False, memory=memory, report=report,
        ))  # fmt: skip
        stored = features.arrays.get("features")
        header = Header(
            FORMAT, __version__, Path(source).resolve().name.replace("_", "-"), raw.n_vertices,
            edges.n_entries, {**edges.arrays, **facts.arrays, **features.arrays},
            0 if stored is None else stored.shape[1], classes=[*map(int, facts.classes)],
            classes_type="int64", split_rules=["public"], split_sizes=facts.split_sizes,
            notes=edges.notes,
        )  # fmt: skip
        write_header(folder, header)
    return header


def _label_facts(raw: OgbFolder, folder: Path) -> VertexFacts:
    arrays, classes = raw.write_labels(folder)
    sizes = [arrays[f"split_{part}"].shape[0] for part in ("train", "val", "test")]
    names = [str(name) for name in classes]
    return VertexFacts(raw.n_vertices, arrays=arrays, classes=names, split_sizes=[sizes])


def _hash_asked(raw: OgbFolder) -> str:
    files = [[str(f.resolve()), f.stat().st_size, f.stat().st_mtime_ns] for f in raw.files]
    return hashlib.sha256(json.dumps([FORMAT, __version__, files]).encode()).hexdigest()

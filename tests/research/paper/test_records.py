"""Records of a target on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfilter.util.errors import DataFileError
from graphfilter_research.lines import pack_lines
from graphfilter_research.paper.collect import read_target_records


def test_packed_records_are_the_same_bytes_for_the_same_records(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"x": 1}\n')
    first = pack_lines(tmp_path, "a").read_bytes()
    assert pack_lines(tmp_path, "a").read_bytes() == first
    (tmp_path / "b.jsonl.gz").write_bytes(first[:-3])
    with pytest.raises(DataFileError, match=r"b\.jsonl\.gz: cannot be read"):
        read_target_records(tmp_path, "b")
    with pytest.raises(DataFileError, match=r"a\.jsonl\.gz, line 1: must be a benchmark record"):
        read_target_records(tmp_path, "a")
    with pytest.raises(DataFileError, match="graphfilter reproduce table2 --out"):
        read_target_records(tmp_path, "table2-quick")

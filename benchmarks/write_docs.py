"""Write the tables and pictures of docs/performance.md, and the tables of other pages.

    python benchmarks/write_docs.py
    python benchmarks/write_docs.py --results FOLDER --page FILE    for records of your own

What stands between ``<!-- begin:NAME -->`` and ``<!-- end:NAME -->`` becomes the table of
``NAME.json`` in benchmarks/results, NAME being a benchmark and a device such as layer-cuda. The
picture goes to ``images/performance-NAME.png`` beside the page. Other pages show some of the tables
again, and those of ``NAME.jsonl``, the records of many fits (resumable.py); in the README
``summary`` stands for four rows. A test holds all pages to the records.
"""

from __future__ import annotations

import argparse
import importlib
import re
from pathlib import Path
from typing import Any

import resumable
import summary
from graphfilter.util.errors import DataFileError, GraphFilterError
from graphfilter.util.files import atomic_file
from graphfilter.util.records import read_json
from harness import Record, footing

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
PAGE = HERE.parent / "docs" / "performance.md"
HOWTO = PAGE.parent / "howto"
RECORDED = ("pyg", "coverage", "imbalanced", "next-label", "numbers", "several-labels")
# Pages that show some of the records besides.
OTHERS = (
    HERE.parent / "README.md",
    HERE.parent / "docs" / "compare.md",
    *(HOWTO / f"{name}.md" for name in RECORDED),
)
MARKED = re.compile(r"(<!-- begin:([\w-]+) -->\n).*?(<!-- end:\2 -->)", re.S)


def read_records(folder: Path) -> dict[str, Record]:
    """Read every record of a folder, by name."""
    records = {path.stem: read_json(path) for path in sorted(folder.glob("*.json"))}
    for name, record in records.items():
        if record["small"]:
            raise DataFileError(
                folder / f"{name}.json", "made with --small; measure again without it."
            )
    return records


def render(page: str, records: dict[str, Record]) -> str:
    """Return the page with the table of every record in its place."""
    places = {name for _, name, _ in MARKED.findall(page)}
    homeless = sorted(records.keys() - places)
    if homeless:
        raise GraphFilterError(
            f"the page must have a place for each of {', '.join(homeless)}: a line "
            f"<!-- begin:{homeless[0]} --> and a line <!-- end:{homeless[0]} -->."
        )
    return MARKED.sub(lambda m: f"{m[1]}{block(m[2], records.get(m[2]))}\n{m[3]}", page)


def render_some(page: str, records: dict[str, Record]) -> str:
    """Return a page with the tables of those records that it has a place for."""

    def written(match: re.Match[str]) -> str:
        if match[2] == "summary":
            return f"{match[1]}\n{summary.table(records)}\n\n{match[3]}"
        if match[2] in records:
            return f"{match[1]}{block(match[2], records[match[2]])}\n{match[3]}"
        if (file := resumable.records_of(match[2])).exists():
            benchmark = importlib.import_module(match[2])
            shown = benchmark.table(resumable.read_records(file))
            if hasattr(benchmark, "draw"):
                shown += f"\n\n![{match[2]}](../images/{picture(match[2])})"
            return f"{match[1]}\n{shown}\n\n{match[3]}"
        return match[0]

    return MARKED.sub(written, page)


def block(name: str, record: Record | None) -> str:
    """Return what stands between the markers of one name."""
    if record is None:
        return "\n*Not measured yet.*\n"
    benchmark = importlib.import_module(record["benchmark"])
    parts = [benchmark.table(record), f"*{footing(record)}*"]
    if hasattr(benchmark, "draw"):
        parts.insert(1, f"![{name}](images/{picture(name)})")
    return "\n" + "\n\n".join(parts) + "\n"


def picture(name: str) -> str:
    """Return the file name of a record's picture."""
    return f"performance-{name}.png"


def draw_all(records: dict[str, Any], folder: Path) -> None:
    """Draw the picture of every record, or list of records, whose benchmark has one."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, record in records.items():
        many = isinstance(record, list)
        benchmark = importlib.import_module(name if many else record["benchmark"])
        if hasattr(benchmark, "draw"):
            with atomic_file(folder / picture(name)) as path:
                # No software version inside: the same record gives the same file.
                benchmark.draw(record).savefig(path, dpi=130, metadata={"Software": None})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of records")
    parser.add_argument("--page", type=Path, default=PAGE, help="page to write into")
    options = parser.parse_args()
    try:
        records = read_records(options.results)
        page = render(options.page.read_text(encoding="utf-8"), records)
    except GraphFilterError as error:
        parser.error(str(error))
    draw_all(records, options.page.parent / "images")
    pages = {options.page: page}
    if options.results == RESULTS and options.page == PAGE:
        lists = {path.stem: resumable.read_records(path) for path in RESULTS.glob("*.jsonl")}
        draw_all(lists, PAGE.parent / "images")
        for other in OTHERS:
            pages[other] = render_some(other.read_text(encoding="utf-8"), records)
    for target, text in pages.items():
        with atomic_file(target) as path:
            path.write_text(text, encoding="utf-8")
    print(f"{options.page}: {len(records)} records")


if __name__ == "__main__":
    main()

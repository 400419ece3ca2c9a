"""graphfilter data pack and unpack: all datasets of a machine in one archive."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from graphfilter.cli.options import Quiet, argument, flag, option
from graphfilter.cli.progress import download_bar
from graphfilter.cli.screen import say
from graphfilter.cli.sources import split_commas


def pack(
    out: Annotated[Path, option("Archive to write, such as datasets.tar.", "FILE")],
    datasets: Annotated[str, option("Only these datasets, separated by commas.", "NAME,NAME")] = "",
    overwrite: Annotated[bool, flag("--overwrite", "Replace the archive.")] = False,
    quiet: Quiet = False,
) -> None:
    """Write all datasets on this machine to one archive, for a machine without a network.

    Example:  graphfilter data pack --out datasets.tar
    """
    from graphfilter.util.files import check_file
    from graphfilter_research.datasets.packing import pack_datasets

    check_file(out, overwrite=overwrite)

    with download_bar(show=not quiet) as progress:
        files = pack_datasets(out, split_commas(datasets), progress)
    size = sum(file.size for file in files)
    say(f"Files of datasets: {len(files)}, {size / 1e6:.1f} MB, written to {out}.")
    say(f"On the other machine: graphfilter data unpack {out.name}")


def unpack(
    archive: Annotated[Path, argument("A file that graphfilter data pack wrote.")],
    overwrite: Annotated[bool, flag("--overwrite", "Replace datasets of other content.")] = False,
    quiet: Quiet = False,
) -> None:
    """Put the datasets of an archive in the cache, where every command finds them.

    Each is verified before it is kept. What is there already is left; so the same command resumes
    what was interrupted.

    Example:  graphfilter data unpack datasets.tar
    """
    from graphfilter.data.datasets import cache_folder
    from graphfilter_research.datasets.packing import unpack_datasets

    with download_bar(show=not quiet) as progress:
        done = unpack_datasets(archive, overwrite=overwrite, progress=progress)
    states = [file.state for file in done]
    new, same = states.count("new"), states.count("same")
    say(f"Files of datasets: {new} unpacked to {cache_folder()}, {same} already present.")
    if other := [file.name for file in done if file.state == "other"]:
        say(f"Unchanged, with other content: {', '.join(other)}. To replace them: --overwrite.")

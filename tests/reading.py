"""Follow one command as a reader would: functions in the order of their first call.

``python tests/reading.py fit --dataset karate --out run`` prints, as JSON on its last line, how
many functions and files are read, how often a file is opened, and a room entered. Threads
and other processes are not followed.
"""

from __future__ import annotations

import json
import sys
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType

import graphfilter
from graphfilter.__main__ import main

ROOT = Path(graphfilter.__file__).parent
PLACES = [ROOT, ROOT.with_name("graphfilter_research")]


def follow(arguments: list[str]) -> list[tuple[str, str]]:
    """Return the file and the name of every function of ours, in the order of their first call."""
    first = dict[tuple[str, str], None]()
    files = dict[CodeType, str]()

    def file_of(code: CodeType) -> str:
        # Bodies of classes, modules and comprehensions are read where they stand.
        path = Path(code.co_filename)
        for place in PLACES:
            if path.is_relative_to(place) and code.co_flags & 1 and code.co_name[0] != "<":
                return path.relative_to(place).as_posix()
        return ""

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            code = frame.f_code
            if code not in files:
                files[code] = file_of(code)
            if files[code]:
                first.setdefault((files[code], code.co_qualname))

    sys.argv = ["graphfilter", *arguments]
    sys.setprofile(note)
    try:
        main()
    except SystemExit:
        pass
    finally:
        sys.setprofile(None)
    return list(first)


if __name__ == "__main__":
    read = follow(sys.argv[1:])
    opened = [file for file, _ in groupby(file for file, _ in read)]
    entered = [room for room, _ in groupby(file.split("/")[0] for file in opened)]
    counts = {
        "functions": len(read),
        "files": len({*opened}),
        "files opened": len(opened),
        "rooms entered": len(entered),
    }
    print(json.dumps(counts))

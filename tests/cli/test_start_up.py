"""From the first moment to the last: what is loaded, signals, and streams that fail."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from graphfilter.cli import main
from graphfilter.cli.screen import printable

COMMAND = [sys.executable, "-m", "graphfilter"]
HEAVY = {"torch", "numpy", "scipy", "sklearn", "pyarrow", "matplotlib", "plotly", "networkx"}


def run(*words: object, **options) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["fit", "--help"]])
def test_help_waits_for_no_heavy_library(words: list[str]) -> None:
    code = (
        f"import sys; sys.argv = ['graphfilter', *{words}]\n"
        "from graphfilter.__main__ import main\n"
        "try: main()\n"
        "finally: print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0
    assert "graphfilter" in done.stdout
    assert not {name.partition(".")[0] for name in done.stderr.split()} & HEAVY


@pytest.mark.parametrize(("words", "code"), [(["--version"], 0), (["fit"], 2)])
def test_a_command_ends_before_python_takes_itself_apart(words: list[str], code: int) -> None:
    """A thread of a library that lets go of a Python object at that time aborts the process."""
    script = (
        f"import atexit, sys; sys.argv = ['graphfilter', *{words}]\n"
        "class Held:\n"
        "    def __del__(self): print('taken apart')\n"
        "held = Held()\n"
        "from graphfilter.__main__ import main\n"
        "def last(): print('all is done')\n"
        "from graphfilter import cli\n"
        "run = cli.main\n"
        "cli.main = lambda: (atexit.register(last), print('said', end=' '), run())\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == code
    assert done.stdout.startswith("said ")
    assert done.stdout.endswith("all is done\n")


def test_a_bug_ends_with_its_traceback_and_code_1() -> None:
    script = (
        "from graphfilter import cli\n"
        "from graphfilter.__main__ import main\n"
        "def run(): raise KeyError('a bug')\n"
        "cli.main = run\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.endswith("KeyError: 'a bug'\n")


@pytest.mark.skipif(sys.platform == "win32", reason="sends signals")
@pytest.mark.parametrize(
    ("number", "line", "code"),
    [(signal.SIGINT, "error: interrupted.\n", 130), (signal.SIGTERM, "error: terminated.\n", 143)],
)
def test_a_signal_while_starting_is_one_line(
    number: signal.Signals, line: str, code: int, tmp_path: Path
) -> None:
    words = ["fit", "--dataset", "digits", "--quiet", "--out", str(tmp_path / "run")]
    draw = random.Random(0)
    for _ in range(3):
        process = subprocess.Popen([*COMMAND, *words], stderr=subprocess.PIPE, text=True)
        wait_until_it_listens(process.pid, number)
        time.sleep(draw.uniform(0, 0.5))
        process.send_signal(number)
        _, shown = process.communicate(timeout=120)
        assert (process.returncode, shown) == (code, line)


def wait_until_it_listens(pid: int, number: int) -> None:
    """Wait until a process handles a signal itself: Python takes a moment until it is ours."""
    if not Path("/proc/self/status").exists():
        time.sleep(0.3)
        return
    while True:
        fields = dict(
            line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        )
        caught = int(fields["SigCgt"], 16)
        # Python catches SIGINT by itself from the start; both are ours once SIGTERM is caught.
        if caught >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.002)


def test_a_reader_that_went_away_is_no_error(tmp_path: Path) -> None:
    """And what there was left to write is written."""
    out = tmp_path / "k"
    read, write = os.pipe()
    os.close(read)
    command = [*COMMAND, "data", "export", "karate", "--out", str(out)]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, timeout=300)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")
    assert (out / "vertices.csv").is_file()


def test_closed_streams_are_no_error(tmp_path: Path) -> None:
    shell = f'"{sys.executable}" -m graphfilter data get karate >&- 2>&-'
    assert subprocess.run(shell, shell=True, timeout=300).returncode == 0


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_narrow_encodings_replace_what_they_lack(
    encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words, code, out, err in (
        (["reproduce", "--list"], 0, "table1 ", ""),
        (["data", "get", "caf\u00e9\u2248"], 2, "", "error: unknown dataset 'caf"),
    ):
        # As Python opens them where PYTHONIOENCODING says so.
        streams = {n: TextIOWrapper(BytesIO(), encoding=encoding) for n in ("stdout", "stderr")}
        for name, stream in streams.items():
            monkeypatch.setattr(sys, name, stream)
        monkeypatch.setattr(sys, "argv", ["graphfilter", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        monkeypatch.undo()
        assert stop.value.code in ([None, 0] if code == 0 else [code])
        for stream, wanted in zip(streams.values(), (out, err), strict=True):
            stream.flush()
            said = stream.buffer.getvalue().decode(encoding)
            assert said.startswith(wanted) if wanted else said == ""


def test_terminal_commands_in_names_are_not_obeyed(graphfilter, tmp_path: Path) -> None:
    result = graphfilter("data", "get", "\x1b]0;owned\x07\x1b[2Jkarate\u202e", code=2)
    assert "\x1b" not in result.err.replace("\\x1b", "")
    assert printable("\x9b31mred\x00") == "31mred"
    assert printable("\x1b[1;31mred\x1b[0m\ttab\nline") == "red\ttab\nline"


def test_a_bad_number_of_threads_is_one_line(tmp_path: Path) -> None:
    done = run("--version", env={**os.environ, "GRAPHFILTER_THREADS": "many"})
    assert done.returncode == 2
    assert done.stderr.startswith("error: GRAPHFILTER_THREADS must be a whole number")
    assert len(done.stderr.splitlines()) == 1


def test_help_into_a_pipe_that_closes_early_ends_quietly() -> None:
    command = f"{sys.executable} -m graphfilter bench table --help | head -1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_memory_that_is_spent_is_said_without_any(monkeypatch: pytest.MonkeyPatch, capfd) -> None:
    from graphfilter import cli

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("graphfilter.cli.app.run_command", fail)
    monkeypatch.setattr("graphfilter.cli.screen.complain", fail)
    with pytest.raises(SystemExit, match="1"):
        cli.main()
    line = capfd.readouterr().err
    assert line == f"error: {cli.NO_MEMORY}\n"
    assert "--dry-run" in line

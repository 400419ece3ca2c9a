"""The requests of docs/howto/serve.md, sent by curl as they are written there."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.processes import Command

pytest.importorskip("starlette", reason="the packages of the endpoint are not installed")
pytest.importorskip("uvicorn", reason="the packages of the endpoint are not installed")

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "serve.md").read_text()
ADDRESS = "http://127.0.0.1:8000"
TOKEN = "0123456789abcdef"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.S | re.M)


def send(line: str, url: str) -> tuple[int, dict]:
    words = shlex.split(line.replace(ADDRESS, url).replace("$TOKEN", TOKEN))
    command = [words[0], "-sS", "--noproxy", "*", "-w", "\n%{http_code}", *words[1:]]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    body, _, status = said.rpartition("\n")
    return int(status), json.loads(body)


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
@pytest.mark.skipif(sys.platform == "win32", reason="no processes are forked there")
def test_requests_of_the_page_are_answered(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python")
    exec(compile(code, "serve.md", "exec"), {})
    (fit,) = (line.removeprefix("$ ") for line in blocks("console")[0].splitlines())
    words = [*shlex.split(fit)[1:], "--epochs", "3", "--no-baselines", "--quiet"]
    with Command(words, tmp_path / "fit") as command:
        assert command.wait()
        assert command.code == 0, command.err
    start, *asked = (line for block in blocks("sh") for line in block.splitlines())
    with Command([*shlex.split(start)[1:], "--port", 0], tmp_path / "serve") as command:
        url = command.first_line().split()[-1]
        known, new, wrong, with_token = (send(line, url) for line in asked)
    assert [v["id"] for v in known[1]["vertices"]] == ["c4", "c17"]
    assert [v["id"] for v in new[1]["vertices"]] == ["c500", "c501"]
    assert all(v["new"] for v in new[1]["vertices"])
    assert [status for status, _ in (known, new, wrong, with_token)] == [200, 200, 404, 200]
    assert set(wrong[1]) == {"error", "remedy"}
    (shown,) = blocks("json")
    assert set(json.loads(shown)["vertices"][0]) == set(known[1]["vertices"][0])

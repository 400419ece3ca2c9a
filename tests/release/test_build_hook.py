"""The compiled kernel as it is built at install, by the compilers that platforms have."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from graphfilter.data import make_karate
from graphfilter.operators import adjacency
from graphfilter.operators.kernels import native_kernel
from graphfilter.operators.kernels.native_kernel import NativeKernel, native_library
from graphfilter.operators.kernels.product_kernel import TorchKernel
from graphfilter.operators.polynomial import Basis

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "src" / "graphfilter" / "operators" / "kernels"
SOURCES = ("native.c", *(path.name for path in KERNELS.glob("native*.h")))
# As Apple's compiler, which for its own processors knows none of x86's instructions either.
WITHOUT_OPENMP = """#!/bin/sh
for word in "$@"; do
    case "$word" in -fopenmp|-mavx*) echo "unsupported option '$word'" >&2; exit 1;; esac
done
exec cc "$@" -O0
"""
# The kernel that is installed is optimised, which takes ten times as long; here it need not be.
PLAIN = '#!/bin/sh\nexec cc "$@" -O0\n'


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """``hatch_build.py``, with stand-ins for its bases: hatchling is there only while building."""
    name = "hatchling.builders.hooks.plugin.interface"
    monkeypatch.setitem(sys.modules, name, SimpleNamespace(BuildHookInterface=object))
    name = "hatchling.metadata.plugin.interface"
    monkeypatch.setitem(sys.modules, name, SimpleNamespace(MetadataHookInterface=object))
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with nothing but the source of the kernel, where there is a compiler."""
    if shutil.which("cc") is None or sys.platform == "win32":
        pytest.skip("needs a C compiler")
    use_compiler(tmp_path / "plain-cc", PLAIN, monkeypatch)
    kernels = tmp_path / KERNELS.relative_to(ROOT)
    kernels.mkdir(parents=True)
    for name in SOURCES:
        shutil.copy(KERNELS / name, kernels)
    return kernels


def use_compiler(path: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text(script)
    path.chmod(0o755)
    monkeypatch.setenv("CC", str(path))


def build(hook: ModuleType, root: Path, version: str = "standard") -> tuple[dict, list[str]]:
    """Run the hook as hatchling does; return what it asks of the wheel, and its warnings."""
    said: list[str] = []
    built: Any = hook.NativeKernelHook()
    built.target_name, built.root = "wheel", str(root)
    built.app = SimpleNamespace(display_warning=said.append)
    data: dict[str, Any] = {"artifacts": []}
    built.initialize(version, data)
    return data, said


def test_wheel_with_the_kernel_serves_every_python_of_its_platform(
    hook: ModuleType, folder: Path, tmp_path: Path
) -> None:
    data, said = build(hook, tmp_path)
    assert data["tag"].startswith("py3-none-")
    assert data["pure_python"] is False
    assert data["artifacts"] == ["/src/graphfilter/operators/kernels/native.so"]
    assert not said
    assert sorted(path.name for path in folder.iterdir()) == sorted([*SOURCES, "native.so"])


def test_kernel_is_left_out_without_a_compiler(
    hook: ModuleType, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC")
    data, [said] = build(hook, tmp_path)
    assert data == {"artifacts": []}
    assert "there is no C compiler" in said
    monkeypatch.setenv("GRAPHFILTER_NATIVE", "1")
    with pytest.raises(RuntimeError, match="there is no C compiler"):
        build(hook, tmp_path)


def test_kernel_is_left_out_on_request(
    hook: ModuleType, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHFILTER_NATIVE", "0")
    (folder / "native.so").write_bytes(b"of an earlier install")
    assert build(hook, tmp_path, "editable") == ({"artifacts": []}, [])
    assert not (folder / "native.so").exists()
    monkeypatch.setenv("GRAPHFILTER_NATIVE", "no")
    with pytest.raises(ValueError, match="must be 0, 1 or not set; got 'no'"):
        build(hook, tmp_path)


@pytest.mark.parametrize("known", [True, False], ids=["GCC", "another"])
def test_fused_operations_stay_fused_where_the_compiler_can_be_told(
    known: bool, hook: ModuleType, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the bits depend on how many columns are computed together, as GCC 13 compiles them."""
    log = tmp_path / "words"
    refusal = 'case "$*" in *--param=*) exit 1;; esac\n' if not known else ""
    script = f'#!/bin/sh\n{refusal}echo "$@" >> {log}\nexec cc "$@" -O0\n'
    use_compiler(tmp_path / "cc", script, monkeypatch)
    build(hook, tmp_path)
    compiled = log.read_text().splitlines()[0]
    assert ("--param=avoid-fma-max-bits=0" in compiled) is known
    assert "-fopenmp" in compiled
    assert (folder / "native.so").is_file()


def test_kernel_of_a_compiler_without_openmp_multiplies_as_torch_does(
    hook: ModuleType, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_compiler(tmp_path / "apple-cc", WITHOUT_OPENMP, monkeypatch)
    build(hook, tmp_path)
    assert b"GOMP_parallel" not in (folder / "native.so").read_bytes()
    matrix = adjacency(make_karate()).kernel.matrix
    monkeypatch.setattr(native_kernel, "threads_worth", lambda multiplications: 3)
    monkeypatch.setattr(native_kernel, "LIBRARY", folder / "native.so")
    native_library.cache_clear()
    try:
        kernel = NativeKernel(matrix, torch.float32)
        reference = TorchKernel(matrix, torch.float32)
        x = torch.randn(34, 2, 8, generator=torch.Generator().manual_seed(0))
        weights = torch.linspace(-1, 1, 10).view(5, 2)
        steps = Basis.chebyshev(-1.0, 1.0).steps(4)
        for got, expected in zip(
            kernel.apply_recurrence(x, weights, steps, x),
            reference.apply_recurrence(x, weights, steps, x),
            strict=True,
        ):
            torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)
        flat = x.view(34, 16)
        product = kernel.multiply(flat, out=torch.empty_like(flat))
        torch.testing.assert_close(product, reference.multiply(flat, out=torch.empty_like(flat)))
    finally:
        native_library.cache_clear()


@pytest.mark.parametrize("url", ["", "https://forge.example/who/graphfilter/"])
def test_page_of_an_index_has_no_link_that_leads_nowhere(
    hook: ModuleType, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHFILTER_URL", url)
    made = hook.PageHook()
    made.root = str(ROOT)
    metadata: dict[str, Any] = {}
    made.update(metadata)
    assert metadata["readme"]["content-type"] == "text/markdown"
    page = metadata["readme"]["text"]
    links = re.findall(r"(!?)\[[^\]\n]*\]\(([^)\s]+)\)", page)
    assert all(target.startswith("https://") for _, target in links)
    assert bool(metadata.get("urls")) == bool(url)
    assert len(page.splitlines()) == len((ROOT / "README.md").read_text("utf-8").splitlines())
    if url:
        assert metadata["urls"]["Repository"] == url.rstrip("/")
        pictures = [target for picture, target in links if picture]
        assert len(pictures) == 2
        assert all(target.startswith(f"{url}raw/") for target in pictures)
        assert f"({url}blob/" in page
    else:
        assert "docs/images" not in page
        assert "What reproduces" in page


def test_metadata_names_authors_and_the_pythons_that_are_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["authors"]
    tested = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")
    listed = re.findall(r"3\.\d+", re.findall(r"python: (\[.+\])", tested)[0])
    named = [c.rpartition(" ")[2] for c in project["classifiers"] if ":: 3." in c]
    assert named == listed
    assert project["requires-python"] == f">={listed[0]}"

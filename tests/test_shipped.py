"""Kernels that a wheel carries: used where they fit, and only there."""

from __future__ import annotations

import importlib.util
import json
import platform
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from wattpack import jit
from wattpack.jit import cache, shipped

pytestmark = pytest.mark.skipif(
    not jit.COMPILED or platform.machine() not in shipped.COMMON, reason="nothing is compiled, or not for this machine"
)

KERNEL = "from wattpack.jit import kernel\n\n\n@kernel\ndef double(x):\n    return 2 * x\n"


def module_of(folder: Path, name: str) -> ModuleType:
    """What a new process would import: the module is loaded anew."""
    file = folder / "double.py"
    file.write_text(KERNEL)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def was_loaded(module: ModuleType) -> bool:
    assert module.double(21) == 42
    return bool(sum(module.double.stats.cache_hits.values()))


@pytest.fixture
def shipped_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Kernels of a module of the package, compiled elsewhere and shipped; the cache here is empty."""
    made, ours = tmp_path / "made", tmp_path / "ours"
    for folder in (made, ours):
        folder.mkdir(mode=0o700)
    folder = tmp_path / "kernels"
    monkeypatch.delenv("WATTPACK_KERNELS")
    monkeypatch.setattr(shipped, "FOLDER", folder)
    monkeypatch.setattr(cache, "FOLDER", made)
    monkeypatch.setattr(jit.numba.config, "CACHE_DIR", str(made))
    shipped.shipped_target.cache_clear()
    assert not was_loaded(module_of(tmp_path, "wattpack.double_of_test"))
    shutil.copytree(made, folder)
    target = jit.numba.core.registry.cpu_target.target_context.codegen().magic_tuple()
    write_about(folder, shipped.made_by(cache.DIGEST), target)
    monkeypatch.setattr(cache, "FOLDER", ours)
    monkeypatch.setattr(jit.numba.config, "CACHE_DIR", str(ours))
    yield folder
    shipped.shipped_target.cache_clear()


def write_about(folder: Path, made_by: dict[str, str], target: tuple[str, ...]) -> None:
    (folder / shipped.ABOUT).write_text(json.dumps({"made_by": made_by, "target": target}))
    shipped.shipped_target.cache_clear()


def test_a_shipped_kernel_is_used_and_nothing_is_compiled(shipped_folder: Path, tmp_path: Path) -> None:
    assert was_loaded(module_of(tmp_path, "wattpack.double_of_test"))
    assert not jit.is_cold("wattpack.double_of_test")
    assert not any((tmp_path / "ours").rglob("*.nbc"))


def test_a_plugin_never_takes_a_shipped_kernel(shipped_folder: Path, tmp_path: Path) -> None:
    (shipped_folder / "wattpack.double_of_test").rename(shipped_folder / "double_of_test")
    assert not was_loaded(module_of(tmp_path, "double_of_test"))


@pytest.mark.parametrize("part", ["sources", "python", "numba", "machine"])
def test_kernels_of_other_sources_or_another_python_or_numba_are_not_used(
    shipped_folder: Path, tmp_path: Path, part: str
) -> None:
    about = json.loads((shipped_folder / shipped.ABOUT).read_text())
    write_about(shipped_folder, about["made_by"] | {part: "other"}, about["target"])
    assert shipped.shipped_target(cache.DIGEST) is None
    assert not was_loaded(module_of(tmp_path, "wattpack.double_of_test"))


def test_a_processor_that_lacks_an_instruction_compiles_its_own(
    shipped_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    has = dict(shipped.llvm.get_host_cpu_features()) | {"avx2": False}
    monkeypatch.setattr(shipped.llvm, "get_host_cpu_features", lambda: has)
    shipped.shipped_target.cache_clear()
    assert not was_loaded(module_of(tmp_path, "wattpack.double_of_test"))


def test_a_damaged_shipped_kernel_is_said_and_compiled(
    shipped_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in shipped_folder.rglob("*.nbc"):
        file.write_bytes(file.read_bytes()[:-7])
    assert not was_loaded(module_of(tmp_path, "wattpack.double_of_test"))
    assert "damaged, compiled again" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "{", "[]", "{}"])
def test_a_damaged_description_means_no_shipped_kernels(shipped_folder: Path, text: str) -> None:
    (shipped_folder / shipped.ABOUT).write_text(text)
    shipped.shipped_target.cache_clear()
    assert shipped.shipped_target(cache.DIGEST) is None


def test_shipped_kernels_are_not_used_where_the_user_wants_them_compiled(
    shipped_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shipped.shipped_target(cache.DIGEST) is not None
    shipped.shipped_target.cache_clear()
    monkeypatch.setenv("WATTPACK_KERNELS", "compile")
    assert shipped.shipped_target(cache.DIGEST) is None
    assert jit.is_cold("wattpack.double_of_test")

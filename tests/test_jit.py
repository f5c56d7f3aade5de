"""The cache of compiled kernels: only folders that are ours, and files that heal where they are damaged."""

from __future__ import annotations

import errno
import importlib.util
import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from wattpack import files, jit

pytestmark = pytest.mark.skipif(not jit.COMPILED, reason="nothing is compiled, nothing is kept")

KERNEL = "from wattpack.jit import kernel\n\n\n@kernel\ndef double(x):\n    return 2 * x\n"
Cache = Callable[[], Path | None]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder for this test."""
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(jit.cache, "FOLDER", folder)
    monkeypatch.setattr(jit.numba.config, "CACHE_DIR", str(folder))
    jit.cache._say_once.cache_clear()
    return folder


def double_of(number: int, folder: Path) -> int:
    """What a new process would give: the module is imported anew, its kernel loaded from the cache or compiled."""
    file = folder / "double.py"
    if not file.exists():
        file.write_text(KERNEL)
    spec = importlib.util.spec_from_file_location("double_of_test", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    result = module.double(number)
    was_loaded[:] = [sum(module.double.stats.cache_hits.values())]
    return int(result)


was_loaded: list[int] = []


def test_a_kernel_is_compiled_once(cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert double_of(21, tmp_path) == 42
    assert was_loaded == [0]
    assert double_of(21, tmp_path) == 42
    assert was_loaded == [1]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", ["empty", "cut", "a byte in the middle", "another file"])
def test_a_damaged_file_is_said_and_compiled_again_once(
    cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, damage: str
) -> None:
    assert double_of(21, tmp_path) == 42
    (file,) = cache.rglob(f"*.{kind}")
    data = file.read_bytes()
    middle = len(data) // 2
    file.write_bytes(
        {
            "empty": b"",
            "cut": data[:middle],
            "a byte in the middle": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
            "another file": b"#!/bin/sh\n",
        }[damage]
    )
    assert double_of(21, tmp_path) == 42
    assert was_loaded == [0]
    assert f"{file}: damaged, compiled again" in capsys.readouterr().err
    assert double_of(21, tmp_path) == 42
    assert was_loaded == [1]
    assert capsys.readouterr().err == ""


def test_a_file_of_another_version_is_replaced(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(jit.numba, "__version__", "0.1")
        assert double_of(21, tmp_path) == 42
    assert double_of(21, tmp_path) == 42
    assert was_loaded == [0]
    assert double_of(21, tmp_path) == 42
    assert was_loaded == [1]


def test_a_full_disk_costs_a_compile_and_a_line_not_the_run(
    cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def full(self: Any, path: str) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        yield

    monkeypatch.setattr(jit.cache._CheckedFiles, "_open_for_write", full)
    assert double_of(21, tmp_path) == 42
    assert double_of(21, tmp_path) == 42
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert str(cache) in said[0]
    assert "No space left" in said[0]


def test_a_cache_that_cannot_be_read_costs_a_compile_and_a_line(
    cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert double_of(21, tmp_path) == 42
    (index,) = cache.rglob("*.nbi")
    index.unlink()
    index.mkdir()  # reading it is an OSError for everybody, also for root
    assert double_of(21, tmp_path) == 42
    assert "expected to delete it" in capsys.readouterr().err


def test_two_processes_that_add_machine_code_at_once_never_take_the_same_name(cache: Path) -> None:
    """numba counts: the index of one would name the code of the other."""
    one, other = (jit.cache._CheckedFiles(str(cache), "double", b"stamp") for _ in range(2))
    assert one._data_name(1) != other._data_name(1)


def test_without_a_folder_kernels_are_compiled_and_nothing_is_kept(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jit.cache, "FOLDER", None)
    assert double_of(21, tmp_path) == 42
    assert list(cache.iterdir()) == []
    assert jit.is_cold()


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a temporary folder of this test."""
    for name in ("WATTPACK_CACHE", "XDG_CACHE_HOME", files.FRESH_FOLDER):
        monkeypatch.setenv(name, "")
    (tmp_path / "home").mkdir()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return tmp_path


def test_kernels_are_kept_in_the_users_cache_for_the_user_alone(places: Path) -> None:
    folder = jit.cache.cache_folder()
    assert folder is not None
    assert folder.parent == places / "home" / ".cache" / "wattpack"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_folder_for_kernels_that_is_a_link_or_open_to_others_is_not_used(
    places: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = jit.cache.cache_folder()
    assert folder is not None
    folder.chmod(0o777)
    assert jit.cache.cache_folder() == places / "tmp" / f"wattpack-{os.geteuid()}" / folder.name
    assert f"{folder}: others could write to it" in capsys.readouterr().err
    folder.rename(places / "elsewhere")
    folder.symlink_to(places / "elsewhere")
    assert jit.cache.cache_folder() == places / "tmp" / f"wattpack-{os.geteuid()}" / folder.name
    assert f"{folder}: a link" in capsys.readouterr().err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a folder to another user")
@pytest.mark.parametrize("name", ["home", "tmp"])
def test_kernels_of_another_user_are_not_loaded(places: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    theirs = places / "home" / ".cache" / "wattpack" if name == "home" else places / "tmp" / f"wattpack-{os.geteuid()}"
    theirs.mkdir(mode=0o700, parents=True)
    os.chown(theirs, 65534, 65534)
    if name == "tmp":
        os.environ["HOME"] = ""
    folder = jit.cache.cache_folder()
    assert folder is not None
    assert theirs not in folder.parents
    assert f"{theirs}: belongs to another user, not used" in capsys.readouterr().err
    assert list(theirs.iterdir()) == []


def test_without_a_home_kernels_are_kept_in_the_temporary_folder(
    places: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(Path, "home", no_home)
    folder = jit.cache.cache_folder()
    assert folder is not None
    assert folder.parents[1] == places / "tmp"
    assert capsys.readouterr().err == ""


def test_where_nothing_can_be_written_there_is_no_cache_and_it_is_said(
    places: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (places / "file").touch()
    monkeypatch.setenv("WATTPACK_CACHE", str(places / "file"))
    monkeypatch.setattr(tempfile, "tempdir", str(places / "file"))
    assert jit.cache.cache_folder() is None
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert "compiled again by every command" in said[1]

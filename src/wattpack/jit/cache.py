"""Where compiled kernels are kept: a folder that is ours alone, named after the sources, with files that heal."""

from __future__ import annotations

import contextlib
import os
import pickle
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, UserProvidedCacheLocator

from wattpack.files import make_private, private_temporary_folder, say, why
from wattpack.jit import shipped
from wattpack.jit.sources import DIGEST as DIGEST
from wattpack.jit.steps import rebuild_step, reduce_step


def cache_folder() -> Path | None:
    """Folder of compiled kernels: below `$WATTPACK_CACHE` or the user's cache folder, else below the temporary one.

    numba unpickles what lies there, which can be any code: only folders that are ours alone are used. None if there is
    no such folder to be had: kernels are then compiled by every command.
    """
    digest = f"kernels-{DIGEST}"
    user_cache = _user_cache()
    if user_cache is not None:
        fault = make_private(user_cache / "wattpack", digest)
        if not fault:
            return user_cache / "wattpack" / digest
        if "cannot" not in fault or os.environ.get("WATTPACK_CACHE"):  # a home that is read-only is nothing to tell
            say(f"{fault}, not used for compiled kernels")
    try:
        return private_temporary_folder(digest)
    except OSError as error:
        say(f"no folder to keep compiled kernels in ({why(error)}): they are compiled again by every command")
        return None


def _user_cache() -> Path | None:
    for name in ("WATTPACK_CACHE", "XDG_CACHE_HOME"):
        if os.environ.get(name):
            return Path(os.environ[name]).absolute()
    if os.environ.get("HOME") == "":
        return None
    try:
        return Path.home() / ".cache"
    except RuntimeError:  # HOME is not set and the user is not in the system's list, as in some containers
        return None


FOLDER = cache_folder()


class _CheckedFiles(IndexDataCacheFile):  # type: ignore[misc]
    """numba's two files of a function, index and machine code, each behind a checksum of its bytes.

    Without it a cut file was an exception in the midst of a run, and a changed byte of machine code whatever it does.
    What is damaged counts as not there: it is compiled again and replaced.
    """

    def _load_index(self) -> dict[Any, str]:
        found = self._read(self._index_path)
        same = found is not None and found[:2] == (self._version, self._source_stamp)
        return found[2] if found is not None and same else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, (self._version, self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        return self._read(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _data_name(self, number: int) -> str:
        """Not the number: two processes that add a signature at once would take the same, and load each other's."""
        return str(self._data_name_pattern.format(number=int.from_bytes(os.urandom(6), "big")))

    def _write(self, path: str, value: Any) -> None:
        data = self._dump(value)
        with self._open_for_write(path) as file:
            file.write(zlib.crc32(data).to_bytes(4, "big") + data)

    def _read(self, path: str) -> Any:
        try:
            data = Path(path).read_bytes()
        except FileNotFoundError:
            return None
        if zlib.crc32(data[4:]).to_bytes(4, "big") == data[:4]:
            with contextlib.suppress(Exception):  # of another version of numba or Python: not ours to read
                return pickle.loads(data[4:])
        else:
            say(f"{path}: damaged, compiled again")
        Path(path).unlink(missing_ok=True)
        return None


class _Locator(UserProvidedCacheLocator):  # type: ignore[misc]
    """Kernels of the package lie below the name of their module, wherever the package lies: a wheel ships them."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        super().__init__(function, file)
        if is_ours(function):
            self._cache_path = str(Path(numba.config.CACHE_DIR) / function.__module__)


def is_ours(function: Callable[..., Any]) -> bool:
    """Whether the package itself has this function, not a plugin or a user's program."""
    module = function.__module__ or ""
    return module == "wattpack" or module.startswith("wattpack.")


class _KernelFiles(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)  # numba's others would write beside the sources


class _StepFiles(_KernelFiles):
    def reduce(self, result: Any) -> Any:
        return reduce_step(result)

    def rebuild(self, context: Any, reduced: Any) -> Any:
        return rebuild_step(context, *reduced)


class KernelCache(FunctionCache):  # type: ignore[misc]
    """numba's cache of one function, in files with checksums; a fault of the disk costs a compile, not the run."""

    _impl_class = _KernelFiles

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        names = (self._impl.filename_base, self._impl.locator.get_source_stamp())
        self._cache_file = _CheckedFiles(self._cache_path, *names)
        self._shipped_file = None
        if is_ours(function) and shipped.shipped_target(DIGEST) is not None:
            self._shipped_file = _CheckedFiles(str(shipped.FOLDER / function.__module__), *names)

    def _load_overload(self, signature: Any, context: Any) -> Any:
        found = super()._load_overload(signature, context)
        if found is None and self._shipped_file is not None:
            data = self._shipped_file.load(self._index_key(signature, shipped.shipped_target(DIGEST)))
            found = None if data is None else self._impl.rebuild(context, data)
        return found

    def load_overload(self, signature: Any, context: Any) -> Any:
        try:
            return super().load_overload(signature, context)
        except OSError as fault:
            _say_once(f"{FOLDER}: cannot be read ({why(fault)}), kernels are compiled again; expected to delete it")

    def save_overload(self, signature: Any, data: Any) -> None:
        try:
            super().save_overload(signature, data)
        except OSError as fault:
            _say_once(f"{FOLDER}: compiled kernels cannot be kept ({why(fault)}), the next command compiles again")


class StepCache(KernelCache):
    _impl_class = _StepFiles


@cache
def _say_once(text: str) -> None:
    say(text)


# Not by the environment: that is read when numba is imported, which the user's program may have done already.
if FOLDER is not None:
    numba.config.CACHE_DIR = str(FOLDER)

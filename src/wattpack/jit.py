"""The only importer of numba: the decorators of kernels, calls by address, the compile cache.

With `NUMBA_DISABLE_JIT=1` every kernel is the plain Python function it was written as; the tests use that to let
coverage see them.
"""

from __future__ import annotations

import builtins
import contextlib
import hashlib
import os
import pickle
import sys
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, UserProvidedCacheLocator
from numba.extending import intrinsic

from wattpack.files import make_private, private_temporary_folder, say, why
from wattpack.jit_steps import StepCompiler, rebuild_step, reduce_step

F = TypeVar("F", bound=Callable[..., Any])


# What kernels are made of. An edit anywhere else keeps the compiled kernels (tests/test_layers.py checks the list).
KERNEL_SOURCES = ("jit.py", "jit_steps.py", "model", "policies", "engine", "experiments/bound", "experiments/defrag")


def source_digest(folder: Path, parts: Sequence[str] = ("",)) -> str:
    """Digest of the Python sources under `folder`, or only of these parts of it.

    numba checks only the file of the function itself for changes; a callee edited in another file would give the old
    result (measured). A cache folder named after this digest cannot go stale.
    """
    digest = hashlib.sha256()
    files = {
        file
        for part in parts
        for file in ((folder / part).rglob("*.py") if (folder / part).is_dir() else [folder / part])
    }
    for path in sorted(files):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def cache_folder() -> Path | None:
    """Folder of compiled kernels: below `$WATTPACK_CACHE` or the user's cache folder, else below the temporary one.

    numba unpickles what lies there, which can be any code: only folders that are ours alone are used. None if there is
    no such folder to be had: kernels are then compiled by every command.
    """
    digest = f"kernels-{source_digest(Path(__file__).parent, KERNEL_SOURCES)}"
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


CACHE_FOLDER = cache_folder()


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


class _KernelFiles(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (UserProvidedCacheLocator,)  # numba's others would write beside the sources


class _StepFiles(_KernelFiles):
    def reduce(self, result: Any) -> Any:
        return reduce_step(result)

    def rebuild(self, context: Any, reduced: Any) -> Any:
        return rebuild_step(context, *reduced)


class _KernelCache(FunctionCache):  # type: ignore[misc]
    """numba's cache of one function, in files with checksums; a fault of the disk costs a compile, not the run."""

    _impl_class = _KernelFiles

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _CheckedFiles(
            self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp()
        )

    def load_overload(self, signature: Any, context: Any) -> Any:
        try:
            return super().load_overload(signature, context)
        except OSError as fault:
            _say_once(
                f"{CACHE_FOLDER}: cannot be read ({why(fault)}), kernels are compiled again; expected to delete it"
            )

    def save_overload(self, signature: Any, data: Any) -> None:
        try:
            super().save_overload(signature, data)
        except OSError as fault:
            _say_once(
                f"{CACHE_FOLDER}: compiled kernels cannot be kept ({why(fault)}), the next command compiles again"
            )


class _StepCache(_KernelCache):
    _impl_class = _StepFiles


@cache
def _say_once(text: str) -> None:
    say(text)


# Not by the environment: that is read when numba is imported, which the user's program may have done already.
if CACHE_FOLDER is not None:
    numba.config.CACHE_DIR = str(CACHE_FOLDER)

COMPILED = not numba.config.DISABLE_JIT


def _compiled(function: F, cache_class: type[_KernelCache] = _KernelCache, **options: Any) -> F:
    """numba's compiler as every kernel uses it: no fastmath (sums are bit-exact), GIL released, cached on disk.

    No reference counts (`_nrt`): kernels allocate nothing, and counting the arrays of State and Scores at every call
    made a run five times slower (measured: 190 to 36 ms for FGD).
    """
    made = numba.njit(nogil=True, error_model="numpy", _nrt=False, **options)(function)
    # Functions typed in by the user (REPL, `python -c`) have no file to cache beside.
    if COMPILED and CACHE_FOLDER is not None and Path(function.__code__.co_filename).is_file():
        # A compiled kernel imports its module by name when it is loaded again, but numba keeps one entry a file: the
        # same file as `busiest`, as a plugin and as `__main__` would load what another name has left.
        module = function.__module__ or "typed_in"
        ours = module == "wattpack" or module.startswith("wattpack.")
        numba.config.CACHE_DIR = str(CACHE_FOLDER if ours else CACHE_FOLDER / module)
        try:
            with contextlib.suppress(RuntimeError):  # the folder was taken away since
                made._cache = cache_class(function)
        finally:
            numba.config.CACHE_DIR = str(CACHE_FOLDER)
    if COMPILED:
        _take_constants_as_numbers(made)
    return cast(F, made)


def _take_constants_as_numbers(made: Any) -> None:
    """One compile for `place(..., 1)` and `place(..., sign)`: numba would make another for every constant argument."""
    original = made.get_call_template

    def get_call_template(arguments: Any, keywords: Any) -> Any:
        return original([types.unliteral(kind) for kind in arguments], keywords)

    made.get_call_template = get_call_template


def _compiled_step(function: F, **options: Any) -> F:
    if COMPILED:  # without the compiler numba hands the function back and takes no pipeline
        options["pipeline_class"] = StepCompiler
    return _compiled(function, _StepCache, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)


def kernel(function: F) -> F:
    """A kernel that Python may call too, or that is called by address, as those of policies are."""
    return _compiled(function)


def step(function: F) -> F:
    """A piece that only kernels call: it has no entry point for Python, and is optimised where it is used."""
    return _compiled_step(function)


def inner(function: F) -> F:
    """A step in the hottest loop, copied into its callers: handing over State and Scores costs more than the work."""
    return _compiled_step(function, forceinline=True)


def inner_kernel(function: F) -> F:
    """An inner step that Python may call too."""
    return _compiled(function, forceinline=True)


def is_kernel(function: Any) -> bool:
    """Whether the function is compiled; without the compiler every function passes."""
    return callable(function) and (hasattr(function, "py_func") or not COMPILED)


def interpreted(function: Any) -> tuple[Any, list[Any]]:
    """A kernel as plain Python, with every kernel that it calls, and the functions as they were written.

    numpy then checks every index, which compiled kernels do not.
    """
    done: dict[Any, Any] = {}
    return _plain(function, done), list(done)


def _plain(value: Any, done: dict[Any, Any]) -> Any:
    if isinstance(value, ModuleType):
        return _PlainModule(value, done)
    function = getattr(value, "py_func", value)
    if not isinstance(function, FunctionType) or (function is value and COMPILED and done):
        return value
    if function not in done:
        scope: dict[str, Any] = {"__builtins__": builtins, "__name__": function.__module__}
        cells = tuple(CellType(_plain(cell.cell_contents, done)) for cell in function.__closure__ or ())
        copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)
        done[function] = copy  # before what it names: it may call itself
        for name in _names(function.__code__) & function.__globals__.keys():
            scope[name] = _plain(function.__globals__[name], done)
    return done[function]


def _names(code: CodeType) -> set[str]:
    """Global names of a function, those in its comprehensions included."""
    inside = (_names(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*inside)


class _PlainModule:
    """A module whose kernels are plain Python."""

    def __init__(self, module: ModuleType, done: dict[Any, Any]) -> None:
        self._module, self._done = module, done

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        return _plain(value, self._done) if hasattr(value, "py_func") else value


def addresses(functions: Sequence[Callable[..., Any]], result: type | None, example: tuple[Any, ...]) -> Any:
    """Compiled functions as an array of addresses, for arguments of the types of `example`; `result`: int or None.

    A kernel that calls by address is the same for all policies and needs no new compile for a new one. The array of
    addresses rather than numba's function types: those put whole signatures into every symbol (compile 13 to 10 s).
    """
    if not COMPILED:
        return tuple(functions)
    # One role, one signature: a function that has been looked up needs no look at the example's types again (2 ms).
    new = [function for function in functions if (function, result) not in _ADDRESSES]
    if new:
        arguments = tuple(numba.typeof(value) for value in example)
        for function in new:
            _ADDRESSES[function, result] = _address(function, result, arguments)
    return np.array([_ADDRESSES[function, result] for function in functions], dtype=np.int64)


_ADDRESSES: dict[tuple[Callable[..., Any], type | None], int] = {}


def _address(function: Any, result: type | None, arguments: tuple[Any, ...]) -> int:
    returns = types.int64 if result is int else types.none
    function.compile(arguments)
    compiled = function.overloads[arguments]
    returned = types.unliteral(compiled.signature.return_type)  # a constant is of its plain type
    if returned != returns:
        raise TypeError(f"{function.__name__} returns {returned}, expected {returns}")
    address: int = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name)
    return address


def _caller(result: Any) -> Any:
    """A function of kernels: call(address, arguments) calls the function at `address` with a tuple of arguments."""
    if not COMPILED:
        return lambda function, arguments: function(*arguments)

    @intrinsic
    def call(typing_context: Any, address: Any, arguments: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            wanted = [context.get_value_type(kind) for kind in signature.args[1].types]
            function_type = ir.FunctionType(context.get_value_type(signature.return_type), wanted)
            function = builder.inttoptr(values[0], function_type.as_pointer())
            returned = builder.call(function, cgutils.unpack_tuple(builder, values[1]))
            return returned if result is types.int64 else context.get_dummy_value()

        return result(address, arguments), generate

    return call


call_for_int = _caller(types.int64)  # 15 ns a call (measured)
call_for_none = _caller(types.none)


def is_cold() -> bool:
    """Whether nothing has been compiled into the cache folder yet: the first run will take seconds longer."""
    return COMPILED and (CACHE_FOLDER is None or not any(CACHE_FOLDER.rglob("*.nbi")))


def say_if_compiling(stream: Any = None) -> None:
    """Tell the user once that the first run compiles; call before the first kernel is used."""
    if is_cold():
        print("compiling kernels for this machine (once, about 30 s) ...", file=stream or sys.stderr, flush=True)

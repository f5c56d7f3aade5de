"""The only importer of numba: the decorators of kernels and calls by address.

`cache.py` says where compiled kernels are kept, `steps.py` how pieces of kernels are compiled, `plain.py` how to run a
kernel as the Python it was written as. With `NUMBA_DISABLE_JIT=1` every kernel is that; the tests use it to let
coverage see them.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from wattpack.jit import cache, shipped
from wattpack.jit.cache import KernelCache, StepCache, is_ours
from wattpack.jit.plain import COMPILED as COMPILED
from wattpack.jit.plain import interpreted as interpreted  # for check_policy
from wattpack.jit.plain import is_kernel as is_kernel
from wattpack.jit.sources import closure_digest as closure_digest  # for ids of runs and of what is kept
from wattpack.jit.steps import StepCompiler

F = TypeVar("F", bound=Callable[..., Any])


def _compiled(function: F, cache_class: type[KernelCache] = KernelCache, **options: Any) -> F:
    """numba's compiler as every kernel uses it: no fastmath (sums are bit-exact), GIL released, cached on disk.

    No reference counts (`_nrt`): kernels allocate nothing, and counting the arrays of State and Scores at every call
    made a run five times slower (measured: 190 to 36 ms for FGD).
    """
    made = numba.njit(nogil=True, error_model="numpy", _nrt=False, **options)(function)
    # Functions typed in by the user (REPL, `python -c`) have no file to cache beside.
    if COMPILED and cache.FOLDER is not None and Path(function.__code__.co_filename).is_file():
        # A compiled kernel imports its module by name when it is loaded again, but numba keeps one entry a file: the
        # same file as `busiest`, as a plugin and as `__main__` would load what another name has left.
        module = function.__module__ or "typed_in"
        numba.config.CACHE_DIR = str(cache.FOLDER if is_ours(function) else cache.FOLDER / module)
        try:
            with contextlib.suppress(RuntimeError):  # the folder was taken away since
                made._cache = cache_class(function)
        finally:
            numba.config.CACHE_DIR = str(cache.FOLDER)
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
    return _compiled(function, StepCache, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)


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


def is_cold(module: str = "wattpack.engine.runs.arrivals") -> bool:
    """Whether the kernels of this module, one that the command needs, are neither compiled yet nor shipped."""
    if not COMPILED:
        return False
    folders = [cache.FOLDER, shipped.FOLDER if shipped.shipped_target(cache.DIGEST) is not None else None]
    return not any(folder is not None and any((folder / module).glob("*.nbi")) for folder in folders)


def say_if_compiling(module: str = "wattpack.engine.runs.arrivals") -> None:
    """Tell the user that the first run compiles; call before the first kernel is used."""
    if is_cold(module):
        print("compiling kernels for this machine (once, about 30 s) ...", file=sys.stderr, flush=True)

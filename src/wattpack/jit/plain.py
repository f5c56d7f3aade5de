"""A kernel as the Python it was written as, with everything it calls: for `check_policy`, which needs bounds checks."""

from __future__ import annotations

import builtins
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numba

COMPILED = not numba.config.DISABLE_JIT


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

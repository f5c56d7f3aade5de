"""Faults visible in the source of a policy: no kernel, random numbers or the clock, a model compared with a text."""

from __future__ import annotations

import ast
import dis
import inspect
import textwrap
from types import FunctionType, ModuleType
from typing import Any

from wattpack.jit import interpreted, is_kernel

ROLES = ("score", "weigh", "remember")
# Modules whose functions answer differently each time.
CHANCE_AND_CLOCK = ("random", "secrets", "uuid", "time", "datetime", "numpy.random")
MODEL_IS_A_NUMBER = (
    "node.model is a number, the place of the model in datacenter.models, and equals no text: "
    "look the number up in `prepare` and hand it over in params"
)


def faults_of_source(policy: Any) -> list[str]:
    """The faults in the policy's functions, each once."""
    faults: dict[str, None] = {}
    for role in ROLES:
        function = getattr(policy, role)
        if not is_kernel(function):
            faults[f"{role} is not a kernel: write @wp.kernel above `def {_name(function)}`"] = None
            continue
        for written in interpreted(function)[1]:
            faults.update(dict.fromkeys(_faults_of(role, written)))
    return list(faults)


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", function))


def _faults_of(role: str, function: FunctionType) -> list[str]:
    faults = [
        f"{role} calls {name}, which is not a kernel: write @wp.kernel above `def {name}`"
        for name in sorted(set(function.__code__.co_names))
        if isinstance(value := function.__globals__.get(name), FunctionType) and not is_kernel(value)
    ]
    faults += [
        f"{role} uses {name}: it must not depend on chance or on the clock" for name in sorted(_chance_names(function))
    ]
    if _compares_text(function):
        faults.append(f"{role} compares with a text: {MODEL_IS_A_NUMBER}")
    return faults


def _chance_names(function: FunctionType) -> set[str]:
    """Names like `np.random.rand` that lead into a module of chance or of the clock."""
    found: set[str] = set()
    value: Any = None
    name = ""
    for instruction in dis.get_instructions(function):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            name = str(instruction.argval)
            value = function.__globals__.get(name)
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(value, ModuleType):
            name += f".{instruction.argval}"
            value = getattr(value, str(instruction.argval), None)
        else:
            value = None
        # Functions of random and numpy.random are methods of a hidden generator.
        homes = (getattr(value, "__module__", None), type(getattr(value, "__self__", None)).__module__)
        if not isinstance(value, ModuleType) and any(str(home).startswith(CHANCE_AND_CLOCK) for home in homes):
            found.add(name)
    return found


def _compares_text(function: FunctionType) -> bool:
    """Whether a comparison has a text on one side; kernels have none that it could be equal to."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):  # typed in: calls.py sees the comparisons that are made
        return False
    return any(
        _is_text(side, function)
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        for side in (node.left, *node.comparators)
    )


def _is_text(side: ast.expr, function: FunctionType) -> bool:
    if isinstance(side, ast.Constant):
        return isinstance(side.value, str)
    if isinstance(side, ast.Tuple | ast.List | ast.Set):
        return any(_is_text(element, function) for element in side.elts)
    if isinstance(side, ast.Name) and side.id not in function.__code__.co_varnames:
        value = function.__globals__.get(side.id)
        return isinstance(value, str) or (isinstance(value, tuple) and any(isinstance(text, str) for text in value))
    return False

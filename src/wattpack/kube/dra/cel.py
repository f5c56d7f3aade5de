"""Selectors of classes and claims: CEL, evaluated on one device.

The library is imported when the first selector is evaluated (docs/decisions/020-cel.md). An expression is compiled
twice: once to check its types as the API server does, once to evaluate it. A lookup of a domain that the device does
not have gives an empty map, as in Kubernetes: where an evaluation fails, the domains that it looks up are added.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from wattpack.errors import UserError
from wattpack.kube.dra.cel_functions import FUNCTIONS, QUANTITY, SEMVER, quantity_value, semver_value
from wattpack.kube.dra.pools import Offered
from wattpack.kube.dra.slice_objects import Attribute
from wattpack.kube.objects import Unreadable
from wattpack.kube.quantity import nano

MAX_LENGTH = 10 * 1024  # of an expression, as in Kubernetes; the library stops after 10,000 steps of comprehensions
_ATTRIBUTES, _CAPACITY, _VALUE = "device.attributes", "device.capacity", "the value of an attribute"
_INDEXED = re.compile(r"""(device\.(?:attributes|capacity))\s*\[\s*["']([^"'\\]*)["']\s*\]""")
_PATTERN = re.compile(r"""\bmatches\(\s*(r?"(?:[^"\\]|\\.)*"|r?'(?:[^'\\]|\\.)*')\s*\)""")
# In these, more of a device than the attributes that the text names may matter: loops, sizes, built keys, whole maps.
_LOOKS_AT_ALL = re.compile(
    r"\b(?:all|exists|exists_one|map|filter|size|bind|dyn|format)\b|[{\\+]|\[(?!\s*[\"'])|\bin\s*device|has\(\s*device\.\w+\."
)


class SelectorError(Unreadable):
    """A selector that does not compile, or fails on a device: the request cannot be allocated there."""


class _Environments(NamedTuple):
    checking: Any  # quantities and versions are types of their own
    running: Any  # they are bytes


@lru_cache(maxsize=1)
def _environments() -> _Environments:
    try:
        from cel_expr_python import cel
        from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings
    except ImportError as fault:
        raise UserError(
            f"{fault.name} is not installed, expected wattpack[serve]: selectors of claims are CEL"
        ) from None
    plain = {"string": cel.Type.STRING, "bool": cel.Type.BOOL, "int": cel.Type.INT, "double": cel.Type.DOUBLE}
    # An attribute is `any` and not dynamic: a loop over one is refused.
    own = {name: cel.Type.AbstractType(name) for name in (QUANTITY, SEMVER)} | {_VALUE: cel.Type("any")}
    bare = {QUANTITY: cel.Type.BYTES, SEMVER: cel.Type.BYTES, _VALUE: cel.Type.DYN}

    def environment(types: dict[str, Any]) -> Any:
        overloads: dict[str, dict[str, Any]] = {}
        for function in FUNCTIONS:
            takes = [types[name] for name in function.takes]
            # Where quantities and versions are bytes alike, the two overloads of `compareTo` are one.
            number = f"{function.name}({','.join(one.name() for one in takes)})"
            overloads.setdefault(function.name, {})[number] = cel.Overload(
                number, types[function.gives], takes, is_member=function.member, impl=function.does
            )

        def by_domain(value: Any) -> Any:
            return cel.Type.Map(cel.Type.STRING, cel.Type.Map(cel.Type.STRING, value))

        return cel.NewEnv(
            variables={
                "device.driver": cel.Type.STRING,
                "device.allowMultipleAllocations": cel.Type.BOOL,
                _ATTRIBUTES: by_domain(types[_VALUE]),
                _CAPACITY: by_domain(types[QUANTITY]),
            },
            extensions=[ext_bindings.ExtBindings(), ext_strings.ExtStrings(), ext_optional.ExtOptional()],
            functions=[cel.FunctionDecl(name, list(found.values())) for name, found in overloads.items()],
        )

    return _Environments(environment(plain | own), environment(plain | bare))


@lru_cache(maxsize=4096)  # a cluster has a few dozen selectors; compiling one takes 0.5 ms
def _compiled(expression: str) -> Any:
    """The program; raises SelectorError."""
    if len(expression) > MAX_LENGTH:
        raise SelectorError(f"{len(expression)} characters of CEL, expected at most {MAX_LENGTH}")
    environments = _environments()
    try:
        returned = environments.checking.compile(expression).return_type().name()
        program = environments.running.compile(expression)
    except RuntimeError as fault:
        raise SelectorError(f"CEL {expression[:60]!r} does not compile: {_first_line(fault)}") from None
    if returned not in ("BOOL", "DYN", "ERROR"):  # ERROR is how the library calls `any`
        raise SelectorError(f"CEL {expression[:60]!r} does not compile: it gives {returned.lower()}, expected bool")
    for pattern in _PATTERN.findall(expression):  # the API server refuses patterns that are not regular expressions
        result = environments.running.compile(f'"".matches({pattern})').eval()
        if result.type().name() == "ERROR":
            raise SelectorError(f"CEL {expression[:60]!r} does not compile: {_first_line(result.value())}")
    return program


@lru_cache(maxsize=65536)
def _evaluated(expression: str, driver: str, shared: bool, attributes: Pairs, capacity: Pairs) -> bool | str:
    """The verdict, or why there is none."""
    program = _compiled(_versions_apart(expression, attributes))
    maps = {_ATTRIBUTES: _by_domain(attributes, driver), _CAPACITY: _by_domain(capacity, driver)}
    given = {"device.driver": driver, "device.allowMultipleAllocations": shared, **maps}
    found = _run(program, given)
    if isinstance(found, str):
        for name, domain in _INDEXED.findall(expression):
            maps[name].setdefault(domain, {})
        found = _run(program, given)
    return found


def _run(program: Any, given: dict[str, Any]) -> bool | str:
    try:
        result = program.eval(data=given)
    except RuntimeError as fault:
        return _first_line(fault)
    kind, value = result.type().name(), result.value()
    if kind == "BOOL":
        return bool(value)
    return _first_line(value) if kind == "ERROR" else f"gives {kind.lower()}, expected bool"


def _versions_apart(expression: str, attributes: Pairs) -> str:
    """A version that is compared with text or a number is an error in Kubernetes: here, a lookup that fails."""
    for name, value in attributes:
        if isinstance(value, bytes):
            short = re.escape(name.rpartition("/")[2])
            compared = rf"""(?:\.{short}|\[\s*["']{short}["']\s*\])(?=\s*[!=]=\s*(?:r?["']|-?[0-9]|true\b|false\b))"""
            expression = re.sub(compared, f'["{short} is a version, expected semver(...)"]', expression)
    return expression


Pairs = tuple[tuple[str, Any], ...]  # qualified name -> value


def matches(expression: str, offered: Offered) -> bool:
    """Whether the device meets the selector; raises SelectorError where Kubernetes would have an error too."""
    _compiled(expression)
    said, driver = offered.said, offered.id.driver
    attributes = [(name, _value(attribute)) for name, attribute in said.attributes.items()]
    capacity = [(name, quantity_value(nano(one.value))) for name, one in said.capacity.items()]
    if _LOOKS_AT_ALL.search(expression) is None:
        # GPUs differ in attributes such as their UUID: without those that the text does not name, they are alike.
        attributes = [pair for pair in attributes if pair[0].rpartition("/")[2] in expression]
        capacity = [pair for pair in capacity if pair[0].rpartition("/")[2] in expression]
    found = _evaluated(expression, driver, offered.shared, tuple(sorted(attributes)), tuple(sorted(capacity)))
    if isinstance(found, str):
        raise SelectorError(f"CEL {expression[:60]!r} on device {offered.id}: {found}")
    return found


def _value(attribute: Attribute) -> Any:
    if attribute.version is not None:
        return _version(attribute.version)
    if attribute.versions is not None:
        return tuple(map(_version, attribute.versions))
    for values in (attribute.ints, attribute.bools, attribute.strings):
        if values is not None:
            return tuple(values)
    found = attribute.value()
    if found is None:
        raise SelectorError("an attribute without a value that we know, expected int, bool, string or version")
    return found[1]


def _version(text: str) -> bytes:
    try:
        return semver_value(text)
    except ValueError as fault:
        raise SelectorError(str(fault)) from None


def _by_domain(pairs: Pairs, driver: str) -> dict[str, dict[str, Any]]:
    """Names without a domain are the driver's own."""
    found: dict[str, dict[str, Any]] = {}
    for name, value in pairs:
        domain, slash, short = name.partition("/")
        found.setdefault(domain if slash else driver, {})[short if slash else name] = (
            list(value) if isinstance(value, tuple) else value
        )
    return found


def _first_line(fault: object) -> str:
    """`INVALID_ARGUMENT: ERROR: <input>:1:7: undeclared ...` without its codes, on one line."""
    text = str(fault).partition("\n")[0]
    return re.sub(r"^(?:[A-Z_]+: )+(?:<input>:)?", "", text).strip()

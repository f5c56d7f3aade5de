"""The power file: your own GPUs, CPUs and node base power as TOML. Reads and writes its text; opens no files.

    profile = "measured"            # what is not said here comes from: paper (the default), linear, concave, measured
    name = "hall-3"                 # results call the profile measured+hall-3; default: the file's name
    share_of_limit = 0.7            # of limit_w at full use; default: the profile's (measured 0.7, the others 1)

    [node]
    base_w = 80                     # every node: fans, NICs, disks, conversion losses
    base_share_of_limits = 0.15     # and this share of the limits of its GPUs
    default_cpu = "EPYC 7763"       # the CPU of nodes that name none

    [gpu."H100-NVL"]                # the name as in the column `model` of nodes.csv; every key is optional
    like = "H100-80GB-HBM3"         # inherit from this model; default: from the model of the same name
    idle_w = 60                     # nothing on the GPU
    context_w = 85                  # a task holds it and does nothing
    max_w = 380                     # at full use; or limit_w, of which share_of_limit is drawn
    limit_w = 400                   # the board's power limit
    share_of_limit = 0.8            # of this model
    exponent = 0.8                  # context_w + (max_w - context_w) * share ** exponent
    points = [[0, 85], [0.5, 240], [1, 380]]    # or a measured curve: share in use -> W; share 0 is the context alone
    source = "calibrate, 2026-11-16"            # for people, as are confidence, samples and fit_error_w
    confidence = "curve"
    samples = 40
    fit_error_w = 3.5

    [cpu."Xeon 8480+"]              # one socket
    like = "Xeon Platinum 8369B"
    cores = 56                      # physical
    idle_w = 30
    max_w = 350
    source = "..."

What an entry says wins in every profile; the rest is inherited (`power_overlay.py`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from itertools import pairwise
from math import isfinite
from typing import Any, TypeVar

import msgspec

from wattpack.errors import UserError

MAX_BYTES = 1_000_000
MAX_ENTRIES = 1000  # GPUs, and CPUs
MAX_POINTS = 1001  # one for each milli-GPU
MAX_TEXT = 200
MAX_W = 1e6
MAX_CORES = 10_000
PROFILE_NAMES = ("paper", "linear", "concave", "measured")

_LIKE_NUMBER = re.compile(r"[-+0-9.,_eE ]+")

Points = tuple[tuple[float, float], ...]  # (share in use, W)


class GpuItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One `[gpu."NAME"]`. None: not said, inherited."""

    like: str | None = None
    idle_w: float | None = None
    context_w: float | None = None
    max_w: float | None = None
    limit_w: float | None = None
    share_of_limit: float | None = None
    exponent: float | None = None
    points: Points | None = None
    source: str | None = None
    confidence: str | None = None
    samples: int | None = None
    fit_error_w: float | None = None


class CpuItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One `[cpu."NAME"]`: a socket."""

    like: str | None = None
    cores: int | None = None
    idle_w: float | None = None
    max_w: float | None = None
    source: str | None = None


class NodeItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """`[node]`: what holds for every node."""

    base_w: float | None = None
    base_share_of_limits: float | None = None
    default_cpu: str | None = None


class PowerFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A whole file. Values are checked; whether models are known and idle is below maximum, the overlay checks."""

    profile: str | None = None
    name: str | None = None
    share_of_limit: float | None = None
    node: NodeItem = NodeItem()
    gpu: dict[str, GpuItem] = {}
    cpu: dict[str, CpuItem] = {}


Item = TypeVar("Item", GpuItem, CpuItem, NodeItem, PowerFile)
Check = Callable[[Any], str]  # what was expected of a value; empty if it is good


def _number(least: float, most: float, what: str, above: bool = False) -> Check:
    bounds = f"above {least:g} and at most {most:,.0f}" if above else f"from {least:g} to {most:,.0f}"

    def check(value: Any) -> str:
        good = isinstance(value, int | float) and not isinstance(value, bool) and -most <= value <= most
        good = good and isfinite(value) and (value > least if above else value >= least)
        return "" if good else f"{what} {bounds}"

    return check


def _whole(least: int, most: int, what: str) -> Check:
    def check(value: Any) -> str:
        good = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
        return "" if good else f"{what} from {least:,} to {most:,}"

    return check


def _text(value: Any) -> str:
    good = isinstance(value, str) and 0 < len(value) <= MAX_TEXT and value.isprintable()
    return "" if good else f"a text of 1 to {MAX_TEXT} printable characters"


def _profile(value: Any) -> str:
    return "" if value in PROFILE_NAMES else f"one of {', '.join(PROFILE_NAMES)}"


def _points(value: Any) -> str:
    """Shares that rise from 0 or above to 1, and watts that do not fall."""
    if not isinstance(value, list) or not 2 <= len(value) <= MAX_POINTS:
        return f"a list of 2 to {MAX_POINTS:,} points [share, watts]"
    for point in value:
        if not isinstance(point, list) or len(point) != 2 or _share(point[0]) or _watts(point[1]):
            return f"points [share from 0 to 1, watts from 0 to {MAX_W:,.0f}]"
    shares, watts = zip(*value, strict=True)
    if any(after <= before for before, after in pairwise(shares)) or shares[-1] != 1:
        return "shares that rise, the last one 1"
    falls = any(after < before for before, after in pairwise(watts))
    return "watts that do not fall as the share rises" if falls else ""


_share = _number(0, 1, "a share")
_watts = _number(0, MAX_W, "watts")
_some_watts = _number(0, MAX_W, "watts", above=True)
_some_share = _number(0, 1, "a share", above=True)
GPU_CHECKS: dict[str, Check] = {
    "like": _text,
    "idle_w": _watts,
    "context_w": _watts,
    "max_w": _some_watts,
    "limit_w": _some_watts,
    "share_of_limit": _some_share,
    "exponent": _number(0, 10, "an exponent", above=True),
    "points": _points,
    "source": _text,
    "confidence": _text,
    "samples": _whole(0, 10**12, "a count"),
    "fit_error_w": _watts,
}
CPU_CHECKS: dict[str, Check] = {
    "like": _text,
    "cores": _whole(1, MAX_CORES, "physical cores"),
    "idle_w": _watts,
    "max_w": _some_watts,
    "source": _text,
}
NODE_CHECKS: dict[str, Check] = {"base_w": _watts, "base_share_of_limits": _share, "default_cpu": _text}
TOP_CHECKS: dict[str, Check] = {"profile": _profile, "name": _text, "share_of_limit": _some_share}
TABLES = ("node", "gpu", "cpu")


def parse_power(data: bytes, where: str) -> PowerFile:
    """The power file in a TOML text; `where` names it in faults. One `UserError` reports all faults in its values."""
    if len(data) > MAX_BYTES:
        raise UserError(f"{where}: {len(data):,} bytes, expected a power file of at most {MAX_BYTES:,}")
    try:
        document = tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as fault:
        raise UserError(f"{where}: not UTF-8 text (byte {fault.start}), expected a power file") from None
    except ValueError as fault:  # says line and column; also a number with thousands of digits
        raise UserError(f"{where}: {' '.join(str(fault).split())}, expected TOML") from None
    except RecursionError:
        raise UserError(f"{where}: nested too deeply, expected a power file") from None
    faults: list[str] = []
    tables = {key: _table(document.pop(key, {}), key, faults) for key in TABLES}
    for key in ("gpu", "cpu"):
        if len(tables[key]) > MAX_ENTRIES:
            faults.append(f"{key}: {len(tables[key]):,} entries, expected at most {MAX_ENTRIES:,}")
            tables[key] = {}
    plain = _item(PowerFile, document, "", TOP_CHECKS, faults, TABLES)
    found = msgspec.structs.replace(
        plain,
        node=_item(NodeItem, tables["node"], "node.", NODE_CHECKS, faults),
        gpu=_items(GpuItem, tables["gpu"], "gpu", GPU_CHECKS, faults),
        cpu=_items(CpuItem, tables["cpu"], "cpu", CPU_CHECKS, faults),
    )
    for name, gpu in found.gpu.items():
        beside = [key for key in ("context_w", "max_w", "share_of_limit", "exponent") if _said(gpu, key)]
        if gpu.points is not None and gpu.points[0][0] > 0:  # share 0 is then context_w
            beside = [key for key in beside if key != "context_w"]
        if gpu.points is not None and beside:
            faults.append(f"{_at('gpu', name)}.{beside[0]}: beside points, expected one of them")
    if faults:
        raise UserError(f"{where}: {'; '.join(faults[:20])}" + (" ..." if len(faults) > 20 else ""))
    return found


def _said(item: msgspec.Struct, key: str) -> bool:
    return getattr(item, key) is not None


def _table(value: Any, place: str, faults: list[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        faults.append(f"{place}: {_short(value)}, expected a table [{place}]")
        return {}
    return value


def _items(
    kind: type[Item], table: Mapping[str, Any], place: str, checks: Mapping[str, Check], faults: list[str]
) -> dict[str, Item]:
    found = {}
    for name, value in table.items():
        at = _at(place, name)
        if expected := _text(name):
            faults.append(f"{place}: {_short(name)}, expected {expected} as name")
        else:
            found[name] = _item(kind, _table(value, at, faults), f"{at}.", checks, faults)
    return found


def _item(
    kind: type[Item],
    table: Mapping[str, Any],
    place: str,
    checks: Mapping[str, Check],
    faults: list[str],
    tables: tuple[str, ...] = (),
) -> Item:
    good = {}
    for key, value in table.items():
        if key not in checks:
            faults.append(f"{place}{_short(key)}: unknown key, expected {', '.join((*checks, *tables))}")
        elif expected := checks[key](value):
            faults.append(f"{place}{key}: {_short(value)}, expected {expected}")
        else:
            good[key] = value
    return msgspec.convert(good, kind)


def _at(place: str, name: str) -> str:
    return f"{place}.{msgspec.json.encode(name).decode()}"


def _short(value: object) -> str:
    """A value as a line can hold it. A text that reads like a number keeps its quotes: they are what is wrong."""
    bare = isinstance(value, str) and value.isprintable() and value and not _LIKE_NUMBER.fullmatch(value)
    text = str(value) if bare else repr(value)
    return text if len(text) <= 60 else f"{text[:40]}... ({len(text):,} characters)"


def to_toml(file: PowerFile, comments: Mapping[str, str] | None = None) -> str:
    """The file as TOML text that `parse_power` reads back as it is.

    `comments`: lines to put above a table, by its header without brackets: `gpu."A100"`, `node`; "" is the file's head.
    """
    said = comments or {}
    top = {key: getattr(file, key) for key in TOP_CHECKS}
    parts = [_comment(said.get("")) + _lines(top)]
    node = _lines({key: getattr(file.node, key) for key in NODE_CHECKS})
    if node or "node" in said:
        parts.append(f"{_comment(said.get('node'))}[node]\n{node}")
    entries: list[tuple[str, str, GpuItem | CpuItem]] = [("gpu", name, gpu) for name, gpu in file.gpu.items()]
    entries += [("cpu", name, cpu) for name, cpu in file.cpu.items()]
    for place, name, item in entries:
        header = _at(place, name)
        lines = _lines({key: getattr(item, key) for key in item.__struct_fields__})
        parts.append(f"{_comment(said.get(header))}[{header}]\n{lines}")
    return "\n".join(part for part in parts if part)


def _comment(text: str | None) -> str:
    return "".join(f"# {line}".rstrip() + "\n" for line in text.splitlines()) if text else ""


def _lines(values: Mapping[str, Any]) -> str:
    return "".join(f"{key} = {_value(value)}\n" for key, value in values.items() if value is not None)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return msgspec.json.encode(value).decode()  # a JSON string of printable characters is a TOML string
    if isinstance(value, tuple):
        return "[" + ", ".join(f"[{_value(share)}, {_value(watts)}]" for share, watts in value) + "]"
    return str(int(value)) if float(value).is_integer() else repr(float(value))

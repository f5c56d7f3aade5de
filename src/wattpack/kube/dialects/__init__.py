"""The dialects in which pods ask for GPUs: one file each, one name in the list here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import zip_longest

from wattpack.errors import UserError
from wattpack.kube.dialects.alibaba import ALIBABA
from wattpack.kube.dialects.aliyun import ALIYUN
from wattpack.kube.dialects.amd import AMD
from wattpack.kube.dialects.dialect import Asked, Dialect, most_whole
from wattpack.kube.dialects.dra import DRA
from wattpack.kube.dialects.hami import HAMI
from wattpack.kube.dialects.kai import KAI
from wattpack.kube.dialects.koordinator import KOORDINATOR
from wattpack.kube.dialects.mig import MIG
from wattpack.kube.dialects.nvidia import NVIDIA
from wattpack.kube.dialects.together import together
from wattpack.kube.dialects.volcano import VOLCANO

DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect for dialect in (ALIBABA, NVIDIA, AMD, KAI, HAMI, ALIYUN, VOLCANO, KOORDINATOR, MIG, DRA)
}


ALL = "all"
_USED: dict[str, Dialect] = dict(DIALECTS)


def find_dialect(names: str | Sequence[str]) -> Dialect:
    """The dialect of this name; several names, or `all` alone or among them, give dialects that are read together."""
    named = [names] if isinstance(names, str) else list(names)
    listed = list(DIALECTS) if ALL in named else named
    for name in listed:
        if name not in DIALECTS:
            raise UserError(
                f"unknown dialect {name!r}, expected one of {', '.join(DIALECTS)}, a list of them, or {ALL}"
            )
    if not listed:
        raise UserError(f"no dialect, expected one of {', '.join(DIALECTS)}, a list of them, or {ALL}")
    key = "+".join(dict.fromkeys(listed))
    if key not in _USED:
        _USED[key] = together([DIALECTS[name] for name in dict.fromkeys(listed)], key)
    return _USED[key]


def most_held(dialect: Dialect, asked: Asked) -> list[int]:
    """What a pod on a node can hold at most, as milli of each GPU, in whatever words: for requests that cannot be read.

    At each place the largest that any dialect says: which of them gave out the pod's GPUs is not known. Annotations
    count only in the dialects in use, but a device that is given out for a resource is held whatever we read.
    """
    in_use = dialect.parts or (dialect,)
    bare = replace(asked, annotations={}, labels={})
    own = [one.most(asked if one in in_use else bare) for one in DIALECTS.values() if one.most is not most_whole]
    vgpus = any(asked.total_nano.get(name) for name in HAMI.resources)  # beside these, `nvidia.com/gpu` counts vGPUs
    plain = [] if vgpus else most_whole(asked)
    return [max(at) for at in zip_longest(*(sorted(one, reverse=True) for one in (plain, *own)), fillvalue=0)]


def foreign_name(dialect: Dialect, name: str) -> str:
    """The other dialect that `name` (a resource or a pod annotation) belongs to, "" if none.

    A pod that asks in a dialect other than the configured one would look as if it asked for no GPU.
    """
    return _foreign(dialect.name, name)


@lru_cache(maxsize=4096)
def dialects_of(name: str) -> frozenset[str]:
    """The dialects to whose own words a resource or pod annotation belongs."""
    return frozenset(dialect.name for dialect in DIALECTS.values() if dialect.owns(name))


@lru_cache(maxsize=4096)  # pods carry the same few dozen names; without the cache a pod took 15 us more
def _foreign(dialect: str, name: str) -> str:
    if _USED[dialect].owns(name):
        return ""
    return next((other.name for other in DIALECTS.values() if other.owns(name)), "")

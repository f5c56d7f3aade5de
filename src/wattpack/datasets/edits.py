"""Small edits of a datacenter: nodes removed, given other GPUs, added; as options or behind a datacenter's name.

`alibaba2023 --remove T4 --add 20xH100-8` names the built-in datacenter without its T4 nodes and with 20 nodes of eight
H100 at the end of the node order. Removals come first, then replacements, whatever the order of the words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.datasets.csv_files import MAX_AMOUNT
from wattpack.errors import UserError
from wattpack.model.catalog import GPUS
from wattpack.model.gpu_names import catalog_name, model_of
from wattpack.model.nodes import MAX_GPUS, Datacenter
from wattpack.model.pools import CPU, NONE, OPEN, Pool
from wattpack.model.power import PAPER, PowerProfile

MAX_NODES = 1_000_000  # of an edited datacenter: 100 bytes a node
VCPU_PER_GPU, MEMORY_GIB_PER_GPU = 16, 128  # of added nodes unless given: as the nodes of eight A100 of alibaba2026
MAX_LETTERS = 120  # of an edit
WITHOUT_GPU = "cpu"  # in the place of MODEL-GPUS
OPEN_POOL = "open"  # behind `@`: no pool, unless one is called so
MOST_POOLS = 8  # that a message names

ADD = re.compile(
    r"(?:([0-9]{1,9})x)?(?:([^@]+)-([0-9]{1,3})|cpu)(?::([0-9]{1,12})c)?(?::([0-9]{1,12})g)?(?:@([^@|]+))?",
    re.IGNORECASE,
)
REMOVE = re.compile(r"(?:([0-9]{1,9})x)?([^@]+?)(?:-([0-9]{1,3}))?(?:@([^@|]+))?", re.IGNORECASE)
COUNT_LIKE = re.compile(r"[-+.,0-9]+(?:e[0-9]+)?x", re.IGNORECASE)  # -5x, 1.5x, 1e3x: no count, and no model
ADD_FORM = "expected COUNTxMODEL-GPUS like 20xH100-8, or with vCPU and GiB of a node 20xH100-8:128c:1024g"
REMOVE_FORM = "expected a model like T4, or COUNTxMODEL-GPUS like 10xT4-2"
REPLACE_FORM = "expected two models like T4=L4, or COUNTxMODEL-GPUS=MODEL like 10xT4-2=L4"
BEHIND_NAME = re.compile(r"\s+--(add|remove|replace)\s+(\S+)")
# Short names that mean several models to a label, and the SXM board to somebody who plans nodes.
SHORT = {"h100": "H100-80GB-HBM3", "a800": "A800-SXM4-80GB"}


class NodeType(NamedTuple):
    """Nodes to add."""

    nodes: int
    cpu_milli: int
    memory_mib: int
    gpus: int
    model: str
    cpu_model: str
    capacity_milli: int  # -1: unknown
    pool: Pool


def with_edits(
    name: str, add: Iterable[str] | None, remove: Iterable[str] | None, replaced: Iterable[str] | None = None
) -> str:
    """The name of a datacenter with edits behind it, which `load_datacenter` understands."""
    given = (("remove", remove), ("replace", replaced), ("add", add))
    words = [f" --{option} {text}" for option, texts in given for text in texts or ()]
    for word in words:
        if not BEHIND_NAME.fullmatch(word) or len(word) > MAX_LETTERS:
            raise UserError(f"{word[:MAX_LETTERS].strip()!r}: expected one short word, like 20xH100-8")
    return name + "".join(words)


def split_edits(text: str) -> tuple[str, list[str], list[str], list[str]]:
    """The name without edits, what is added, what is removed, what is replaced."""
    first = BEHIND_NAME.search(text)
    if first is None or BEHIND_NAME.sub("", text[first.start() :]) != "":
        return text, [], [], []
    found = BEHIND_NAME.findall(text, first.start())
    add, remove, other = ([word for option, word in found if option == name] for name in ("add", "remove", "replace"))
    return text[: first.start()], add, remove, other


def models_of_edits(add: Iterable[str], replaced: Iterable[str]) -> list[str]:
    """GPU models of added and replaced nodes that neither the paper nor the catalog has, as they are written."""
    added = [found[2] for text in add if (found := ADD.fullmatch(text)) and found[2] and not COUNT_LIKE.match(found[2])]
    given = [*added, *(text.partition("=")[2] for text in replaced)]
    known = [*PAPER.known_gpus, *GPUS]
    return [
        name
        for name in given
        if name and name.lower() not in (WITHOUT_GPU, *SHORT) and not (model_of(name, known) or catalog_name(name))
    ]


def short_name(text: str) -> str:
    """The name for titles: of a file without folder and ending, with the edits."""
    name, *edits = split_edits(text)
    return with_edits(Path(name).stem, *edits)


def edited(
    datacenter: Datacenter,
    add: Sequence[str] | None,
    remove: Sequence[str] | None,
    profile: PowerProfile = PAPER,
    replaced: Sequence[str] | None = None,
) -> Datacenter:
    """The datacenter without the nodes of `remove`, with the GPUs of `replaced`, and then with the nodes of `add`.

    GPU models must be in `profile`.
    """
    name = with_edits(datacenter.name, add, remove, replaced)
    for text in remove or ():
        datacenter = _without(datacenter, text, may_be_all=bool(add))
    for text in replaced or ():
        datacenter = _with_other_gpus(datacenter, text, profile)
    for text in add or ():
        datacenter = _with(datacenter, _node_type(datacenter, text, profile))
    return replace(datacenter, name=name)


def nodes_like(datacenter: Datacenter, text: str, profile: PowerProfile = PAPER) -> tuple[str, int]:
    """`H100-8` as the catalog names it, and how many nodes of this model and number of GPUs the datacenter has.

    With a pool, `H100-8@p3`: how many of them are in it.
    """
    found = ADD.fullmatch(text)
    if found is None or found[1] is not None or found[2] is None:
        raise UserError(f"nodes {text!r}, expected MODEL-GPUS like H100-8, or H100-8:128c:1024g")
    asked = _node_type(datacenter, text, profile, "nodes")
    same = np.array([model == asked.model for model in datacenter.models], dtype=bool)[datacenter.model]
    same &= datacenter.gpus == asked.gpus
    if found[6] is not None:
        same &= _in_pool(datacenter, found[6])
    return f"{asked.model}-{asked.gpus}", int(same.sum())


def _pool_joined(datacenter: Datacenter, model: str, gpus: int, option: str, asked: str | None, text: str) -> Pool:
    """The pool of a new node: the one asked for, or that of the nodes it resembles most, where they are in one.

    They resemble it by model and number of GPUs, then by model, then by having GPUs at all. Pools that take no such
    task, as those of cordoned nodes do not, are no pools to join.
    """
    own = [datacenter.pools[pool] for pool in datacenter.pool.tolist()]
    if asked is not None:
        named = [pool for pool in own if pool.name == asked]
        if not named and asked != OPEN_POOL:
            raise UserError(f"{option}: no node is in the pool {asked!r}, {_pools_there(datacenter, text, own)}")
        return _least_closed(named) if named else OPEN
    models = np.array(datacenter.models)[datacenter.model]
    same = models == model
    for alike in (same & (datacenter.gpus == gpus), same, (datacenter.gpus > 0) == (gpus > 0)):
        pools = {pool for pool, there in zip(own, alike.tolist(), strict=True) if there and _may_join(pool, gpus)}
        if len({pool.name for pool in pools}) == 1:
            return _least_closed(pools)
        if pools:
            break
    if all(pool == OPEN for pool in datacenter.pools):
        return OPEN
    there = _pools_there(datacenter, text, pools or own)
    raise UserError(f"{option}: nodes like it are in {'several pools' if pools else 'no pool'}, {there}")


def _may_join(pool: Pool, gpus: int) -> bool:
    words = pool.only.split("|")
    return NONE not in words and not (gpus and CPU in words)


def _least_closed(pools: Iterable[Pool]) -> Pool:
    return min(pools, key=lambda pool: (NONE in pool.only, pool.only.count("|"), len(pool.only), pool.only))


def _pools_there(datacenter: Datacenter, text: str, shown: Iterable[Pool]) -> str:
    """Pools of a datacenter by name, with what is in them, for a message."""
    nodes: dict[str, Counter[str]] = {}
    for pool, model, gpus in zip(
        datacenter.pool.tolist(), datacenter.model.tolist(), datacenter.gpus.tolist(), strict=True
    ):
        kind = f"{datacenter.models[model]}-{gpus}" if gpus else WITHOUT_GPU
        nodes.setdefault(datacenter.pools[pool].name, Counter())[kind] += 1
    names = sorted({pool.name for pool in shown} - {""}, key=list(nodes).index)
    said = [f"{name} ({_kinds(nodes[name])})" for name in names[:MOST_POOLS]]
    said += [f"{len(names) - MOST_POOLS} more"] if len(names) > MOST_POOLS else []
    example = f"{text.partition('@')[0]}@{names[0] if names else OPEN_POOL}"
    return f"expected {', '.join([*said, ''])}or {OPEN_POOL} (to tasks that name no pool), as in {example}"


def _kinds(kinds: Counter[str]) -> str:
    (kind, _), *others = kinds.most_common()
    return f"{kinds.total()} x {kind}" if not others else f"{kinds.total()} nodes, most of them {kind}"


def _without(datacenter: Datacenter, text: str, may_be_all: bool) -> Datacenter:
    which = _nodes_meant(datacenter, text, f"--remove {text!r}", REMOVE_FORM)
    if len(which) == len(datacenter) and not may_be_all:
        raise UserError(f"--remove {text!r}: {datacenter.name} has no other nodes, expected at least one that is left")
    kept: NDArray[np.int64] = np.delete(np.arange(len(datacenter)), which)
    # The nodes that are left stand as in a file of their own.
    left = datacenter.ordered(kept)
    return _compacted(replace(left, file_place=None) if datacenter.file_place is None else left)


def _with_other_gpus(datacenter: Datacenter, text: str, profile: PowerProfile) -> Datacenter:
    """`T4=L4`: nodes, vCPU, memory and number of GPUs stay, the model is another."""
    option = f"--replace {text!r}"
    old, equals, new = text.partition("=")
    if equals == "" or old == "" or new == "" or old.lower() == WITHOUT_GPU:
        raise UserError(f"{option}, {REPLACE_FORM}")
    which = _nodes_meant(datacenter, old, option, REPLACE_FORM)
    if new.lower() == WITHOUT_GPU:
        raise UserError(f"{option}, {REPLACE_FORM}")
    model = _model_known(new, profile, option)
    models = datacenter.models if model in datacenter.models else (*datacenter.models, model)
    places = datacenter.model.copy()
    places[which] = models.index(model)
    return _compacted(replace(datacenter, models=models, model=places))


def _nodes_meant(datacenter: Datacenter, text: str, option: str, form: str) -> NDArray[np.int64]:
    """The nodes of `T4` or `10xT4-2`. Counted nodes are the last ones of their kind in node order."""
    found = REMOVE.fullmatch(text)
    if found is None:
        raise UserError(f"{option}, {form}")
    # Models may end in -80 or so: the whole text is a model first.
    model, gpus = _model_there(datacenter, f"{found[2]}-{found[3]}") if found[3] else None, ""
    if model is None:
        model, gpus = _model_there(datacenter, found[2]), found[3] or ""
    if model is None:
        own = ", ".join(name or WITHOUT_GPU for name in sorted(datacenter.models)) or "none: no node is left"
        raise UserError(f"{option}: {datacenter.name} has no such node, expected one of {own}")
    there = np.array([name == model for name in datacenter.models], dtype=bool)[datacenter.model]
    if gpus:
        there &= datacenter.gpus == int(gpus)
    if found[4]:
        there &= _in_pool(datacenter, found[4])
    which = np.flatnonzero(there)
    count = len(which) if found[1] is None else int(found[1])
    if len(which) == 0:
        raise UserError(f"{option}: {datacenter.name} has no such node, {form}")
    if not 0 < count <= len(which):
        raise UserError(f"{option}: {datacenter.name} has {len(which)} such nodes, expected a count from 1 to that")
    return which[len(which) - count :]


def _in_pool(datacenter: Datacenter, name: str) -> NDArray[np.bool_]:
    wanted = "" if name == OPEN_POOL and all(pool.name != name for pool in datacenter.pools) else name
    return np.array([pool.name == wanted for pool in datacenter.pools], dtype=bool)[datacenter.pool]


def _model_there(datacenter: Datacenter, name: str) -> str | None:
    """The datacenter's model of this name: itself, a short form of it, or the only one that begins so."""
    if name.lower() == WITHOUT_GPU:
        return "" if "" in datacenter.models else None
    own = [model for model in datacenter.models if model]
    found = model_of(name, own) or model_of(SHORT.get(name.lower(), name), own)
    beginning = [model for model in own if model.lower().startswith(f"{name.lower()}-")]
    return found or (beginning[0] if len(beginning) == 1 else None)


def _node_type(datacenter: Datacenter, text: str, profile: PowerProfile, option: str = "--add") -> NodeType:
    found = ADD.fullmatch(text)
    if found is None:
        raise UserError(f"--add {text!r}, {ADD_FORM}")
    count = 1 if found[1] is None else int(found[1])
    gpus = 0 if found[2] is None else int(found[3])
    if not 1 <= count <= MAX_NODES - len(datacenter):
        raise UserError(f"--add {text!r}: expected 1 to {MAX_NODES - len(datacenter):,} nodes")
    if found[2] is None and (found[4] is None or found[5] is None):
        raise UserError(f"--add {text!r}: a node without GPU, expected its vCPU and GiB too, like {count}xcpu:64c:256g")
    if found[2] is not None and found[2].lower() == WITHOUT_GPU:
        raise UserError(
            f"--add {text!r}: {WITHOUT_GPU} with a number of GPUs, expected a form like {count}xcpu:64c:256g"
        )
    if found[2] is not None and COUNT_LIKE.match(found[2]) and not model_of(found[2], profile.known_gpus):
        raise UserError(f"--add {text!r}, {ADD_FORM}")
    if found[2] is not None and not 1 <= gpus <= MAX_GPUS:
        raise UserError(f"--add {text!r}: {gpus} GPUs a node, expected 1 to {MAX_GPUS}")
    model = "" if found[2] is None else _model_known(found[2], profile, f"--add {text!r}")
    cpu_milli, memory_mib, cpu_model, capacity_milli = _usual(datacenter, model, gpus)
    if found[4] is not None:
        cpu_milli, capacity_milli = int(found[4]) * 1000, -1
    if found[5] is not None:
        memory_mib = int(found[5]) * 1024
    if max(cpu_milli, memory_mib) > MAX_AMOUNT:
        raise UserError(f"--add {text!r}: expected at most {MAX_AMOUNT // 1000:,} vCPU and {MAX_AMOUNT // 1024:,} GiB")
    pool = _pool_joined(datacenter, model, gpus, f"{option} {text!r}", found[6], text)
    return NodeType(count, cpu_milli, memory_mib, gpus, model, cpu_model, capacity_milli, pool)


def usual_model(name: str, profile: PowerProfile) -> str:
    """A model as a user writes it: `H100` is the H100 of most machines, as `20xH100-8` reads it."""
    own = profile.known_gpus
    return model_of(name, own) or model_of(SHORT.get(name.lower(), name), own) or catalog_name(name) or name


def _model_known(name: str, profile: PowerProfile, option: str) -> str:
    model = usual_model(name, profile)
    try:
        profile.gpu(model)
    except UserError as unknown:
        raise UserError(f"{option}: {unknown}") from None
    return model


def _usual(datacenter: Datacenter, model: str, gpus: int) -> tuple[int, int, str, int]:
    """Milli-vCPU, MiB, CPU model and capacity of the datacenter's most frequent node of this kind, or the defaults."""
    there = np.array([name == model for name in datacenter.models], dtype=bool)[datacenter.model] & (
        datacenter.gpus == gpus
    )
    capacity = np.full(len(datacenter), -1) if datacenter.own_capacity_milli is None else datacenter.own_capacity_milli
    own = (datacenter.cpu_milli, datacenter.memory_mib, datacenter.cpu_model, capacity)
    columns = (column[there].tolist() for column in own)
    kinds = Counter(zip(*columns, strict=True)).most_common(1)
    if not kinds:
        return gpus * VCPU_PER_GPU * 1000, gpus * MEMORY_GIB_PER_GPU * 1024, "", -1
    cpu_milli, memory_mib, cpu_model, capacity_milli = kinds[0][0]
    return cpu_milli, memory_mib, datacenter.cpu_models[cpu_model], capacity_milli


def _with(datacenter: Datacenter, new: NodeType) -> Datacenter:
    """The nodes come last, named after model and GPUs: `h100-80gb-hbm3-8-added-0001`."""
    prefix = f"{new.model.lower()}-{new.gpus}-added" if new.gpus else f"{WITHOUT_GPU}-added"
    taken, names, number = set(datacenter.names), list[str](), 0
    while len(names) < new.nodes:
        number += 1
        if (name := f"{prefix}-{number:04d}") not in taken:
            names.append(name)
    models, cpu_models = (
        own if text in own else (*own, text)
        for own, text in ((datacenter.models, new.model), (datacenter.cpu_models, new.cpu_model))
    )

    def longer(column: NDArray[np.int64], value: int) -> NDArray[np.int64]:
        return np.concatenate([column, np.full(new.nodes, value, dtype=np.int64)])

    pools = datacenter.pools if new.pool in datacenter.pools else (*datacenter.pools, new.pool)
    base, capacity, place = datacenter.own_base_mw, datacenter.own_capacity_milli, datacenter.file_place
    if capacity is None and new.capacity_milli >= 0:
        capacity = np.full(len(datacenter), -1, dtype=np.int64)
    return replace(
        datacenter,
        names=(*datacenter.names, *names),
        cpu_milli=longer(datacenter.cpu_milli, new.cpu_milli),
        memory_mib=longer(datacenter.memory_mib, new.memory_mib),
        gpus=longer(datacenter.gpus, new.gpus),
        model=longer(datacenter.model, models.index(new.model)),
        models=models,
        cpu_model=longer(datacenter.cpu_model, cpu_models.index(new.cpu_model)),
        cpu_models=cpu_models,
        pool=longer(datacenter.pool, pools.index(new.pool)),
        pools=pools,
        own_base_mw=None if base is None else longer(base, -1),
        file_place=None if place is None else np.concatenate([place, place.max() + 1 + np.arange(new.nodes)]),
        own_capacity_milli=None if capacity is None else longer(capacity, new.capacity_milli),
    )


def _compacted(datacenter: Datacenter) -> Datacenter:
    """Without models and pools that no node has, in order of first appearance: as a file of these nodes has them."""
    models, model = _used(datacenter.models, datacenter.model)
    cpu_models, cpu_model = _used(datacenter.cpu_models, datacenter.cpu_model)
    found = replace(datacenter, models=models, model=model, cpu_models=cpu_models, cpu_model=cpu_model)
    return found.in_pools([datacenter.pools[pool] for pool in datacenter.pool.tolist()])


def _used(names: tuple[str, ...], index: NDArray[np.int64]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The names that `index` uses, and the index into them."""
    places: dict[int, int] = {}
    new = np.array([places.setdefault(old, len(places)) for old in index.tolist()], dtype=np.int64)
    return tuple(names[old] for old in places), new

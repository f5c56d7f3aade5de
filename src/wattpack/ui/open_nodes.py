"""Which nodes are open to a pod that is asked about: by nodes.json beside nodes.csv, with the rule of `wattpack fit`.

The pools of nodes.csv are those of the pods that were imported. Another pod may go to a part of a pool only: then the
pool is divided for the question, and tasks that may go to the pool may go to both parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from wattpack.errors import UserError
from wattpack.kube.constraints import constraints_of, why_not
from wattpack.kube.facts import PodFacts
from wattpack.kube.import_files import NODES_JSON, read_cluster_files
from wattpack.kube.objects import Node, Pod
from wattpack.kube.questions import not_open_line
from wattpack.model.nodes import Datacenter
from wattpack.model.pools import CPU, HELD, NONE, Pool
from wattpack.model.tasks import TaskClass
from wattpack.ui.answers import NotOpen

NOT_KNOWN = "taints, node selectors and node affinity are not known: "
SHOWN = 200  # nodes named for each reason
OPEN_PART, CLOSED_PART = "+", "-"  # behind the name of a pool


class Labels(NamedTuple):
    """The nodes of nodes.csv with their labels and taints, or why they are not known."""

    nodes: Mapping[str, Node]
    why_unknown: str = ""


def labels_beside(path: str, names: Sequence[str]) -> Labels:
    """Of the nodes `names` of the file `path`; a built-in datacenter has no labels."""
    file = Path(path).parent / NODES_JSON
    if not Path(path).is_file() or not file.is_file():
        return Labels({}, f"{NOT_KNOWN}no {NODES_JSON} of `wattpack import` beside {Path(path).name}")
    try:
        nodes = {node.metadata.name: node for node in read_cluster_files([file]).nodes}
    except UserError as fault:
        return Labels({}, f"{NOT_KNOWN}{str(fault).replace(str(file), NODES_JSON)}")
    if others := sorted(nodes.keys() ^ set(names)):
        said = f"{NODES_JSON} beside {Path(path).name} is of other nodes ({others[0]} or others differ)"
        return Labels({}, f"{NOT_KNOWN}{said}")
    return Labels(nodes)


def refusals(pod: Pod, facts: PodFacts, nodes: Mapping[str, Node], datacenter: Datacenter) -> list[str]:
    """What keeps the pod off each node of the datacenter, "" if nothing does.

    A node that was added is as the first node of its pool, if possible of its type too; alone in its pool it is open.
    """
    constraints = constraints_of(pod, facts.dialect)
    kinds = list(zip(datacenter.pool.tolist(), datacenter.model.tolist(), datacenter.gpus.tolist(), strict=True))
    there: dict[tuple[int, ...], str] = {}  # what keeps the pod off nodes of a pool, and of a pool and type
    for name, kind in zip(datacenter.names, kinds, strict=True):
        if name in nodes:
            why = why_not(constraints, nodes[name])
            there.setdefault(kind, why)
            there.setdefault(kind[:1], why)
    found = []
    for name, kind in zip(datacenter.names, kinds, strict=True):
        like = there.get(kind, there.get(kind[:1], ""))
        why = why_not(constraints, nodes[name]) if name in nodes else like
        found.append(why or _closed(datacenter.pools[kind[0]], facts.task.num_gpu > 0))
    return found


def _closed(pool: Pool, with_gpu: bool) -> str:
    """Why the nodes of a pool take no new task of this kind, whatever it tolerates."""
    words = pool.only.split("|")
    if NONE in words:
        return "takes no new tasks"
    return "takes no tasks with GPUs" if CPU in words and with_gpu else ""


def divided(
    datacenter: Datacenter, classes: Sequence[TaskClass], why: Sequence[str]
) -> tuple[Datacenter, list[TaskClass], str]:
    """The datacenter with its pools in an open and a closed part, classes that may go to both, and the open parts."""
    named = any(pool.name for pool in datacenter.pools)
    own = [datacenter.pools[p] for p in datacenter.pool.tolist()]
    parts = [
        Pool(pool.name + (CLOSED_PART if reason else OPEN_PART), pool.only)
        for pool, reason in zip(own, why, strict=True)
    ]
    open_parts = dict.fromkeys(part.name for part, reason in zip(parts, why, strict=True) if not reason)
    as_before = [task._replace(pool_spec=_both_parts(task.pool_spec, named)) for task in classes]
    return datacenter.in_pools(parts), as_before, "|".join(open_parts) or HELD


def _both_parts(spec: str, named: bool) -> str:
    if not named:
        return ""  # it is of other nodes, and says nothing here
    if spec in ("", HELD):
        return spec
    return "|".join(f"{name}{part}" for name in spec.split("|") for part in (OPEN_PART, CLOSED_PART))


def in_words(names: Sequence[str], why: Sequence[str]) -> tuple[str, list[NotOpen]]:
    """The line of `wattpack fit` about nodes that are not open to the pod, and the nodes by reason."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in zip(names, why, strict=True):
        if reason:
            by_reason.setdefault(reason, []).append(name)
    lines = not_open_line(dict(zip(names, why, strict=True)))
    most_first = sorted(by_reason.items(), key=lambda item: -len(item[1]))
    return "\n".join(lines), [NotOpen(reason, len(found), found[:SHOWN]) for reason, found in most_first]

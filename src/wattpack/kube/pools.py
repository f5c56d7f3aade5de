"""The nodes of a cluster in pools: nodes that the same tasks may go to. This is how files keep where tasks may go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from wattpack.kube.constraints import NAME_FIELD, Constraints, Wish, allows, hard_taints, words_of
from wattpack.kube.dialects.dra import DRA
from wattpack.kube.objects import Node
from wattpack.model.pools import HELD, MAX_POOLS, NAMED, NONE, only_words

TOO_MANY = f"more than {MAX_POOLS} kinds of nodes"
BY_CLAIMS = frozenset({DRA.name})
OTHER = "\0"  # in place of a label's value that no constraint names

Signature = tuple[object, ...]
Row = tuple[str, tuple[bool, ...]]  # which tasks a node takes: `only`, and whether it is allowed, by constraints


@dataclass(frozen=True)
class Pools:
    """`name` and `only` by node, `spec` by constraints: the columns pool, only and pool_spec of our files."""

    name: dict[str, str]
    only: dict[str, str]
    spec: dict[Constraints, str]
    closed: dict[str, str] = field(default_factory=dict)  # why a node was closed here


def in_pools(
    nodes: Sequence[Node], only: Mapping[str, str], wanted: Sequence[Constraints], sliced: Set[str] = frozenset()
) -> Pools:
    """Pools of the nodes for tasks with these constraints; `only` says which nodes are closed already, and how far.

    `sliced`: nodes whose GPUs are given out by resource claims, so that no other dialect serves there.
    """
    distinct = list(dict.fromkeys(wanted))
    rows = _rows(nodes, only, distinct, sliced)
    closed: dict[str, str] = {}
    if len(set(rows.values())) > MAX_POOLS:  # tasks that one node alone would take: they stay there
        nodes_of = [sum(row[1][c] for row in rows.values()) for c in range(len(distinct))]
        distinct = [constraints for constraints, count in zip(distinct, nodes_of, strict=True) if count > 1]
        rows = _rows(nodes, only, distinct, sliced)
    sizes = Counter(rows.values())
    if len(sizes) > MAX_POOLS:
        kept = {row for row, _ in sizes.most_common(MAX_POOLS - 1)}
        nobody: Row = (NONE, (False,) * len(distinct))
        closed = {name: TOO_MANY for name, row in rows.items() if row not in kept}
        rows = {name: row if row in kept else nobody for name, row in rows.items()}
    numbers = {row: f"p{i}" for i, row in enumerate(dict.fromkeys(rows[name] for name in sorted(rows)), 1)}
    spec = {constraints: _spec(c, numbers) for c, constraints in enumerate(distinct)}
    named = any(spec.values()) or len(distinct) < len(set(wanted))
    return Pools(
        {name: numbers[row] if named else "" for name, row in rows.items()},
        {name: row[0] for name, row in rows.items()},
        {constraints: spec.get(constraints, HELD) for constraints in wanted},
        closed,
    )


def _spec(c: int, numbers: Mapping[Row, str]) -> str:
    """The pools that constraints number `c` allow; empty: just those that take a task without any constraint."""
    allowed = [name for (only, row), name in numbers.items() if row[c] and NONE not in only]
    plain = [name for (only, _), name in numbers.items() if NONE not in only and NAMED not in only.split("|")]
    return "" if allowed == plain else "|".join(allowed) or HELD


def _rows(
    nodes: Sequence[Node], only: Mapping[str, str], wanted: Sequence[Constraints], sliced: Set[str]
) -> dict[str, Row]:
    """By node. Nodes that differ in nothing that a constraint names are looked at once."""
    keys = _named_values(wanted)
    resources = sorted({name for constraints in wanted for name, _ in constraints.resources})
    known: dict[Signature, Row] = {}
    rows = {}
    for node in nodes:
        name, closed = node.metadata.name, only.get(node.metadata.name, "")
        offered = tuple(str(node.status.allocatable.get(name, 0)) for name in resources)
        words = words_of(node) | (BY_CLAIMS if name in sliced else frozenset())
        served = tuple(name in constraints.nodes for constraints in wanted if constraints.nodes is not None)
        signature = (closed, words, offered, served, *_signature(node, keys))
        if signature not in known:
            taken = NONE not in closed
            tainted = NAMED if hard_taints(node) and taken else ""
            verdicts = tuple(taken and allows(constraints, node, words) for constraints in wanted)
            known[signature] = only_words(*closed.split("|"), tainted), verdicts
        rows[name] = known[signature]
    return rows


def _named_values(wanted: Sequence[Constraints]) -> dict[str, set[str] | None]:
    """Labels that constraints look at, with the values that they name; None: any value matters (numbers)."""
    keys: dict[str, set[str] | None] = {}
    for constraints in wanted:
        wishes = [Wish(key, "In", (value,)) for key, value in constraints.selector]
        wishes += [wish for term in constraints.terms or () for wish in (*term.labels, *term.fields)]
        for key, operator, values in wishes:
            found = keys.setdefault(key, set())
            if operator in ("Gt", "Lt"):
                keys[key] = None
            elif found is not None:
                found |= set(values)
    return keys


def _signature(node: Node, keys: Mapping[str, set[str] | None]) -> Signature:
    labels = {**node.metadata.labels, NAME_FIELD: node.metadata.name}
    seen = []
    for key, values in keys.items():
        value = labels.get(key)
        seen.append(value if value is None or values is None or value in values else OTHER)
    return (*((taint.key, taint.value, taint.effect) for taint in hard_taints(node)), None, *seen)

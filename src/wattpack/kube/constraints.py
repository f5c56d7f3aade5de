"""Which nodes a pod may go to: the one translation of Kubernetes' own filters, for `import`, `fit`, shadow and `serve`.

Cordons, taints, node selectors and required node affinity (labels and names of nodes) are read, the architecture
(kubernetes.io/arch) among the labels, and whether the node offers the extended resources that the pod asks for. Not
read: affinity between pods, topology spread, host ports, volumes, how much of other resources than CPU, memory and GPUs
is left, runtime classes, scheduling gates. tests/e2e/test_verdicts.py compares with the verdicts of kube-scheduler.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from wattpack.kube.dialects import ALL, DIALECTS, dialects_of, find_dialect
from wattpack.kube.dialects.mig import PREFIX as MIG_PREFIX
from wattpack.kube.objects import Expression, Node, NodeSelector, Pod, Taint
from wattpack.kube.pod_requests import pod_requests
from wattpack.kube.quantity import nano

HARD = ("NoSchedule", "NoExecute")
CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
NOT_READY = Taint("node.kubernetes.io/not-ready", "", "NoSchedule")
NAME_FIELD = "metadata.name"
# Running pods keep to these unless they name them themselves: an image is built for one architecture and system.
KEPT_LABELS = ("kubernetes.io/arch", "kubernetes.io/os")
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)


class Wish(NamedTuple):
    """One requirement on a label, or on the name of the node."""

    key: str
    operator: str
    values: tuple[str, ...]


class Term(NamedTuple):
    """Requirements that must all hold."""

    labels: tuple[Wish, ...]
    fields: tuple[Wish, ...]


class Tolerated(NamedTuple):
    key: str
    operator: str
    value: str
    effect: str


class Constraints(NamedTuple):
    """What limits the nodes of a pod. Equal constraints allow equal nodes."""

    selector: tuple[tuple[str, str], ...] = ()
    terms: tuple[Term, ...] | None = None  # of which one must hold; None: no required affinity
    tolerations: tuple[Tolerated, ...] = ()
    resources: tuple[tuple[str, int], ...] = ()  # beside those that a dialect reads: name and amount in billionths
    dialect: str = ""  # in which the pod asks for GPUs; "": in plain words
    by_resource: bool = False  # it does so by resources, which a node offers or not; otherwise by annotations
    nodes: frozenset[str] | None = None  # that can serve its resource claims; None: it has none


def constraints_of(pod: Pod, dialect: str = "") -> Constraints:
    """`dialect`: the one that read the pod, where several are read at once."""
    spec = pod.spec
    total, _ = pod_requests(pod)
    asked = {name: amount for name, amount in total.items() if amount and name not in ("cpu", "memory", "pods")}
    owned = {name for name in asked if dialects_of(name)}
    plain = sorted((name, amount) for name, amount in asked.items() if name not in owned or name.startswith(MIG_PREFIX))
    affinity = spec.affinity.node_affinity if spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    terms = None if required is None else terms_of(required)
    tolerations = {Tolerated(t.key, t.operator or "Equal", t.value, t.effect) for t in spec.tolerations}
    return Constraints(
        tuple(sorted(spec.node_selector.items())),
        terms,
        tuple(sorted(tolerations)),
        tuple(plain),
        dialect,
        dialect != "" and any(DIALECTS[dialect].owns(name) for name in owned),
    )


def constraints_on(pod: Pod, node: Node, dialect: str = "") -> Constraints:
    """The constraints of a pod that runs on `node`: it also keeps to the node's architecture and operating system."""
    own = constraints_of(pod, dialect)
    named = {key for key, _ in own.selector} | {wish.key for term in own.terms or () for wish in term.labels}
    labels = node.metadata.labels
    kept = [(key, labels[key]) for key in KEPT_LABELS if key in labels and key not in named]
    return own._replace(selector=tuple(sorted((*own.selector, *kept)))) if kept else own


def soft_terms(pod: Pod) -> list[str]:
    """What the pod prefers: kube-scheduler weighs it, but not in mode choose, where it is left with one node."""
    affinity, found = pod.spec.affinity, []
    if affinity is not None:
        for name, one in (
            ("node affinity", affinity.node_affinity),
            ("affinity to pods", affinity.pod_affinity),
            ("anti-affinity to pods", affinity.pod_anti_affinity),
        ):
            if one is not None and one.preferred_during_scheduling_ignored_during_execution:
                found.append(f"preferred {name}")
    if any(spread.when_unsatisfiable == "ScheduleAnyway" for spread in pod.spec.topology_spread_constraints):
        found.append("topology spread that may be missed (ScheduleAnyway)")
    return found


def lost(pod: Pod) -> str:
    """The soft terms that mode choose does not keep, in a line; "" if there are none."""
    found = soft_terms(pod)
    return f"not weighed, as mode choose names one node: {', '.join(found)}" if found else ""


def eligible(pod: Pod, node: Node) -> bool:
    """Whether the node's cordon, condition, taints, labels and name allow the pod."""
    return allows(constraints_of(pod), node)


def allows(constraints: Constraints, node: Node, words: frozenset[str] | None = None) -> bool:
    """`words`: dialects in which the node offers GPUs, if they are known."""
    return why_not(constraints, node, words) == ""


def why_not(constraints: Constraints, node: Node, words: frozenset[str] | None = None) -> str:
    """The first thing that keeps the pod off the node; "" if nothing does."""
    if constraints.nodes is not None:
        if node.metadata.name not in constraints.nodes:
            return "no devices that serve its claims"
    elif constraints.dialect and not speaks(constraints, words_of(node) if words is None else words):
        return f"no GPUs in dialect {constraints.dialect}"
    for name, amount in constraints.resources:
        if nano(node.status.allocatable.get(name, 0)) < amount:
            return f"less {name} than it asks for"
    for taint in hard_taints(node):
        if not tolerates(constraints, taint):
            return {CORDON.key: "cordoned", NOT_READY.key: "not ready"}.get(taint.key, f"taint {taint.key}")
    labels = node.metadata.labels
    for key, value in constraints.selector:
        if labels.get(key) != value:
            return f"label {key} is not {value}"
    if constraints.terms is None or any(term_holds(term, node) for term in constraints.terms):
        return ""
    return "node affinity"


def words_of(node: Node) -> frozenset[str]:
    return find_dialect(ALL).words_of(node)


def speaks(constraints: Constraints, words: frozenset[str]) -> bool:
    """Whether a node with GPUs in these dialects can serve the pod's: by annotations, a node in plain words will do."""
    return constraints.dialect in words or (not words and not constraints.by_resource)


def hard_taints(node: Node) -> list[Taint]:
    """The taints that keep pods out. A cordon is one, and so is a node that is not ready, before it has the taint."""
    found = [taint for taint in node.spec.taints if taint.effect in HARD]
    return found + ([CORDON] if node.spec.unschedulable else []) + ([] if is_ready(node) else [NOT_READY])


def is_ready(node: Node) -> bool:
    return not any(condition.type == "Ready" and condition.status != "True" for condition in node.status.conditions)


def tolerates(constraints: Constraints, taint: Taint) -> bool:
    for toleration in constraints.tolerations:
        if toleration.effect not in ("", taint.effect):
            continue
        if toleration.operator == "Exists" and toleration.key in ("", taint.key):
            return True
        if toleration.key == taint.key and toleration.operator == "Equal" and toleration.value == taint.value:
            return True
    return False


def terms_of(selector: NodeSelector) -> tuple[Term, ...]:
    return tuple(
        Term(_wishes(term.match_expressions), _wishes(term.match_fields)) for term in selector.node_selector_terms
    )


def selects(selector: NodeSelector, node: Node) -> bool:
    """Whether one of the selector's terms holds."""
    return any(term_holds(term, node) for term in terms_of(selector))


def _wishes(expressions: Iterable[Expression]) -> tuple[Wish, ...]:
    return tuple(Wish(e.key, e.operator, tuple(e.values)) for e in expressions)


def term_holds(term: Term, node: Node) -> bool:
    """A term without any requirement holds nowhere."""
    if not term.labels and not term.fields:
        return False
    name = {NAME_FIELD: node.metadata.name}
    return all(holds(w, node.metadata.labels) for w in term.labels) and all(holds(w, name) for w in term.fields)


def holds(wish: Wish, labels: Mapping[str, str]) -> bool:
    value = labels.get(wish.key)
    match wish.operator:
        case "In":
            return value in wish.values
        case "NotIn":
            return value not in wish.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return value is not None and _compares(wish, value)
    return False


def _compares(wish: Wish, value: str) -> bool:
    """Both are whole numbers in decimal digits, as Kubernetes requires; any other text does not hold."""
    if len(wish.values) != 1 or not _WHOLE_NUMBER.fullmatch(wish.values[0]) or not _WHOLE_NUMBER.fullmatch(value):
        return False
    limit, have = int(wish.values[0]), int(value)
    return have > limit if wish.operator == "Gt" else have < limit

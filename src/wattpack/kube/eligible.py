"""Which nodes Kubernetes itself would allow for a pod.

Only `fit` and shadow mode need this: the extender is asked after kube-scheduler's own filters. Cordons, taints, node
selectors and required node affinity are checked; topology spread, pod affinity and volumes are not.
"""

from __future__ import annotations

from wattpack.kube.objects import Expression, Node, Pod, Taint

HARD = ("NoSchedule", "NoExecute")


def eligible(pod: Pod, node: Node) -> bool:
    """Whether the node's cordon, taints and labels allow the pod."""
    if node.spec.unschedulable and not tolerated(pod, Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")):
        return False
    if any(taint.effect in HARD and not tolerated(pod, taint) for taint in node.spec.taints):
        return False
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return False
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    if required is None:
        return True
    return any(all(holds(e, labels) for e in term.match_expressions) for term in required.node_selector_terms)


def tolerated(pod: Pod, taint: Taint) -> bool:
    for toleration in pod.spec.tolerations:
        if toleration.effect not in ("", taint.effect):
            continue
        if toleration.operator == "Exists" and toleration.key in ("", taint.key):
            return True
        if toleration.key == taint.key and toleration.operator in ("", "Equal") and toleration.value == taint.value:
            return True
    return False


def holds(expression: Expression, labels: dict[str, str]) -> bool:
    value = labels.get(expression.key)
    match expression.operator:
        case "In":
            return value in expression.values
        case "NotIn":
            return value not in expression.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return value is not None and compares(expression, value)
    return False


def compares(expression: Expression, value: str) -> bool:
    try:
        limit, have = int(expression.values[0]), int(value)
    except (ValueError, IndexError):
        return False
    return have > limit if expression.operator == "Gt" else have < limit

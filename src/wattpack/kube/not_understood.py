"""Pods that hold accelerators which we cannot count: what they ask for, and the words of a refusal.

Their GPUs would look free. Whoever moves or places work by that (defrag, replay --placements, fit) refuses.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from wattpack.kube.dialects import DIALECTS
from wattpack.kube.dialects.dialect import Dialect
from wattpack.kube.dialects.node_devices import WHOLE
from wattpack.kube.objects import Pod

SHOWN = 3
# Names of devices that no dialect reads. The short ones only where no letter stands before: in*put*, ou*tpu*t.
ACCELERATOR = re.compile(
    r"gpu|(?<![a-z])(?:npu|tpu|xpu|dcu|mlu|hpu)|vcuda|/mig-|gaudi|neuron|ascend|i915|accelerator", re.IGNORECASE
)


class NotUnderstood(NamedTuple):
    """A pod on a node, and what it asks for."""

    pod: str
    node: str
    resource: str


def accelerators_asked(pod: Pod) -> list[str]:
    """Resources, annotations and resource claims by which a pod asks for accelerators, in any dialect or in none."""
    resources = _resource_names(pod)
    asked = {name for name in resources if ACCELERATOR.search(name) or _dialects_of(name)}
    asked |= {name for name in pod.metadata.annotations if _dialects_of(name)}
    return sorted(asked) + [f"resource claim {claim.name}" for claim in pod.spec.resource_claims]


def unknown_accelerators(pod: Pod, dialect: Dialect) -> list[str]:
    """Those of `accelerators_asked` that no dialect reads: read as it stands, the pod would ask for no GPU."""
    asked = accelerators_asked(pod)
    return [name for name in asked if name != WHOLE and not dialect.owns(name) and not _dialects_of(name)]


def not_understood(pod: Pod) -> NotUnderstood:
    metadata = pod.metadata
    asked = "; ".join(accelerators_asked(pod))
    return NotUnderstood(f"{metadata.namespace}/{metadata.name}", pod.spec.node_name, asked)


def refusal(found: Sequence[NotUnderstood]) -> str:
    """Which pods, the first few by name, and how to get on."""
    first = ", ".join(f"{pod} on {node} ({resource})" for pod, node, resource in found[:SHOWN])
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    hold = "pod holds" if len(found) == 1 else "pods hold"
    return f"{len(found)} {hold} accelerators that could not be counted and would look free: {first}{more}"


def _resource_names(pod: Pod) -> set[str]:
    """As written: amounts that cannot be read are asked for all the same. A 0 asks for nothing."""
    spec = pod.spec
    of_containers = [container.resources for container in (*spec.containers, *spec.init_containers)]
    resources = [*of_containers, *([spec.resources] if spec.resources is not None else [])]
    return {
        name for said in resources for name, amount in (said.limits | said.requests).items() if str(amount).strip("0")
    }


def _dialects_of(name: str) -> bool:
    return name == WHOLE or any(dialect.owns(name) for dialect in DIALECTS.values())

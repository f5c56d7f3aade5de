"""Pods that hold accelerators which we cannot count, and nodes that offer them: their names, and the messages.

Their GPUs would look free, so no task with GPUs may go to their nodes: in files, in `fit` and in `serve`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from wattpack.kube.dialects import DIALECTS, aliyun, hami, koordinator, volcano
from wattpack.kube.dialects.dialect import Dialect
from wattpack.kube.dialects.kai import MEMORY as KAI_MEMORY
from wattpack.kube.dialects.node_devices import TIME_SLICED, WHOLE
from wattpack.kube.objects import Node, Pod
from wattpack.model.catalog import GPUS, PAPER_NAMES
from wattpack.model.gpu_names import model_of, possible_models

SHOWN = 3
MEMORY_WORDS = frozenset({aliyun.MEMORY, hami.NAMES.memory, volcano.NAMES.memory, koordinator.MEMORY})
# Names of devices that no dialect reads, and of makers that sell nothing else and name devices after their products
# (tenstorrent.com/n300). The short ones match only without a letter before them, but v for a part: not "output".
ACCELERATOR = re.compile(
    r"gpu|(?<![a-z])v?(?:npu|tpu|xpu|dcu|mlu|hpu|gcu)|vcuda|/mig-|px_nps|gaudi|neuron|ascend|i915|qaic|accelerator"
    r"|furiosa|rebellions|tenstorrent|enflame|cambricon|graphcore",
    re.IGNORECASE,
)
# KubeVirt hands out whole GPUs and vGPUs by the name of the chip or the product: nvidia.com/TU104GL_Tesla_T4,
# nvidia.com/GRID_T4-2Q. Other names of the makers may be network cards: nvidia.com/hostdev.
_MAKERS = ("nvidia.com", "amd.com")
_CHIP = re.compile(r"(?:g[abfhkmpv]|tu|ad)\d{3}|grid|tesla|quadro|geforce|nvidia|navi|vega|instinct", re.IGNORECASE)
_MODELS = (*GPUS, *PAPER_NAMES)


class NotUnderstood(NamedTuple):
    """A pod on a node, and the accelerators it asks for."""

    pod: str
    node: str
    resource: str


@lru_cache(maxsize=4096)  # pods carry the same few dozen names
def is_accelerator(name: str) -> bool:
    """Whether a resource looks like an accelerator, by its name or by the model that it names."""
    if ACCELERATOR.search(name):
        return True
    maker, _, product = name.removesuffix(".shared").partition("/")
    if maker not in _MAKERS:
        return False
    return bool(_CHIP.match(product) or model_of(product, _MODELS) or possible_models(product))


def accelerators_asked(pod: Pod) -> list[str]:
    """Resources, annotations and resource claims by which a pod asks for accelerators, in any dialect or none."""
    resources = _resource_names(pod)
    asked = {name for name in resources if is_accelerator(name) or is_of_dialect(name)}
    asked |= {name for name in pod.metadata.annotations if is_of_dialect(name)}
    return sorted(asked) + [f"resource claim {claim.name}" for claim in pod.spec.resource_claims]


def unknown_accelerators(pod: Pod, dialect: Dialect, claims_are_read: bool = False) -> list[str]:
    """Those of `accelerators_asked` that no dialect reads: without them the pod seems to ask for no GPU."""
    asked = accelerators_asked(pod)
    if claims_are_read:
        asked = asked[: len(asked) - len(pod.spec.resource_claims)]
    counted = (WHOLE, TIME_SLICED)  # the second as whole GPUs: more it cannot hold
    return [name for name in asked if name not in counted and not dialect.owns(name) and not is_of_dialect(name)]


def unread_devices(node: Node, dialect: Dialect, gpus: int) -> list[str]:
    """Accelerators that a node offers and nobody counts. Names of a dialect that is not in use count if `gpus` is 0."""
    offered = sorted(name for name, amount in node.status.allocatable.items() if str(amount).strip("0"))
    unread = [name for name in offered if name != WHOLE and not dialect.owns(name)]
    return [name for name in unread if (gpus == 0 if is_of_dialect(name) else is_accelerator(name))]


def asks_for_memory(pod: Pod) -> bool:
    """Whether the pod asks for an amount of GPU memory."""
    return not MEMORY_WORDS.isdisjoint(_resource_names(pod)) or KAI_MEMORY in pod.metadata.annotations


def not_understood(pod: Pod) -> NotUnderstood:
    metadata = pod.metadata
    asked = "; ".join(accelerators_asked(pod))
    return NotUnderstood(f"{metadata.namespace}/{metadata.name}", pod.spec.node_name, asked)


def in_words(found: Sequence[NotUnderstood]) -> str:
    """The number of pods, and the first few by name."""
    first = ", ".join(f"{pod} on {node} ({resource})" for pod, node, resource in found[:SHOWN])
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    hold = "pod holds" if len(found) == 1 else "pods hold"
    return f"{len(found)} {hold} accelerators that could not be counted: {first}{more}"


def blocked(nodes: Sequence[str], pods: int) -> str:
    """That nodes take no GPU work because of pods on them whose requests could not be read."""
    first = ", ".join(nodes[:SHOWN])
    more = f" and {len(nodes) - SHOWN} more" if len(nodes) > SHOWN else ""
    return (
        f"{len(nodes)} {'node is' if len(nodes) == 1 else 'nodes are'} blocked by {pods} "
        f"{'pod that was' if pods == 1 else 'pods that were'} not understood: GPUs there may be in use ({first}{more})"
    )


def _resource_names(pod: Pod) -> set[str]:
    """Names with an amount other than 0, even if the amount cannot be read."""
    spec = pod.spec
    of_containers = [container.resources for container in (*spec.containers, *spec.init_containers)]
    resources = [*of_containers, *([spec.resources] if spec.resources is not None else [])]
    return {
        name for said in resources for name, amount in (said.limits | said.requests).items() if str(amount).strip("0")
    }


def is_of_dialect(name: str) -> bool:
    """Whether a resource, annotation or label is a word of one of the dialects."""
    return name == WHOLE or any(dialect.owns(name) for dialect in DIALECTS.values())

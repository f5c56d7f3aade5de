"""A Kubernetes node as the engine needs it: CPU, memory, GPUs, and the models that draw power."""

from __future__ import annotations

from collections.abc import Iterable

from wattpack.kube.facts import MAX_AMOUNT, NodeFacts
from wattpack.kube.objects import Node, Unreadable
from wattpack.kube.products import stripped
from wattpack.kube.quantity import cpu_milli_down, memory_mib_down, nano
from wattpack.kube.reading import Reading
from wattpack.model.catalog import GPUS, PAPER_NAMES
from wattpack.model.nodes import MAX_GPUS
from wattpack.model.power import entry_to_add


def read_node(node: Node, reading: Reading) -> NodeFacts:
    """The node's facts; raises Unreadable with the node's name."""
    name, dialect = node.metadata.name, reading.dialect
    try:
        allocatable = node.status.allocatable
        cpu = cpu_milli_down(nano(allocatable.get("cpu", 0)))
        memory = memory_mib_down(nano(allocatable.get("memory", 0)))
        gpus = dialect.node_gpus(node)
        if max(cpu, memory) > MAX_AMOUNT:
            raise Unreadable(f"{cpu} milli-vCPU and {memory} MiB, expected at most {MAX_AMOUNT}")
        if gpus > MAX_GPUS:
            raise Unreadable(f"{gpus} GPUs, expected at most {MAX_GPUS}")
        model = _gpu_model(node, reading) if gpus else ""
        return NodeFacts(name, cpu, memory, gpus, model, _cpu_model(node, reading))
    except Unreadable as fault:
        raise Unreadable(f"node {name}: {fault}") from None


def _gpu_model(node: Node, reading: Reading) -> str:
    labels = node.metadata.labels
    for label in (reading.gpu_model_label, *reading.dialect.model_labels):
        if label in labels:
            model = reading.model(labels[label])
            if model == "":
                raise Unreadable(
                    f"label {label} is {labels[label]!r}, a model without a power entry: "
                    f'map it in the configuration, [models] "{labels[label]}" = "...", or put '
                    f"{entry_to_add('gpu', stripped(labels[label]))} into a power file (--power, power_file)"
                )
            return model
    raise Unreadable(f"has GPUs but no label {reading.gpu_model_label}, expected their model there")


def _cpu_model(node: Node, reading: Reading) -> str:
    if reading.cpu_model_label == "" or reading.cpu_model_label not in node.metadata.labels:
        return ""
    text = node.metadata.labels[reading.cpu_model_label]
    names = {name.lower().replace(" ", "-"): name for name in reading.profile.cpus}
    found = names.get(text.lower().replace(" ", "-").replace("_", "-"))
    if found is None:
        known = ", ".join(sorted(reading.profile.cpus))
        raise Unreadable(f"label {reading.cpu_model_label} is {text!r}, a CPU without a power entry; known: {known}")
    return found


def smallest_gpu_memory_mib(nodes: Iterable[Node], reading: Reading) -> int:
    """MiB of the smallest GPU of the nodes, 0 if none is known. Requests for GPU memory are shares of that."""
    found = []
    for node in nodes:
        try:
            gpus = reading.dialect.node_gpus(node)
            if gpus:
                found.append(reading.dialect.memory_mib(node) or _catalog_memory_mib(_gpu_model(node, reading)))
        except Unreadable:
            continue  # `read_node` reports it
    return min((memory for memory in found if memory > 0), default=0)


def _catalog_memory_mib(model: str) -> int:
    entry = GPUS.get(PAPER_NAMES.get(model, model))
    return entry.memory_mib or 0 if entry else 0

"""A Kubernetes node as the engine needs it: CPU, memory, GPUs, and the models that draw power."""

from __future__ import annotations

from collections.abc import Iterable

from wattpack.kube.dialects.amd import AMD_WHOLE
from wattpack.kube.dialects.node_devices import node_count
from wattpack.kube.dra.gpus import NodeGpus
from wattpack.kube.facts import MAX_AMOUNT, NodeFacts
from wattpack.kube.node_models import AMD_PRODUCT, PRODUCT_LABELS, cpu_model, gpu_model
from wattpack.kube.objects import Node, Unreadable
from wattpack.kube.quantity import cpu_milli_down, memory_mib_down, nano
from wattpack.kube.reading import Reading
from wattpack.model.catalog import GPUS, PAPER_NAMES
from wattpack.model.gpu_names import entry_name
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
        ids = dialect.gpu_ids(node)
        named = ids if len(ids) == len(set(ids)) == gpus else ()
        own = cpu_model(node.metadata.labels, reading).model
        return NodeFacts(name, cpu, memory, gpus, model, own, named, capacity_milli(node, cpu))
    except Unreadable as fault:
        raise Unreadable(f"node {name}: {fault}") from None


def capacity_milli(node: Node, allocatable_milli: int) -> int:
    """vCPU of the machine; 0 where the node does not say it, says no more than tasks may have, or what cannot be."""
    try:
        found = cpu_milli_down(nano(node.status.capacity.get("cpu", 0)))
    except Unreadable:
        return 0
    return found if allocatable_milli < found <= MAX_AMOUNT else 0


def _gpu_model(node: Node, reading: Reading) -> str:
    default = reading.gpu_model_label == PRODUCT_LABELS[0]
    expected = AMD_PRODUCT if default and node_count(node, AMD_WHOLE) else ""
    return gpu_model(node.metadata.labels, reading, expected).model


def with_slices(facts: NodeFacts, offered: NodeGpus, reading: Reading) -> NodeFacts:
    """The node with the GPUs that ResourceSlices offer; raises Unreadable."""
    if offered.count > MAX_GPUS:
        raise Unreadable(f"{offered.count} GPUs in ResourceSlices, expected at most {MAX_GPUS}")
    found = dict.fromkeys(reading.model(product) or product for product in offered.products)
    if len(found) > 1:
        raise Unreadable(f"ResourceSlices offer GPUs of several models ({', '.join(found)}), expected one on a node")
    product = offered.products[0] if offered.products else ""
    model = facts.model or reading.model(product)
    if model == "":
        raise Unreadable(
            f"ResourceSlices offer {product or 'GPUs without a product name'!r}, "
            f'a model without a power entry: map it in the configuration, [models] "{product}" = "...", '
            f"or put {entry_to_add('gpu', entry_name(product))} into a power file (--power)"
        )
    return facts._replace(gpus=max(facts.gpus, offered.count), model=model)


def gpu_memories(nodes: Iterable[Node], reading: Reading) -> dict[str, int]:
    """MiB of a GPU by model, of the smallest where nodes differ; models of unknown memory are left out."""
    found: dict[str, int] = {}
    for node in nodes:
        try:
            if reading.dialect.node_gpus(node):
                model = _gpu_model(node, reading)
                memory = reading.dialect.memory_mib(node) or catalog_memory_mib(model)
                if memory > 0:
                    found[model] = min(memory, found.get(model, memory))
        except Unreadable:
            continue  # `read_node` reports it
    return found


def catalog_memory_mib(model: str) -> int:
    entry = GPUS.get(PAPER_NAMES.get(model, model))
    return entry.memory_mib or 0 if entry else 0

"""Several dialects at once, as one dialect.

A pod is read by each dialect whose own words it uses. Those that find a request must find the same one: a pod that two
dialects understand differently is not understood. A pod without a dialect's own words asks for whole GPUs, or for none.
A node that offers GPUs in the words of several dialects must have the same number in each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from wattpack.kube.dialects.dialect import NO_GPU, Asked, Dialect, GpuRequest
from wattpack.kube.dialects.gpu_index import write_own_index
from wattpack.kube.dialects.node_devices import label_memory_mib, whole_gpus_of
from wattpack.kube.dialects.shares import whole_gpus
from wattpack.kube.facts import Held
from wattpack.kube.objects import Node, Unreadable


def together(dialects: Sequence[Dialect], name: str) -> Dialect:
    """These dialects as one; they are asked in this order."""
    by_namespace = {space: dialect.name for dialect in dialects for space in dialect.namespaces}

    @lru_cache(maxsize=4096)  # pods carry the same few dozen words
    def owners(word: str) -> tuple[str, ...]:
        return tuple(dialect.name for dialect in dialects if dialect.owns(word))

    def request(asked: Asked) -> GpuRequest:
        spoken = {name for word in asked.annotations for name in owners(word)}
        spoken.update(name for word, amount in asked.total_nano.items() if amount for name in owners(word))
        if asked.namespace in by_namespace:
            spoken.add(by_namespace[asked.namespace])
        if not spoken:
            return whole_gpus(asked)
        used = [dialect for dialect in dialects if dialect.name in spoken]
        found = [dialect.request(asked)._replace(dialect=dialect.name) for dialect in used]
        asking = [one for one in found if one.num_gpu]
        if not asking:
            return NO_GPU._replace(dialect=used[0].name)
        for other in asking[1:]:
            if other._replace(dialect="") != asking[0]._replace(dialect=""):
                raise Unreadable(f"{words(asking[0])}, {words(other)}: expected the same in both dialects")
        return asking[0]

    def held(asked: Asked) -> tuple[Held, ...] | None:
        return next((found for dialect in dialects if (found := dialect.held(asked)) is not None), None)

    def gpu_ids(node: Node) -> tuple[str, ...]:
        return next((ids for dialect in dialects if dialect.on_node(node) and (ids := dialect.gpu_ids(node))), ())

    def node_gpus(node: Node) -> int:
        counts = {dialect.name: dialect.node_gpus(node) for dialect in dialects if dialect.on_node(node)}
        if not counts:
            return whole_gpus_of(node)
        if len(set(counts.values())) > 1:
            said = " and ".join(f"{count} GPUs in dialect {one}" for one, count in counts.items())
            raise Unreadable(f"offers {said}, expected the same number")
        return next(iter(counts.values()))

    def memory_mib(node: Node) -> int:
        found = [dialect.memory_mib(node) for dialect in dialects if dialect.on_node(node)]
        return min((memory for memory in found if memory), default=label_memory_mib(node))

    def read_index(annotations: Mapping[str, str]) -> str:
        found = dict.fromkeys(text for dialect in dialects if (text := dialect.read_index(annotations)))
        if len({tuple(sorted(text.split("-"))) for text in found}) > 1:
            raise Unreadable(f"GPU indices {' and '.join(found)} in annotations of two dialects, expected the same")
        return next(iter(found), "")

    return Dialect(
        name=name,
        request=request,
        held=held,
        gpu_ids=gpu_ids,
        resources=frozenset().union(*(dialect.resources for dialect in dialects)),
        annotations=frozenset().union(*(dialect.annotations for dialect in dialects)),
        owns_prefix=next((dialect.owns_prefix for dialect in dialects if dialect.owns_prefix), ""),
        node_gpus=node_gpus,
        memory_mib=memory_mib,
        model_labels=tuple(dict.fromkeys(label for dialect in dialects for label in dialect.model_labels)),
        read_index=read_index,
        write_index=write_own_index,
        parts=tuple(dialects),
    )


def words(found: GpuRequest) -> str:
    models = f" of {'|'.join(found.models)}" if found.models else ""
    return f"{found.num_gpu} GPU x {found.gpu_milli} milli{models} in dialect {found.dialect}"

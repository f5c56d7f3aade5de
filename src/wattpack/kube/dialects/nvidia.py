"""Whole GPUs only: `nvidia.com/gpu`, as NVIDIA's device plugin offers them."""

from __future__ import annotations

from wattpack.kube.dialects.dialect import (
    Dialect,
    label_memory_mib,
    read_own_index,
    whole_gpus,
    whole_gpus_of,
    write_own_index,
)

NVIDIA = Dialect(
    name="nvidia",
    about="whole GPUs through nvidia.com/gpu",
    resources=frozenset(),
    annotations=frozenset(),
    request=whole_gpus,
    node_gpus=whole_gpus_of,
    memory_mib=label_memory_mib,
    read_index=read_own_index,
    write_index=write_own_index,
)

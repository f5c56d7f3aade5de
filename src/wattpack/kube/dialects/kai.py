"""KAI Scheduler (Run:ai): `gpu-fraction` or `gpu-memory` annotations; whole GPUs through `nvidia.com/gpu`.

KAI holds every shared GPU with a reservation pod of its own that asks for a whole GPU. Those pods count without their
GPU: it is counted by the pods that share it.
"""

from __future__ import annotations

from wattpack.kube.dialects.dialect import (
    NO_GPU,
    Asked,
    Dialect,
    GpuRequest,
    beside_whole,
    label_memory_mib,
    milli_of_memory,
    read_own_index,
    share_of_one,
    whole_gpus_of,
    write_own_index,
)
from wattpack.kube.objects import Unreadable

FRACTION = "gpu-fraction"
MEMORY = "gpu-memory"  # MiB
DEVICES = "gpu-fraction-num-devices"
RESERVATIONS = ("kai-resource-reservation", "runai-reservation")  # namespaces


def request(asked: Asked) -> GpuRequest:
    if asked.namespace in RESERVATIONS:
        return NO_GPU
    fraction, memory, devices = asked.thousandths(FRACTION), asked.number(MEMORY), asked.number(DEVICES)
    if fraction is None and memory is None:
        if devices is not None:
            raise Unreadable(f"annotation {DEVICES} without {FRACTION} or {MEMORY}, expected one of them")
        return beside_whole(asked, NO_GPU, "")
    if fraction is not None and memory is not None:
        raise Unreadable(f"annotations {FRACTION} and {MEMORY} at once, expected one of them")
    if fraction is not None:
        milli, words = fraction, f"a GPU fraction of {asked.annotations[FRACTION]}"
    else:
        assert memory is not None
        milli, words = milli_of_memory(memory, asked.gpu_memory_mib, MEMORY), f"{memory} MiB of GPU memory"
    count = 1 if devices is None else devices
    return beside_whole(asked, share_of_one(milli, count, words), words)


KAI = Dialect(
    name="kai",
    about="gpu-fraction or gpu-memory annotations",
    resources=frozenset(),
    annotations=frozenset({FRACTION, MEMORY, DEVICES}),
    request=request,
    node_gpus=whole_gpus_of,
    memory_mib=label_memory_mib,
    read_index=read_own_index,
    write_index=write_own_index,
)

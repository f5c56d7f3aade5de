"""KAI Scheduler (Run:ai): `gpu-fraction` or `gpu-memory` annotations; whole GPUs through `nvidia.com/gpu`.

KAI holds every shared GPU with a reservation pod of its own, which asks for a whole GPU. Those pods are counted without
the GPU, because the pods that share it are counted on it.
"""

from __future__ import annotations

from wattpack.kube.dialects.dialect import NO_GPU, Asked, Dialect, GpuRequest
from wattpack.kube.dialects.shares import beside_whole, milli_of_memory, share_of_one
from wattpack.kube.facts import Held
from wattpack.kube.objects import Unreadable
from wattpack.model.power import GPU_MILLI

FRACTION = "gpu-fraction"
MEMORY = "gpu-memory"  # MiB
DEVICES = "gpu-fraction-num-devices"
GROUP = "runai-gpu-group"  # a label, or the beginning of several
RESERVATIONS = ("kai-resource-reservation", "runai-reservation")  # namespaces of those pods


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
    gpu_mib = 0
    if fraction is not None:
        milli, words = fraction, f"a GPU fraction of {asked.annotations[FRACTION]}"
    else:
        assert memory is not None
        gpu_mib = asked.gpu_memory_mib(memory)
        milli, words = milli_of_memory(memory, gpu_mib, MEMORY), f"{memory} MiB of GPU memory"
    count = 1 if devices is None else devices
    return beside_whole(asked, share_of_one(milli, count, words)._replace(gpu_memory_mib=gpu_mib), words)


def most(asked: Asked) -> list[int]:
    """Nothing without a share that can be read: KAI gives out no device for it."""
    if asked.namespace in RESERVATIONS:
        return []
    memory_mib = asked.thousandths_or_none(MEMORY) // 1000
    milli = max(asked.thousandths_or_none(FRACTION), asked.milli_of_memory(memory_mib) if memory_mib else 0)
    devices = max(1, asked.thousandths_or_none(DEVICES) // 1000)
    return [min(milli, GPU_MILLI)] * devices if milli else []


def held(asked: Asked) -> tuple[Held, ...] | None:
    """The groups of pods that share a GPU: KAI's label says which of them the pod is in, one for each of its GPUs."""
    shares, groups = most(asked), sorted(name for label, name in asked.labels.items() if label.startswith(GROUP))
    groups = list(dict.fromkeys(groups))
    return tuple(map(Held, groups, shares)) if shares and len(groups) == len(shares) else None


KAI = Dialect(
    name="kai",
    annotations=frozenset({FRACTION, MEMORY, DEVICES}),
    namespaces=RESERVATIONS,
    request=request,
    most=most,
    held=held,
    only_by="KAI's scheduler",
)

"""Requests for GPUs that dialects have in common: whole GPUs, a share of one GPU, an amount of GPU memory."""

from __future__ import annotations

from wattpack.kube.dialects.dialect import NO_GPU, Asked, GpuRequest
from wattpack.kube.dialects.node_devices import WHOLE
from wattpack.kube.objects import Unreadable
from wattpack.model.power import GPU_MILLI


def whole_gpus(asked: Asked) -> GpuRequest:
    """GPUs requested through `nvidia.com/gpu`."""
    count = asked.count(WHOLE)
    return GpuRequest(count, GPU_MILLI) if count else NO_GPU


def beside_whole(asked: Asked, own: GpuRequest, words: str) -> GpuRequest:
    """`own`, the request in the dialect, or whole GPUs if there is none; both only if they agree."""
    plain = whole_gpus(asked)
    if own.num_gpu == 0:
        return plain._replace(models=own.models)
    if plain.num_gpu and plain[:2] != own[:2]:
        raise Unreadable(f"asks for {plain.num_gpu} {WHOLE} and for {words}, expected one of them")
    return own


def share_of_one(milli: int, num_gpu: int, words: str, models: tuple[str, ...] = ()) -> GpuRequest:
    """A share of one GPU, or whole GPUs; the model has nothing else."""
    if num_gpu == 0 or milli == 0:
        raise Unreadable(f"{words}: expected more than 0")
    if milli > GPU_MILLI:
        raise Unreadable(f"{words}: more than one GPU, expected at most the whole of each GPU")
    if num_gpu > 1 and milli < GPU_MILLI:
        raise Unreadable(f"{words}: shares of {num_gpu} GPUs at once, expected a share of one GPU or whole GPUs")
    return GpuRequest(num_gpu, milli, models)


def milli_of_memory(asked_mib: int, gpu_memory_mib: int, resource: str) -> int:
    """An amount of GPU memory as a share of a GPU, rounded up."""
    if gpu_memory_mib <= 0:
        raise Unreadable(
            f"asks for {resource}, but the memory of a GPU is not known: set gpu_memory_mib in the configuration"
        )
    if asked_mib > gpu_memory_mib:
        raise Unreadable(f"asks for {asked_mib} MiB of GPU memory ({resource}), one GPU has {gpu_memory_mib} MiB")
    return -(-asked_mib * GPU_MILLI // gpu_memory_mib)

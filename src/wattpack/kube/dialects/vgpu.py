"""What HAMi and Volcano's vGPU have in common: vGPUs with memory and cores, and nodes that register their GPUs.

A vGPU without an amount of memory gets all memory of its GPU, so it is a whole GPU. With memory and cores it is the
larger of the two shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from wattpack.kube.dialects.dialect import NO_GPU, Asked, GpuRequest
from wattpack.kube.dialects.node_devices import label_memory_mib
from wattpack.kube.dialects.shares import milli_of_memory, share_of_one
from wattpack.kube.facts import Held
from wattpack.kube.objects import Node, Unreadable
from wattpack.kube.quantity import NANO, whole
from wattpack.model.power import GPU_MILLI

MEMORY_AT, CORES_AT = 2, 3  # places in the texts of devices
MOST_VGPUS = 1000  # of a container; no node has more


class Names(NamedTuple):
    number: str
    memory: str  # MiB of each vGPU
    percentage: str  # the same as a share
    cores: str  # percent of each vGPU

    def request(self, asked: Asked) -> GpuRequest:
        """What all containers ask for. Only one container may ask for a share of a GPU."""
        wants = [self._container(asked, container) for container in asked.containers_nano]
        wants = [want for want in wants if want.num_gpu]
        if not wants:
            return NO_GPU
        if len(wants) > 1 and any(want.gpu_milli < GPU_MILLI for want in wants):
            raise Unreadable(f"{len(wants)} containers ask for {self.number}, expected shares in one container only")
        # Whole GPUs are counted as by Kubernetes: init containers are not added up.
        return wants[0] if len(wants) == 1 else GpuRequest(asked.count(self.number), GPU_MILLI)

    def _container(self, asked: Asked, container_nano: Mapping[str, int]) -> GpuRequest:
        said = {name: whole(container_nano[name], name) for name in self if container_nano.get(name)}
        if not said:
            return NO_GPU
        number = said.get(self.number, 1)  # HAMi's webhook adds the 1
        if self.memory in said and self.percentage in said:
            raise Unreadable(f"asks for {self.memory} and {self.percentage} at once, expected one of them")
        gpu_mib = 0
        if self.memory in said:
            gpu_mib = asked.gpu_memory_mib(said[self.memory])
            milli = milli_of_memory(said[self.memory], gpu_mib, self.memory)
        else:
            milli = said.get(self.percentage, 100) * 10
        milli = max(milli, said.get(self.cores, 0) * 10)
        return share_of_one(milli, number, f"{number} {self.number} of {milli} milli")._replace(gpu_memory_mib=gpu_mib)

    def most(self, asked: Asked) -> list[int]:
        """Of each container's vGPUs; not more of them than the pod asks for as a whole (init containers end)."""
        found = [milli for container in asked.containers_nano for milli in self._most(asked, container)]
        number = asked.devices(self.number)
        return sorted(found, reverse=True)[: number or len(found)]

    def _most(self, asked: Asked, container_nano: Mapping[str, int]) -> list[int]:
        said = {name: -(-container_nano[name] // NANO) for name in self if container_nano.get(name)}
        if not said:
            return []
        memory = asked.milli_of_memory(said[self.memory]) if self.memory in said else 0
        percent = said.get(self.percentage, 0 if memory else 100)
        milli = max(memory, 10 * percent, 10 * said.get(self.cores, 0))
        return [min(milli, GPU_MILLI)] * min(said.get(self.number, 1), MOST_VGPUS)

    def held(self, asked: Asked, plugin: Plugin) -> tuple[Held, ...] | None:
        """The GPUs that the scheduler wrote, by their ids; None: it wrote none for this pod on its node."""
        annotations = asked.annotations
        if (
            not any(asked.total_nano.get(name) for name in self)
            or annotations.get(plugin.node, asked.node) != asked.node
        ):
            return None
        for name in plugin.devices:
            found = _devices(asked, annotations.get(name, ""))
            if found:
                return tuple(found)
        return None


class Plugin(NamedTuple):
    """Annotations of pods by which a scheduler tells its device plugin what to give out."""

    devices: tuple[str, ...]  # what was given out, then what is to be; the first that names a GPU counts
    node: str  # for which node


def _devices(asked: Asked, text: str) -> list[Held]:
    """`id,type,MiB,percent of cores:` of each GPU, `;` after each container; empty if any of it cannot be read."""
    found = []
    for device in text.replace(";", ":").split(":"):
        said = device.split(",")
        if said[0] == "":
            continue
        try:
            memory_mib, percent = int(said[MEMORY_AT]), int(said[CORES_AT])
        except (ValueError, IndexError):
            return []
        milli = max(asked.milli_of_memory(memory_mib) if memory_mib > 0 else 0, 10 * percent)
        # A part of a GPU in MIG mode has the place of the part behind the id.
        found.append(Held(said[0].partition("[")[0], min(milli, GPU_MILLI) if milli > 0 else GPU_MILLI))
    return found


USE = "nvidia.com/use-gputype"  # the name of the model must contain one of these texts
DO_NOT_USE = "nvidia.com/nouse-gputype"
MODEL_ANNOTATIONS = frozenset({USE, DO_NOT_USE})


def with_models(asked: Asked, wanted: GpuRequest) -> GpuRequest:
    """`wanted` with the models that the annotations allow."""
    if wanted.num_gpu == 0 or not (asked.annotations.keys() & MODEL_ANNOTATIONS):
        return wanted
    use, refuse = _texts(asked, USE), _texts(asked, DO_NOT_USE)
    names = [name for name in asked.known_models if not use or _holds(name, use)]
    models = tuple(name for name in names if not _holds(name, refuse))
    if not models:
        raise Unreadable(f"annotations {USE} and {DO_NOT_USE} leave no GPU model that we know, expected one")
    return wanted._replace(models=models)


def _texts(asked: Asked, annotation: str) -> list[str]:
    return [text.strip().lower() for text in asked.annotations.get(annotation, "").split(",") if text.strip()]


def _holds(model: str, texts: list[str]) -> bool:
    return any(text in model.lower() for text in texts)


class RegisteredGpu(msgspec.Struct, gc=False):
    id: str = ""
    devmem: int = 0  # MiB
    health: bool = False  # Go leaves a word out that is false


_REGISTERED = msgspec.json.Decoder(list[RegisteredGpu])


def registered_gpus(node: Node, annotation: str) -> list[RegisteredGpu] | None:
    """The healthy GPUs of the device plugin's annotation, a JSON list or the older `id,...:id,...:` text.

    None: the node has no such annotation.
    """
    text = node.metadata.annotations.get(annotation)
    if text is None:
        return None
    try:
        if text.lstrip().startswith("["):
            gpus = _REGISTERED.decode(text)
        else:
            parts = [part.split(",") for part in text.split(":") if part]
            gpus = [RegisteredGpu(part[0], int(part[MEMORY_AT]), "false" not in part) for part in parts]
    except (msgspec.MsgspecError, ValueError, IndexError):
        raise Unreadable(f"annotation {annotation} cannot be read, expected the GPUs of the node") from None
    return [gpu for gpu in gpus if gpu.health]


def registered_ids(node: Node, annotation: str) -> tuple[str, ...]:
    """The ids of the GPUs that count, in order; none if any has no id."""
    ids = tuple(gpu.id for gpu in registered_gpus(node, annotation) or ())
    return ids if all(ids) else ()


def registered_memory_mib(node: Node, annotation: str) -> int:
    """MiB of the smallest registered GPU; without the annotation, what the node's label says."""
    gpus = registered_gpus(node, annotation)
    return min(gpu.devmem for gpu in gpus) if gpus else label_memory_mib(node)

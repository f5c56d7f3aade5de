"""How to read a cluster: the dialects in which pods ask for GPUs, the labels that name models, the power profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from wattpack.errors import UserError
from wattpack.kube.dialects import ALL, find_dialect
from wattpack.kube.dialects.dialect import Dialect
from wattpack.model.gpu_names import model_of
from wattpack.model.power import PAPER, PowerProfile

EVERY_DIALECT = find_dialect(ALL)


@dataclass(frozen=True)
class Reading:
    """Settings that do not change; `dataclasses.replace` makes others."""

    dialect: Dialect = EVERY_DIALECT
    profile: PowerProfile = PAPER
    gpu_model_label: str = "nvidia.com/gpu.product"
    cpu_model_label: str = ""
    gpu_memory_mib: int = 0  # of one GPU, for dialects that ask for memory; 0: not given
    memories: Mapping[str, int] = field(default_factory=dict)  # MiB of a GPU of each model in the cluster
    models: Mapping[str, str] = field(default_factory=dict)  # the user's: label -> model of the profile

    def __post_init__(self) -> None:
        for label, model in self.models.items():
            if model not in self.known_models:
                expected = ", ".join(self.known_models)
                raise UserError(f"[models]: {label!r} is {model!r}, expected a model with known watts ({expected})")

    @cached_property
    def gpu_memories_mib(self) -> tuple[int, ...]:
        """That an amount of GPU memory may be a share of, ascending."""
        return (self.gpu_memory_mib,) if self.gpu_memory_mib else tuple(sorted(set(self.memories.values())))

    @cached_property
    def known_models(self) -> tuple[str, ...]:
        return tuple(self.profile.known_gpus)

    @cached_property
    def _models(self) -> dict[str, str]:
        return {}

    def model(self, label: str) -> str:
        """The model of the profile that a label names, "" if none."""
        found = self._models.get(label)
        if found is None:
            found = self.models.get(label) or model_of(label, self.known_models)
            if len(self._models) < 10_000:  # labels come from outside: a bound on memory
                self._models[label] = found
        return found

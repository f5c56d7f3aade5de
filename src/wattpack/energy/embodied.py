"""Emissions from making the machines, spread over their lifetime."""

from __future__ import annotations

from dataclasses import dataclass

from wattpack.errors import UserError
from wattpack.model.nodes import Datacenter

YEAR_S = 365 * 86400.0  # 8,760 h
MAX_KG = 1e6
MAX_YEARS = 100.0


@dataclass(frozen=True)
class Embodied:
    """kg CO2e of each GPU and of the rest of each node.

    150 kg per GPU (public figures go from 128 to 570) and 4 years. The rest of a node, and a node without GPU, counts 0
    unless `kg_per_node` is given: no figure holds for all servers.
    """

    kg_per_gpu: float = 150.0
    kg_per_node: float = 0.0
    lifetime_years: float = 4.0

    def __post_init__(self) -> None:
        if not (0 <= self.kg_per_gpu <= MAX_KG and 0 <= self.kg_per_node <= MAX_KG):
            raise UserError(
                f"embodied {self.kg_per_gpu:g} kg per GPU, {self.kg_per_node:g} per node, expected 0 or more"
            )
        if not 0 < self.lifetime_years <= MAX_YEARS:
            raise UserError(
                f"embodied lifetime of {self.lifetime_years:g} years, expected above 0, up to {MAX_YEARS:g}"
            )

    def kg(self, datacenter: Datacenter, seconds: float) -> float:
        """The share of these seconds: sum over nodes of kg / lifetime_s * length of the run."""
        total_kg = self.kg_per_gpu * float(datacenter.gpus.sum()) + self.kg_per_node * len(datacenter)
        return total_kg * seconds / (self.lifetime_years * YEAR_S)

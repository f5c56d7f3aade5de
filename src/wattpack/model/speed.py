"""How fast a GPU is beside another, for moves of running tasks. Plain data, each with its source and confidence.

Speeds are relative to one A100-SXM4-80GB. Only NVIDIA's GPUs have one: a program built for them does not run on GPUs of
other makers. Those count as unknown, and tasks on them stay on their model.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from wattpack.model.catalog import GPUS, PAPER_NAMES

# Confidence of a speed.
MEASURED = "measured"  # training throughput of one GPU in fp16, geometric mean over five networks
SIBLING = "sibling"  # the same chip as a measured model, for work on one GPU
ROUGH = "rough"  # from the maker's figures alone

_PUBLIC = "public training benchmark, one GPU, fp16, five networks"
# For the nine measured models up to the H100, `_rough` is off by at most 20 % (B200: almost twice too fast). So a GPU
# counts as faster only where the difference is larger than that, for each rough speed of the two.
ROUGH_MARGIN = 1.25
# Memory that drivers and ECC take differs by this much between boards of the same size (V100: 16160, P100: 16280 MiB).
MEMORY_TOLERANCE = 0.95


class Speed(NamedTuple):
    relative: float
    confidence: str
    source: str


def _rough(peak_tflops: float, bandwidth_gb_s: float) -> Speed:
    """Geometric mean of the maker's peak (fp16, dense) and memory bandwidth, against 312 TFLOP/s and 2039 GB/s."""
    relative = sqrt(peak_tflops / 312 * bandwidth_gb_s / 2039)
    source = f"maker's figures: {peak_tflops:g} TFLOP/s in fp16, {bandwidth_gb_s:g} GB/s"
    return Speed(round(relative, 3), ROUGH, source)


def _as(relative: float, model: str) -> Speed:
    return Speed(relative, SIBLING, f"as {model}, which has the same chip")


SPEEDS = {
    "P100-PCIE-16GB": _rough(21, 732),
    "T4": _rough(65, 320),
    "T4G": _rough(65, 320),
    "A10G": _rough(70, 600),
    "L4": _rough(121, 300),
    "A10": Speed(0.324, MEASURED, _PUBLIC),
    "L20": _rough(119.5, 864),
    "A40": _rough(150, 696),
    "V100-SXM2-16GB": Speed(0.424, MEASURED, _PUBLIC),
    "V100-SXM2-32GB": _as(0.424, "V100-SXM2-16GB"),
    "V100-PCIE-16GB": _rough(112, 900),
    "V100-PCIE-32GB": _rough(112, 900),
    "A30": _rough(165, 933),
    "L40": _rough(181, 864),
    "RTX-A6000": Speed(0.501, MEASURED, _PUBLIC),
    "RTX-6000-Ada-Generation": Speed(0.639, MEASURED, _PUBLIC),
    "L40S": _rough(362, 864),
    "A100-PCIE-40GB": Speed(0.821, MEASURED, _PUBLIC),
    "A100-SXM4-40GB": _rough(312, 1555),
    "A100-80GB-PCIe": Speed(0.943, MEASURED, _PUBLIC),
    "A800-80GB-PCIe": _as(0.943, "A100-80GB-PCIe"),
    "H20": _rough(148, 4000),
    "A100-SXM4-80GB": Speed(1.0, MEASURED, _PUBLIC),
    "A800-SXM4-80GB": _as(1.0, "A100-SXM4-80GB"),
    "H100-PCIe": Speed(1.312, MEASURED, _PUBLIC),
    "H100-80GB-HBM3": Speed(1.911, MEASURED, _PUBLIC),
    "H800": _as(1.911, "H100-80GB-HBM3"),
    "H100-NVL": _rough(835, 3900),
    "H200": _rough(989, 4800),
    "H200-NVL": _rough(835, 4800),
    "B200": Speed(2.781, MEASURED, _PUBLIC),
}


def speed_of(model: str) -> Speed | None:
    """The speed of a model of the catalog or of the paper; None if it is not known."""
    return SPEEDS.get(PAPER_NAMES.get(model, model))


def is_no_slower(model: str, than: str) -> bool:
    """Whether work on a GPU `than` surely runs as fast on a GPU `model`. A model is no slower than itself."""
    if PAPER_NAMES.get(model, model) == PAPER_NAMES.get(than, than):
        return True
    own, other = speed_of(model), speed_of(than)
    if own is None or other is None:
        return False
    rough = (own.confidence == ROUGH) + (other.confidence == ROUGH)
    return own.relative >= ROUGH_MARGIN**rough * other.relative


def holds_as_much(model: str, than: str) -> bool:
    """Whether a GPU `model` has the memory of a GPU `than`, where the catalog knows both."""
    own, other = (GPUS.get(PAPER_NAMES.get(name, name)) for name in (model, than))
    if own is None or other is None or own.memory_mib is None or other.memory_mib is None:
        return True
    return own.memory_mib >= MEMORY_TOLERANCE * other.memory_mib


def may_replace(model: str, running_on: str) -> bool:
    """Whether a task that runs on a GPU `running_on` may move to a GPU `model`: no slower, and no less memory."""
    return is_no_slower(model, running_on) and holds_as_much(model, running_on)

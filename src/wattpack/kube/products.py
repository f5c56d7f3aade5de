"""The GPU model of the power profile for a product name in a node's label."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SHARED = re.compile(r"-SHARED$", re.IGNORECASE)
_MIG = re.compile(r"-MIG-.*$", re.IGNORECASE)
_MAKER = re.compile(r"^(NVIDIA-|Tesla-|AMD-|Instinct-)+", re.IGNORECASE)

# Other names of GPUs (labels of clouds, drivers), stripped and in lower case -> name in the catalog.
ALIASES = {
    "v100": "V100-SXM2-16GB",
    "a100-80gb": "A100-SXM4-80GB",
    "a100-sxm-40gb": "A100-SXM4-40GB",
    "a100-sxm-80gb": "A100-SXM4-80GB",
    "h100-80gb": "H100-80GB-HBM3",
    "h100-mega-80gb": "H100-80GB-HBM3",
    "h100-sxm5": "H100-80GB-HBM3",
    "h100-sxm5-80gb": "H100-80GB-HBM3",
    "h100-pcie-80gb": "H100-PCIe",
    "h200-141gb": "H200",
    "h200-sxm": "H200",
    "a6000": "RTX-A6000",
    "mi300x-oam": "MI300X",
}


def stripped(label: str) -> str:
    """`NVIDIA-A100-SXM4-80GB-MIG-1g.10gb-SHARED` is an `A100-SXM4-80GB`."""
    text = label.strip().replace(" ", "-").replace("_", "-")
    return _MAKER.sub("", _MIG.sub("", _SHARED.sub("", text)))


def model_of(label: str, known: Iterable[str]) -> str:
    """The known model that a label names, "" if none."""
    text = stripped(label).lower()
    names = {name.lower(): name for name in known}
    return names.get(text) or names.get(ALIASES.get(text, "").lower(), "")

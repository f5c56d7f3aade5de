"""Watts of GPUs and CPUs beyond the paper's table, each with its source and confidence. Plain data.

GPUs have the names of the node label `nvidia.com/gpu.product`, without the maker. Idle: nothing on the GPU. Context:
a process holds the GPU and does nothing. Limit: the board's power limit. Unknown values are None, never guessed.
"""

from __future__ import annotations

from typing import NamedTuple

# Confidence of an entry.
CURVE = "curve"  # measured by us over all shares in use, on one GPU
READINGS = "readings"  # idle and context from public logs, few readings each
IDLE = "idle"  # readings of the idle GPU only
SIBLING = "sibling"  # limit from the maker; idle and context are those of a GPU with the same chip and kind of board
LIMIT = "limit"  # the maker's power limit only; such entries are in no profile

_LOGS = "readings in public logs; limit from the maker"
_MAKER = "limit from the maker"
# `wattpack calibrate gpu` read 78, 119 and 691 W; docs/guide/calibrate.md has all its readings.
_H200 = "two own measurements (idle 76 and 78 W, context 118 and 119 W, full load 695 and 691 W)"
_TDP = "maximum is the maker's TDP"


def _as(model: str) -> str:
    return f"limit from the maker; idle and context as {model}, which has the same chip and kind of board"


class GpuEntry(NamedTuple):
    idle_w: float | None
    context_w: float | None
    limit_w: float
    memory_mib: int | None
    confidence: str
    source: str = _LOGS


class CpuEntry(NamedTuple):
    """One socket."""

    cores: int
    idle_w: float | None
    max_w: float
    source: str = "readings in public logs; maximum is the maker's TDP"


GPUS = {
    # NVIDIA Kepler to Volta. K80 and M60 are boards with two GPUs: the entry is one of them, as Kubernetes counts.
    "K80": GpuEntry(31, None, 149, 11441, IDLE),
    "M60": GpuEntry(13, 39, 150, 7680, READINGS),
    "P4": GpuEntry(7, None, 75, 7680, IDLE),
    "P40": GpuEntry(10, None, 250, 24576, IDLE),
    "P100-PCIE-16GB": GpuEntry(28, None, 250, 16280, IDLE),
    "P100-SXM2-16GB": GpuEntry(None, None, 300, 16280, LIMIT, _MAKER),
    "V100-PCIE-16GB": GpuEntry(25, 38, 250, 16160, READINGS),
    "V100-PCIE-32GB": GpuEntry(25, 38, 250, 32510, SIBLING, _as("V100-PCIE-16GB")),
    "V100-SXM2-16GB": GpuEntry(45, 53, 300, 16160, READINGS),
    "V100-SXM2-32GB": GpuEntry(45, 53, 300, 32510, READINGS),
    # Turing
    "T4": GpuEntry(10, 28, 70, 15360, READINGS),
    "T4G": GpuEntry(10, 28, 70, 15360, SIBLING, _as("T4")),
    "Quadro-RTX-6000": GpuEntry(None, None, 260, 24576, LIMIT, _MAKER),
    "Quadro-RTX-8000": GpuEntry(None, None, 260, 49152, LIMIT, _MAKER),
    # Ampere. A16 is a board with four GPUs and 250 W.
    "A2": GpuEntry(5, None, 60, 15356, IDLE),
    "A10": GpuEntry(12, 42, 150, 23028, READINGS),
    "A10G": GpuEntry(11, None, 300, 23028, IDLE),
    "A16": GpuEntry(12, None, 62.5, 15356, IDLE),
    "A30": GpuEntry(30, None, 165, 24576, IDLE),
    "A40": GpuEntry(25, 70, 300, 46068, READINGS),
    "RTX-A6000": GpuEntry(5, 71, 300, 49140, READINGS),
    "GeForce-RTX-3090": GpuEntry(28, None, 350, 24576, IDLE),
    "A100-SXM4-40GB": GpuEntry(46, 85, 400, 40960, READINGS),
    "A100-SXM4-80GB": GpuEntry(48, 85, 400, 81920, READINGS),
    "A800-SXM4-80GB": GpuEntry(48, 85, 400, 81920, SIBLING, _as("A100-SXM4-80GB")),
    "A100-PCIE-40GB": GpuEntry(45, None, 250, 40960, IDLE),
    "A100-80GB-PCIe": GpuEntry(45, None, 300, 81920, IDLE),
    "A800-80GB-PCIe": GpuEntry(45, None, 300, 81920, IDLE, _as("A100-80GB-PCIe")),
    # Ada. The driver shows 350 W for an L20, the maker's data sheet says 275.
    "L4": GpuEntry(15, 28, 72, 23034, READINGS),
    "L20": GpuEntry(28, 94, 275, 46068, SIBLING, _as("L40S")),
    "L40": GpuEntry(35, None, 300, 46068, IDLE),
    "L40S": GpuEntry(28, 94, 350, 46068, READINGS),
    "RTX-6000-Ada-Generation": GpuEntry(None, None, 300, 49140, LIMIT, _MAKER),
    "GeForce-RTX-4090": GpuEntry(17, None, 450, 24564, IDLE),
    # Hopper. The driver shows 500 W for an H20, the maker's data sheet says 400.
    "H100-80GB-HBM3": GpuEntry(70, 119, 700, 81559, READINGS),
    "H100-PCIe": GpuEntry(46, 86, 350, 81559, READINGS),
    "H100-NVL": GpuEntry(62, None, 400, 95830, IDLE),
    "H800": GpuEntry(70, 119, 700, 81559, SIBLING, _as("H100-80GB-HBM3")),
    "H20": GpuEntry(70, 119, 400, 97871, SIBLING, _as("H100-80GB-HBM3")),
    "H200": GpuEntry(76, 118, 700, 143771, CURVE, _H200),
    "H200-NVL": GpuEntry(71, None, 600, 143771, IDLE),
    # Blackwell
    "B200": GpuEntry(140, 190, 1000, 183359, READINGS),
    "B300": GpuEntry(180, None, 1100, 275040, IDLE),
    "GB200": GpuEntry(166, None, 1200, 189471, IDLE),
    "GB300": GpuEntry(None, None, 1400, None, LIMIT, _MAKER),
    "RTX-PRO-6000-Blackwell-Server-Edition": GpuEntry(34, None, 600, 97887, IDLE),
    # AMD. An OAM of MI250 and MI250X holds two dies and Kubernetes counts dies, so those do not have the label's name.
    "MI100": GpuEntry(None, None, 300, 32752, LIMIT, _MAKER),
    "MI210": GpuEntry(42, None, 300, 65520, IDLE),
    "MI250X-OAM": GpuEntry(95, None, 560, None, IDLE),
    "MI300X": GpuEntry(135, 175, 750, 196592, READINGS),
    "MI325X": GpuEntry(None, None, 1000, 262128, LIMIT, _MAKER),
    "MI350X": GpuEntry(None, None, 1000, 294896, LIMIT, _MAKER),
    "MI355X": GpuEntry(None, None, 1400, 294896, LIMIT, _MAKER),
    # Intel
    "Gaudi2": GpuEntry(84, None, 600, None, IDLE),
    "Gaudi3": GpuEntry(None, None, 900, None, LIMIT, _MAKER),
}

CPUS = {
    "Xeon Platinum 8163": CpuEntry(24, 20, 165),
    "Xeon Platinum 8269CY": CpuEntry(26, 20, 205),
    "Xeon Platinum 8369B": CpuEntry(32, 20, 270),
    "Xeon Gold 6326": CpuEntry(16, 20, 185),
    "EPYC 7742": CpuEntry(64, 52, 225),
    "EPYC 7763": CpuEntry(64, 57, 280),
    # No idle readings: in no profile unless a power file gives idle_w. Models that clouds have made for themselves
    # (EPYC 7R13, Graviton) have no published watts.
    # Intel, Broadwell to Emerald Rapids
    "Xeon E5-2680 v4": CpuEntry(14, None, 120, _TDP),
    "Xeon E5-2686 v4": CpuEntry(18, None, 145, _TDP),
    "Xeon E5-2690 v4": CpuEntry(14, None, 135, _TDP),
    "Xeon Gold 6130": CpuEntry(16, None, 125, _TDP),
    "Xeon Gold 6148": CpuEntry(20, None, 150, _TDP),
    "Xeon Gold 6230": CpuEntry(20, None, 125, _TDP),
    "Xeon Gold 6248": CpuEntry(20, None, 150, _TDP),
    "Xeon Gold 6248R": CpuEntry(24, None, 205, _TDP),
    "Xeon Platinum 8168": CpuEntry(24, None, 205, _TDP),
    "Xeon Platinum 8280": CpuEntry(28, None, 205, _TDP),
    "Xeon Gold 6330": CpuEntry(28, None, 205, _TDP),
    "Xeon Gold 6338": CpuEntry(32, None, 205, _TDP),
    "Xeon Platinum 8352Y": CpuEntry(32, None, 205, _TDP),
    "Xeon Platinum 8358": CpuEntry(32, None, 250, _TDP),
    "Xeon Platinum 8362": CpuEntry(32, None, 265, _TDP),
    "Xeon Platinum 8368": CpuEntry(38, None, 270, _TDP),
    "Xeon Platinum 8380": CpuEntry(40, None, 270, _TDP),
    "Xeon Gold 6430": CpuEntry(32, None, 270, _TDP),
    "Xeon Gold 6448Y": CpuEntry(32, None, 225, _TDP),
    "Xeon Platinum 8462Y+": CpuEntry(32, None, 300, _TDP),
    "Xeon Platinum 8468": CpuEntry(48, None, 350, _TDP),
    "Xeon Platinum 8470": CpuEntry(52, None, 350, _TDP),
    "Xeon Platinum 8480+": CpuEntry(56, None, 350, _TDP),
    "Xeon Platinum 8480C": CpuEntry(56, None, 350, _TDP),
    "Xeon Platinum 8558": CpuEntry(48, None, 330, _TDP),
    "Xeon Platinum 8568Y+": CpuEntry(48, None, 350, _TDP),
    "Xeon Platinum 8570": CpuEntry(56, None, 350, _TDP),
    "Xeon Platinum 8580": CpuEntry(60, None, 350, _TDP),
    "Xeon Platinum 8592+": CpuEntry(64, None, 350, _TDP),
    # AMD, Rome to Turin
    "EPYC 7352": CpuEntry(24, None, 155, _TDP),
    "EPYC 7402": CpuEntry(24, None, 180, _TDP),
    "EPYC 7452": CpuEntry(32, None, 155, _TDP),
    "EPYC 7502": CpuEntry(32, None, 180, _TDP),
    "EPYC 7542": CpuEntry(32, None, 225, _TDP),
    "EPYC 7642": CpuEntry(48, None, 225, _TDP),
    "EPYC 7H12": CpuEntry(64, None, 280, _TDP),
    "EPYC 7413": CpuEntry(24, None, 180, _TDP),
    "EPYC 7513": CpuEntry(32, None, 200, _TDP),
    "EPYC 7543": CpuEntry(32, None, 225, _TDP),
    "EPYC 74F3": CpuEntry(24, None, 240, _TDP),
    "EPYC 7713": CpuEntry(64, None, 225, _TDP),
    "EPYC 9124": CpuEntry(16, None, 200, _TDP),
    "EPYC 9334": CpuEntry(32, None, 210, _TDP),
    "EPYC 9354": CpuEntry(32, None, 280, _TDP),
    "EPYC 9454": CpuEntry(48, None, 290, _TDP),
    "EPYC 9474F": CpuEntry(48, None, 360, _TDP),
    "EPYC 9534": CpuEntry(64, None, 280, _TDP),
    "EPYC 9554": CpuEntry(64, None, 360, _TDP),
    "EPYC 9654": CpuEntry(96, None, 360, _TDP),
    "EPYC 9575F": CpuEntry(64, None, 400, _TDP),
    "EPYC 9655": CpuEntry(96, None, 400, _TDP),
    "EPYC 9755": CpuEntry(128, None, 500, _TDP),
    "EPYC 9965": CpuEntry(192, None, 500, _TDP),
}

# The paper's GPU names -> the measured entry. G2 is treated as A10 and G3 as A100, as in the paper.
PAPER_NAMES = {
    "T4": "T4",
    "A10": "A10",
    "G2": "A10",
    "P100": "P100-PCIE-16GB",
    "V100M16": "V100-SXM2-16GB",
    "V100M32": "V100-SXM2-32GB",
    "G3": "A100-SXM4-40GB",
    "A100": "A100-SXM4-40GB",
}

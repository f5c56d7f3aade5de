"""GPU and CPU of instance types of clouds, from the clouds' own lists. Plain data.

Types with parts of a GPU (g6f, NV6ads) are left out: their watts are not those of a GPU. A CPU is named only where the
cloud's documentation names the product.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Machine(NamedTuple):
    gpu: str  # name in the catalog
    cpu: str = ""  # product, "" where the cloud does not say


_TYPES: list[tuple[str, Machine]] = [
    # AWS
    (r"p6-b300\..*", Machine("B300")),
    (r"p6-b200\..*", Machine("B200")),
    (r"p6e-gb200\..*", Machine("GB200")),
    (r"p5en\..*", Machine("H200")),
    (r"p5e\..*", Machine("H200", "EPYC 7R13")),
    (r"p5\..*", Machine("H100-80GB-HBM3", "EPYC 7R13")),
    (r"p4de\..*", Machine("A100-SXM4-80GB", "Xeon Platinum 8275CL")),
    (r"p4d\..*", Machine("A100-SXM4-40GB", "Xeon Platinum 8275CL")),
    (r"p3dn\..*", Machine("V100-SXM2-32GB", "Xeon Platinum 8175M")),
    (r"p3\..*", Machine("V100-SXM2-16GB", "Xeon E5-2686 v4")),
    (r"p2\..*", Machine("K80", "Xeon E5-2686 v4")),
    (r"g7e\..*", Machine("RTX-PRO-6000-Blackwell-Server-Edition")),
    (r"g6e\..*", Machine("L40S", "EPYC 7R13")),
    (r"(g6|gr6)\..*", Machine("L4", "EPYC 7R13")),
    (r"g5\..*", Machine("A10G", "EPYC 7R32")),
    (r"g5g\..*", Machine("T4G", "Graviton2")),
    (r"g4dn\..*", Machine("T4", "Xeon Platinum 8259CL")),
    (r"(g3|g3s)\..*", Machine("M60", "Xeon E5-2686 v4")),
    # Google
    (r"a4x-highgpu-.*", Machine("GB200", "Grace")),
    (r"a4-highgpu-.*", Machine("B200", "Xeon Platinum 8581C")),
    (r"a3-ultragpu-.*", Machine("H200", "Xeon Platinum 8581C")),
    (r"a3-(mega|high|edge)gpu-.*", Machine("H100-80GB-HBM3", "Xeon Platinum 8481C")),
    (r"a2-ultragpu-.*", Machine("A100-SXM4-80GB")),
    (r"a2-(high|mega)gpu-.*", Machine("A100-SXM4-40GB")),
    (r"g4-standard-.*", Machine("RTX-PRO-6000-Blackwell-Server-Edition")),
    (r"g2-standard-.*", Machine("L4")),
    # Azure
    (r"standard_nd\d+isr_.*gb300_v6", Machine("GB300", "Grace")),
    (r"standard_nd\d+isr_.*gb200_v6", Machine("GB200", "Grace")),
    (r"standard_nd\d+isr_mi300x_v5", Machine("MI300X", "Xeon Platinum 8480C")),
    (r"standard_nd\d+isr_h200_v5", Machine("H200", "Xeon Platinum 8480C")),
    (r"standard_nd\d+isr_h100_v5", Machine("H100-80GB-HBM3", "Xeon Platinum 8480C")),
    (r"standard_n(c|cc)\d+a?de?i?s_h100_v5", Machine("H100-NVL", "EPYC 9V84")),
    (r"standard_nd\d+amsr_a100_v4", Machine("A100-SXM4-80GB", "EPYC 7V12")),
    (r"standard_nd\d+asr(_a100)?_v4", Machine("A100-SXM4-40GB", "EPYC 7V12")),
    (r"standard_nc\d+ads_a100_v4", Machine("A100-80GB-PCIe", "EPYC 7V13")),
    (r"standard_nc\d+as_t4_v3", Machine("T4", "EPYC 7V12")),
    (r"standard_nd40rs_v2", Machine("V100-SXM2-32GB", "Xeon Platinum 8168")),
    (r"standard_nc\d+rs?_v3|standard_nc\d+s_v3", Machine("V100-PCIE-16GB", "Xeon E5-2690 v4")),
    (r"standard_nc\d+rs?_v2|standard_nc\d+s_v2", Machine("P100-PCIE-16GB", "Xeon E5-2690 v4")),
    (r"standard_nd\d+r?s", Machine("P40", "Xeon E5-2690 v4")),
    (r"standard_nc\d+r?", Machine("K80", "Xeon E5-2690 v3")),
    (r"standard_nv(36|72)adm?s_a10_v5", Machine("A10", "EPYC 74F3")),
    # Oracle
    (r"bm\.gpu\.b200\.\d+", Machine("B200")),
    (r"bm\.gpu\.h200\.\d+", Machine("H200")),
    (r"bm\.gpu\.h100\.\d+", Machine("H100-80GB-HBM3", "Xeon Platinum 8480+")),
    (r"bm\.gpu\.a100-v2\.\d+", Machine("A100-SXM4-80GB")),
    (r"bm\.gpu4\.\d+", Machine("A100-SXM4-40GB", "EPYC 7542")),
    (r"bm\.gpu\.l40s(-nc)?\.\d+", Machine("L40S")),
    (r"(bm|vm)\.gpu\.a10\.\d+", Machine("A10")),
    (r"bm\.gpu\.mi300x\.\d+", Machine("MI300X")),
    # Alibaba Cloud
    (r"ecs\.gn7i-.*", Machine("A10")),
    (r"ecs\.gn6i-.*", Machine("T4")),
    (r"ecs\.gn6e-.*", Machine("V100-SXM2-32GB")),
    (r"ecs\.gn6v-.*", Machine("V100-SXM2-16GB")),
]
_COMPILED = [(re.compile(pattern, re.IGNORECASE), machine) for pattern, machine in _TYPES]
LONGEST = 80  # letters of an instance type; a label has at most 63


def machine_of(instance_type: str) -> Machine | None:
    if len(instance_type) > LONGEST:
        return None
    return next((machine for pattern, machine in _COMPILED if pattern.fullmatch(instance_type)), None)

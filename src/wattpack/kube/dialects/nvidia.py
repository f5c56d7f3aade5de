"""Whole GPUs only: `nvidia.com/gpu`, as NVIDIA's device plugin offers them."""

from __future__ import annotations

from wattpack.kube.dialects.dialect import Dialect
from wattpack.kube.dialects.shares import whole_gpus

NVIDIA = Dialect(name="nvidia", request=whole_gpus)

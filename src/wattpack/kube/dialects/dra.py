"""Resource claims (dynamic resource allocation): a pod names claims, and claims name devices of ResourceSlices.

Neither the pod nor the node says how many GPUs that are: the room `dra` reads slices and claims, and `read_claims.py`
adds what they say. Beside claims, a pod asks for whole GPUs in plain words, as in every dialect.
"""

from __future__ import annotations

from wattpack.kube.dialects.dialect import Dialect
from wattpack.kube.dialects.shares import whole_gpus

DRA = Dialect(name="dra", request=whole_gpus)


def reads_claims(dialect: Dialect) -> bool:
    """Whether this dialect, or one of those that it stands for, is that of resource claims."""
    return dialect is DRA or DRA in dialect.parts

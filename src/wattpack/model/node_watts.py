"""What each node of a datacenter draws when it is idle and when all of it is in use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wattpack.model.nodes import Datacenter
from wattpack.model.power import GPU_MILLI, PAPER, VCPU_MILLI_PER_CORE, PowerProfile, draw_table_mw, total_power


def idle_and_full_w(datacenter: Datacenter, profile: PowerProfile = PAPER) -> tuple[NDArray[np.float64], ...]:
    """Watts of every node with nothing on it, and with every GPU and core in use."""
    nodes = datacenter.records(profile)
    draw_mw = draw_table_mw(datacenter.models, profile)
    # As `cpu_power_mw` has it for a free node: a part of a core counts as a core, and keeps its socket awake.
    awake = nodes.cpu_milli % VCPU_MILLI_PER_CORE > 0
    sockets_mw = nodes.sockets * nodes.socket_idle_mw + awake * (nodes.socket_max_mw - nodes.socket_idle_mw)
    idle_mw = total_power(sockets_mw, nodes.gpus * draw_mw[nodes.model, 0], nodes.base_mw)
    gpus_mw = nodes.gpus * draw_mw[nodes.model, GPU_MILLI]
    full_mw = total_power(nodes.sockets * nodes.socket_max_mw, gpus_mw, nodes.base_mw)
    return idle_mw / 1000, full_mw / 1000

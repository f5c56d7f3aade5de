"""What each node of a datacenter draws when it is idle and when all of it is in use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wattpack.model.nodes import Datacenter
from wattpack.model.power import GPU_MILLI, PAPER, PowerProfile, draw_table_mw, nodes_power_mw


def idle_and_full_w(datacenter: Datacenter, profile: PowerProfile = PAPER) -> tuple[NDArray[np.float64], ...]:
    """Watts of every node with nothing on it, and with every GPU and core in use."""
    nodes, draw_mw = datacenter.records(profile), draw_table_mw(datacenter.models, profile)
    nodes.cpu_power_mw = nodes.sockets * nodes.socket_idle_mw
    nodes.gpu_power_mw = nodes.gpus * draw_mw[nodes.model, 0]
    idle_mw = nodes_power_mw(nodes)
    nodes.cpu_power_mw = nodes.sockets * nodes.socket_max_mw
    nodes.gpu_power_mw = nodes.gpus * draw_mw[nodes.model, GPU_MILLI]
    return idle_mw / 1000, nodes_power_mw(nodes) / 1000

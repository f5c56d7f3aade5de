"""The built-in datacenter `alibaba2026`: counts of the node list of the Alibaba spot-GPU trace of 2026 (see NOTICE).

The table holds the number of nodes of each type, sorted, and nothing else from the published file: no names, no order.
Memory is not published, and two GPU models are published without their names: `ABOUT` says what is taken for them.
`tools/make_tables.py` writes the table.
"""

from __future__ import annotations

from functools import cache

from wattpack.datasets.node_table import About, nodes_of
from wattpack.model.nodes import Datacenter

NAME = "alibaba2026"
TABLE = "nodes-2026.csv"

# Published without a name -> the model taken for it.
TAKEN_FOR = {"GPU-series-1": "L20", "GPU-series-2": "H20"}
# The one node type that the trace of 2023 has too (one A10, 128 vCPU) has 1 TiB there: 8 GiB a vCPU.
MEMORY_MIB_PER_VCPU = 8 * 1024

ABOUT = About(
    summary="4,278 nodes of a production fleet of 2026: A10, L20, A100, A800, H800, H20",
    source="node list of cluster-trace-v2026-spot-gpu, published by Alibaba Group; counts only",
    assumptions=(
        "GPU-series-1 is taken for L20: mostly one in a newer host (192 vCPU), as a PCIe card for inference is; L20 is "
        "such a card for the market that A800 and H800 are made for",
        "GPU-series-2 is taken for H20: always 8 in a host of 192 vCPU, as H800; H20 is the other such GPU there",
        "memory is not published: 8 GiB a vCPU, as the node with one A10 and 128 vCPU has in alibaba2023",
        "CPU models are not published: the default CPU of the power profile, as for alibaba2023",
        "A800, H800, L20 and H20 have the maker's limit and the idle watts of a GPU with the same chip",
    ),
)


@cache
def datacenter() -> Datacenter:
    """The 4,278 nodes, type after type in the order of the table: by model, GPUs, vCPU."""
    return nodes_of(TABLE, NAME)

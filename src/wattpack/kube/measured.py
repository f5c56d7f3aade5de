"""Modelled against measured watts of GPUs, measured by DCGM or Kepler and read from Prometheus."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypedDict

import aiohttp
import msgspec

from wattpack.errors import RunError
from wattpack.kube.cluster import Cluster
from wattpack.model.power import GPU_MILLI, draw_table_mw

# Maximum by physical GPU: a shared GPU has one sample for every pod on it, each with the power of the whole GPU.
DCGM = "max by (Hostname, hostname, node, UUID) (DCGM_FI_DEV_POWER_USAGE)"
KEPLER = "sum by (instance, node, node_name) (kepler_node_gpu_watts)"
NODE_LABELS = ("node", "Hostname", "hostname", "node_name", "instance")


class Sample(NamedTuple):
    node: str
    uuid: str  # of the GPU; "": all GPUs of the node together
    watts: float


class PowerRow(TypedDict):
    """One GPU model: modelled against measured watts, over the nodes that are measured."""

    model: str
    nodes: int
    gpus: int
    measured_w: float
    modelled_w: float
    error_w_per_gpu: float
    error: float | None  # part of the measured watts; null where nothing was measured


class Power(TypedDict):
    prometheus: str  # its address, "" without one
    models: list[PowerRow]


async def query(session: aiohttp.ClientSession, url: str, expression: str) -> list[Sample]:
    """Samples of one instant query."""
    address = f"{url.rstrip('/')}/api/v1/query"
    try:
        async with session.get(
            address, params={"query": expression}, timeout=aiohttp.ClientTimeout(total=10)
        ) as answer:
            text = await answer.read()
            if answer.status != 200:
                raise RunError(f"{address}: answered {answer.status}")
        rows = msgspec.json.decode(text)["data"]["result"]
        return [sample for row in rows if (sample := read_sample(row)) is not None]
    except (aiohttp.ClientError, TimeoutError, OSError) as fault:
        raise RunError(f"{address}: {fault or type(fault).__name__}") from None
    except (msgspec.DecodeError, KeyError, TypeError, ValueError, IndexError):
        raise RunError(f"{address}: not the answer of a Prometheus query") from None


def read_sample(row: Any) -> Sample | None:
    labels = row["metric"]
    name = next((labels[label] for label in NODE_LABELS if labels.get(label)), "")
    watts = float(row["value"][1])
    if not name or not 0 <= watts < 1e6:  # DCGM reports absurd values for a GPU that has fallen off the bus
        return None
    return Sample(str(name).split(":")[0], str(labels.get("UUID", "")), watts)


async def measure(session: aiohttp.ClientSession, url: str) -> list[Sample]:
    """GPU power by DCGM; without DCGM by Kepler, which has only the sum of each node."""
    return await query(session, url, DCGM) or await query(session, url, KEPLER)


def errors_by_model(samples: Iterable[Sample], cluster: Cluster) -> list[PowerRow]:
    """Modelled against measured watts, by GPU model, over the nodes that are measured."""
    engine = cluster.engine()
    if engine is None:
        return []
    measured: dict[str, dict[str, float]] = {}
    for sample in samples:
        # Exporters may use a full host name where Kubernetes has the short one.
        node = sample.node if sample.node in cluster.index else sample.node.split(".")[0]
        if node in cluster.index:
            measured.setdefault(node, {})[sample.uuid] = sample.watts
    tables = draw_table_mw(engine.datacenter.models, engine.profile)
    rows: dict[str, PowerRow] = {}
    for node, watts in sorted(measured.items()):
        facts = cluster.nodes[node]
        whole = "" in watts
        counted = facts.gpus if whole else len(watts)
        if facts.gpus == 0 or counted != facts.gpus:
            continue  # some of its GPUs are not measured: which of them is which is not known
        state = engine.state.nodes[cluster.index[node]]
        modelled = sum(int(tables[state.model, GPU_MILLI - int(left)]) for left in state.gpu_left[: facts.gpus]) / 1000
        if facts.model not in rows:
            rows[facts.model] = PowerRow(
                model=facts.model, nodes=0, gpus=0, measured_w=0.0, modelled_w=0.0, error_w_per_gpu=0.0, error=None
            )
        row = rows[facts.model]
        row["nodes"] += 1
        row["gpus"] += facts.gpus
        row["measured_w"] += watts[""] if whole else sum(watts.values())
        row["modelled_w"] += modelled
    for row in rows.values():
        row["error_w_per_gpu"] = (row["modelled_w"] - row["measured_w"]) / row["gpus"]
        row["error"] = (row["modelled_w"] - row["measured_w"]) / row["measured_w"] if row["measured_w"] else None
    return list(rows.values())

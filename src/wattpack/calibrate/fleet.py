"""Samples of a fleet: watts of GPUs beside the share of them in use, from the metrics of DCGM's exporter."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from wattpack.calibrate.prometheus import Prometheus, Range, Series
from wattpack.errors import UserError
from wattpack.model.gpu_names import entry_name

# A GPU that several pods share has one series for every pod, each with the watts of the whole GPU: the mean of them is
# the GPU's. Means over a step on both sides: watts and utilisation of one instant do not belong to the same instant.
WATTS = "avg by (UUID, modelName, node, Hostname, hostname, instance) (avg_over_time(DCGM_FI_DEV_POWER_USAGE[{step}s]))"
UTILISATION = "avg by (UUID) (avg_over_time(DCGM_FI_DEV_GPU_UTIL[{step}s])) / 100"
MEMORY = "max by (UUID) (max_over_time(DCGM_FI_DEV_FB_USED[{step}s]))"
REQUESTS = (
    'sum by (node) (kube_pod_container_resource_requests{resource="nvidia_com_gpu"} '
    '* on (namespace, pod) group_left () (kube_pod_status_phase{phase="Running"} == 1))'
)
UUID, NODE = "UUID", "node"  # what series are told apart by
NODE_LABELS = ("node", "Hostname", "hostname", "instance")
HELD_MIB = 200  # of GPU memory above the least that was seen: a context takes 300 or more
EMPTY_MIB = 1000  # an empty GPU has less in use (older drivers count what they reserve): above, none was seen empty
Note = Callable[[str], None]


class Samples(NamedTuple):
    """Of one model. `held`: 1 a process holds the GPU, 0 nothing does, -1 not known."""

    gpus: int
    share: np.ndarray
    watts: np.ndarray
    held: np.ndarray
    by_node: bool  # a sample is the mean of a node's GPUs, free ones and those in use


class _Gpu(NamedTuple):
    model: str
    node: str
    watts: np.ndarray  # by step, NaN where there is none


def ask_fleet(server: Prometheus, times: Range, share: str, note: Note) -> dict[str, Samples]:
    """Samples by model. `share`: utilisation, requests, or an expression whose series have the label UUID or a node's.

    With `requests` and expressions by node, a sample is a node: the mean watts of its GPUs.
    """
    gpus = _gpus(server.range(WATTS.replace("{step}", str(times.step_s)), times), server.address)
    note(f"{len(gpus)} GPUs, {times.steps} steps of {times.step_s} s")
    if share == "utilisation":
        shares = _by(server.range(UTILISATION.replace("{step}", str(times.step_s)), times), UUID)
        memory = _by(server.range(MEMORY.replace("{step}", str(times.step_s)), times), UUID)
        if not shares:
            raise UserError(f"{server.address}: no DCGM_FI_DEV_GPU_UTIL in this time, expected it or --share")
        return _by_gpu(gpus, shares, memory)
    if share == "requests":
        counts = _by(server.range(REQUESTS, times), NODE)
        if not counts:
            raise UserError(
                f"{server.address}: no kube_pod_container_resource_requests of nvidia_com_gpu in this time, "
                "expected those of kube-state-metrics or --share"
            )
        return _by_node(gpus, counts, counted=True)
    series = server.range(share, times)
    if any("UUID" in found.labels for found in series):
        return _by_gpu(gpus, _by(series, UUID), None)
    if shares := _by(series, NODE):
        return _by_node(gpus, shares, counted=False)
    raise UserError(f"--share {share}: {len(series)} series, expected some with the label UUID, node or Hostname")


def _node(labels: dict[str, str]) -> str:
    """The short name of the host: exporters may use the full one where Kubernetes has the short one."""
    name = next((labels[label] for label in NODE_LABELS if labels.get(label)), "")
    return name.split(":")[0].split(".")[0]


def _gpus(series: list[Series], address: str) -> dict[str, _Gpu]:
    found: dict[str, _Gpu] = {}
    for one in series:
        uuid, product = one.labels.get("UUID", ""), one.labels.get("modelName", "")
        if not uuid or not product:
            continue
        row = one.values
        if uuid in found:  # seen by two exporters, or on another host since
            row = np.where(np.isnan(found[uuid].watts), row, found[uuid].watts)
        found[uuid] = _Gpu(entry_name(product), _node(one.labels), row)
    if not found:
        raise UserError(
            f"{address}: no DCGM_FI_DEV_POWER_USAGE with the labels UUID and modelName in this time, "
            "expected the metrics of DCGM's exporter"
        )
    return found


def _by(series: list[Series], label: str) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    for one in series:
        key = one.labels.get("UUID", "") if label == UUID else _node(one.labels)
        if key:
            row = one.values
            found[key] = np.where(np.isnan(found[key]), row, found[key]) if key in found else row
    return found


def _by_gpu(
    gpus: dict[str, _Gpu], shares: dict[str, np.ndarray], memory: dict[str, np.ndarray] | None
) -> dict[str, Samples]:
    """`memory` None: the share is allocated, so a share above 0 means that somebody holds the GPU."""
    parts: dict[str, list[tuple[np.ndarray, np.ndarray, np.ndarray]]] = {}
    least: dict[str, float] = {}
    for uuid, gpu in gpus.items():
        if memory and uuid in memory and not np.isnan(memory[uuid]).all():
            least[gpu.model] = min(least.get(gpu.model, np.inf), float(np.nanmin(memory[uuid])))
    for uuid, gpu in gpus.items():
        if uuid not in shares:
            continue
        share = shares[uuid]
        if memory is None:
            held = (share > 0).astype(np.int8)
        else:
            used = memory.get(uuid, np.full(len(share), np.nan))
            known = ~np.isnan(used)
            held = np.full(len(share), -1, dtype=np.int8)
            empty = least.get(gpu.model, 0.0)
            held[known] = (used[known] > empty + HELD_MIB) | (empty > EMPTY_MIB)
        good = ~np.isnan(share) & ~np.isnan(gpu.watts) & (gpu.watts >= 0)
        parts.setdefault(gpu.model, []).append((share[good], gpu.watts[good], held[good]))
    return {model: _joined(found) for model, found in parts.items()}


def _by_node(gpus: dict[str, _Gpu], shares: dict[str, np.ndarray], counted: bool) -> dict[str, Samples]:
    nodes: dict[tuple[str, str], list[np.ndarray]] = {}
    for gpu in gpus.values():
        nodes.setdefault((gpu.node, gpu.model), []).append(gpu.watts)
    mixed = {node for node, _ in nodes if sum(1 for other, _ in nodes if other == node) > 1}
    parts: dict[str, list[tuple[np.ndarray, np.ndarray, np.ndarray]]] = {}
    numbers: dict[str, int] = {}
    for (node, model), rows in nodes.items():
        if node in mixed or node not in shares:
            continue  # of a node with two models it is not known which of them is in use
        watts = np.mean(rows, axis=0)  # NaN where one of its GPUs is not measured
        share = shares[node] / len(rows) if counted else shares[node]
        good = ~np.isnan(share) & ~np.isnan(watts)
        parts.setdefault(model, []).append((share[good], watts[good], np.full(int(good.sum()), -1, dtype=np.int8)))
        numbers[model] = numbers.get(model, 0) + len(rows)
    return {model: _joined(found)._replace(gpus=numbers[model], by_node=True) for model, found in parts.items()}


def _joined(parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> Samples:
    share, watts, held = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return Samples(len(parts), share, watts, held, by_node=False)

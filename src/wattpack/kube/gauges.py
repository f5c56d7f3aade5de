"""Gauges, computed when Prometheus asks."""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np

from wattpack.kube.metrics import Labels, memory_bytes
from wattpack.kube.service import Service
from wattpack.kube.sleep.status import sleep_gauges
from wattpack.model.power import GPU_MILLI


def gauges(service: Service) -> dict[str, Iterable[tuple[Labels, float]]]:
    view, cluster = service.view, service.view.cluster
    now_s = time.monotonic()
    rows: dict[str, Iterable[tuple[Labels, float]]] = {
        "wattpack_fragmentation_gpus": [((), cluster.fragmentation_gpus())],
        "wattpack_nodes": [
            ((("readable", "yes"),), len(cluster.nodes)),
            ((("readable", "no"),), len(view.unreadable_nodes)),
        ],
        "wattpack_pods": [((), len(cluster.reservations))],
        "wattpack_gpu_conflicts": [((), len(cluster.conflicts))],
        "wattpack_reserved_pods": [((), len(cluster.reservations.unseen()))],
        "wattpack_cache_age_seconds": [
            ((("resource", watch.name),), now_s - watch.contact_s) for watch in (service.nodes, service.pods)
        ],
        "wattpack_leader": [((), float(service.lease.left_s() > 0))],
        "process_resident_memory_bytes": [((), memory_bytes())],
        "wattpack_measured_power_watts": [
            ((("model", row["model"]),), row["measured_w"]) for row in service.power_errors
        ],
        "wattpack_modelled_power_watts": [
            ((("model", row["model"]),), row["modelled_w"]) for row in service.power_errors
        ],
    }
    engine = cluster.engine()
    if engine is not None:
        nodes = engine.state.nodes
        watts = (cluster.in_step.drawn_mw() / 1000).tolist()
        rows["wattpack_power_watts"] = [((("node", name),), watts[n]) for name, n in cluster.index.items()]
        total = float(np.sum(nodes.gpus))
        free = float(np.sum(nodes.gpu_total)) / GPU_MILLI
        rows["wattpack_gpus"] = [((("state", "allocated"),), total - free), ((("state", "total"),), total)]
    if service.shadow is not None:
        rows["wattpack_shadow_watts"] = [
            ((("cluster", "actual"),), cluster.power_w()),
            ((("cluster", "policy"),), service.shadow.own.power_w()),
        ]
    if service.sleep is not None:
        rows |= sleep_gauges(service.sleep)
    for watch in (service.nodes, service.pods):  # the watches count these themselves
        counts = service.metrics.counts.setdefault("wattpack_watch_restarts_total", {})
        counts[(("resource", watch.name),)] = watch.restarts
    return rows

"""Gauges, computed when Prometheus asks."""

from __future__ import annotations

import platform
import time
from collections import Counter
from collections.abc import Iterable

import numpy as np

from wattpack import __version__
from wattpack.kube.closed_nodes import REASONS
from wattpack.kube.cluster import Cluster
from wattpack.kube.metrics import Labels, memory_bytes
from wattpack.kube.questions import age_s
from wattpack.kube.reservations import State as Held
from wattpack.kube.service import Service
from wattpack.kube.sleep.status import sleep_gauges
from wattpack.model.power import GPU_MILLI

BUILD = (("version", __version__), ("python", platform.python_version()))


def gauges(service: Service) -> dict[str, Iterable[tuple[Labels, float]]]:
    view, cluster = service.view, service.view.cluster
    now_s = time.monotonic()
    pending, oldest_s = pending_pods(service)
    count_joules(service, now_s)
    rows: dict[str, Iterable[tuple[Labels, float]]] = {
        "wattpack_fragmentation_gpus": [((), cluster.fragmentation_gpus())],
        "wattpack_nodes": [
            ((("readable", "yes"),), len(cluster.nodes)),
            ((("readable", "no"),), len(view.unreadable_nodes)),
        ],
        "wattpack_closed_nodes": [
            ((("reason", reason),), count) for reason, count in closed_by_reason(cluster).items()
        ],
        "wattpack_pods_not_understood": [((), len(view.unreadable_pods))],
        "wattpack_pending_pods": [((("waits_for", what),), count) for what, count in pending.items()],
        "wattpack_pending_oldest_seconds": [((), oldest_s)],
        "wattpack_build_info": [(BUILD, 1.0)],
        "wattpack_namespace_power_watts": [
            ((("pod_namespace", name),), watts) for name, watts in service.energy.namespace_w.items()
        ],
        "wattpack_pods": [((), len(cluster.reservations))],
        "wattpack_gpu_conflicts": [((), len(cluster.conflicts))],
        "wattpack_reserved_pods": [((), len(cluster.reservations.unseen()))],
        "wattpack_cache_age_seconds": [
            ((("resource", watch.name),), max(0.0, now_s - watch.contact_s)) for watch in service.watches()
        ],
        "wattpack_skipped_objects": [
            ((("resource", watch.name),), len(watch.skipped())) for watch in service.watches()
        ],
        "wattpack_last_request_age_seconds": [((), now_s - asked_s)] if (asked_s := service.lease.asked_s) else [],
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
    for watch in service.watches():  # the watches count these themselves
        counts = service.metrics.counts.setdefault("wattpack_watch_restarts_total", {})
        counts[(("resource", watch.name),)] = watch.restarts
    return rows


def count_joules(service: Service, now_s: float) -> None:
    """Energy up to this scrape."""
    energy, counts = service.energy, service.metrics.counts
    energy.advance(now_s)
    counts["wattpack_energy_joules_total"] = {(): energy.joules}
    counts["wattpack_namespace_energy_joules_total"] = {
        (("pod_namespace", name),): joules for name, joules in energy.namespace_joules.items()
    }


def closed_by_reason(cluster: Cluster) -> dict[str, int]:
    """Every reason has a number, 0 included, so that an alert sees it end."""
    found = Counter(REASONS.get(why, "other") for why in cluster.closed.all().values())
    return {reason: found[reason] for reason in (*REASONS.values(), "other")}


PENDING = ("binding", "node_to_wake", "room", "scheduler", "not_understood", "other_scheduler")


def pending_pods(service: Service) -> tuple[dict[str, int], float]:
    """Pods without a node by what they wait for, and the age of the oldest that is ours."""
    view, sleep = service.view, service.config.sleep
    ours = service.asked_by | set(() if sleep is None else sleep.schedulers)
    found = Counter[str]()
    oldest = ""
    for uid, pod in view.pods.items():
        if pod.node or pod.finished:
            continue
        held = view.cluster.reservations.get(uid)
        decision = service.decisions.get((pod.namespace, pod.name))
        if held is not None:
            what = "node_to_wake" if held.state is Held.PROMISED else "binding"
        elif pod.scheduler not in ours and service.shadow is None:
            what = "other_scheduler"
        elif decision is not None and decision.uid == uid and not decision.node:
            what = "room"
        else:
            what = "scheduler"
        found[what] += 1
        if what != "other_scheduler" and pod.created and (not oldest or pod.created < oldest):
            oldest = pod.created
    found["not_understood"] = sum(uid not in view.pods and uid not in view.blocking for uid in view.unreadable_pods)
    return {what: found[what] for what in PENDING}, age_s(oldest) or 0.0

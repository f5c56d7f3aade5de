"""Where a pod may go: our translation against the verdicts of a real kube-scheduler, 500 random pods and nodes.

Alone: the i-th pod may go to the i-th node at most, so each verdict is about one pair. Among all: a pod may go to any
of the nodes; the one it is bound to must be in our set, and a pod that is not bound must have an empty set.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.api import Json, wait_until
from e2e.cluster import Cluster
from wattpack.kube.constraints import allows, constraints_of
from wattpack.kube.objects import NODE, POD

pytestmark = pytest.mark.e2e

COUNT = 500
LABELS = {
    "zone": ("a", "b", "c"),
    "kubernetes.io/arch": ("amd64", "arm64"),
    "gpus": ("2", "4", "8", "08", "x8", "4.0", ""),
    "pool": ("train", "serve"),
}
TAINTS = ("team", "gpu", "node.kubernetes.io/not-ready")
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
RESOURCES = ("nvidia.com/gpu", "rdma/hca", "ephemeral-storage")
SCHEDULER = "judge"


def random_node(rng: random.Random, i: int) -> Json:
    amounts = {"cpu": "64", "memory": "256Gi", "pods": "1100"}
    amounts |= {name: str(rng.choice((0, 2, 4))) for name in RESOURCES if rng.random() < 0.7}
    labels = {key: rng.choice(values) for key, values in LABELS.items() if rng.random() < 0.85}
    taints = [
        {"key": key, "value": rng.choice(("", "x", "y")), "effect": effect}
        for key in TAINTS
        for effect in EFFECTS
        if rng.random() < 0.06
    ]
    spec: Json = {"taints": taints} | ({"unschedulable": True} if rng.random() < 0.08 else {})
    name = f"n{i:03d}"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels | {"pair": str(i), "kubernetes.io/hostname": name}},
        "spec": spec,
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "Made", "message": "made by a test"}],
        },
    }


def random_expression(rng: random.Random) -> Json:
    key = rng.choice((*LABELS, "nosuch"))
    operator = rng.choice(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
    if operator in ("Gt", "Lt"):
        return {"key": "gpus", "operator": operator, "values": [rng.choice(("0", "1", "2", "3", "4", "7", "007"))]}
    if operator in ("In", "NotIn"):
        values = LABELS.get(key, ("z",))
        return {"key": key, "operator": operator, "values": sorted({rng.choice(values) for _ in range(2)})}
    return {"key": key, "operator": operator}


def random_term(rng: random.Random, i: int) -> Json:
    term: Json = {}
    if rng.random() < 0.9:
        term["matchExpressions"] = [random_expression(rng) for _ in range(rng.choice((1, 1, 2)))]
    if rng.random() < 0.2:
        name = f"n{i if rng.random() < 0.7 else rng.randrange(COUNT):03d}"
        term["matchFields"] = [{"key": "metadata.name", "operator": rng.choice(("In", "NotIn")), "values": [name]}]
    return term


def random_toleration(rng: random.Random) -> Json:
    effect = {"effect": rng.choice(EFFECTS)} if rng.random() < 0.4 else {}
    key = rng.choice((*TAINTS, "node.kubernetes.io/unschedulable", ""))
    if key == "" or rng.random() < 0.5:
        return effect | {"operator": "Exists"} | ({"key": key} if key else {})
    return effect | {"key": key, "value": rng.choice(("", "x", "y"))} | ({"operator": "Equal"} if effect else {})


def random_pod(rng: random.Random, i: int, alone: bool) -> Json:
    spec: Json = {}
    if rng.random() < 0.3:
        key = rng.choice(tuple(LABELS))
        spec["nodeSelector"] = {key: rng.choice(LABELS[key])}
    if alone:
        spec["nodeSelector"] = spec.get("nodeSelector", {}) | {"pair": str(i)}
    if rng.random() < 0.5:
        terms = [random_term(rng, i) for _ in range(rng.choice((1, 1, 2)))]
        required = {"nodeSelectorTerms": terms}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    if rng.random() < 0.6:
        spec["tolerations"] = [random_toleration(rng) for _ in range(rng.choice((1, 2)))]
    amounts = {"cpu": "1m", "memory": "1Mi"}
    if alone and rng.random() < 0.3:  # among all, what is left of a resource would matter too
        amounts |= {rng.choice(RESOURCES): rng.choice(("1", "2", "3"))}
    container = {"name": "main", "image": "none", "resources": {"requests": amounts, "limits": amounts}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{'alone' if alone else 'any'}-{i:03d}", "namespace": "default"},
        "spec": spec | {"schedulerName": SCHEDULER, "terminationGracePeriodSeconds": 0, "containers": [container]},
    }


def judged(cluster: Cluster, pods: list[Json]) -> list[Json]:
    """The pods after kube-scheduler has bound each of them, or has said that it cannot."""
    cluster.admin.create_many("/api/v1/namespaces/default/pods", pods)

    def verdicts() -> list[Json]:
        found = cluster.admin.list("/api/v1/namespaces/default/pods")
        done = [pod for pod in found if pod["spec"].get("nodeName") or refused(pod)]
        return done if len(done) == len(pods) else []

    found: list[Json] = wait_until(verdicts, 300, f"{len(pods)} verdicts", every_s=1.0)
    return found


def refused(pod: Json) -> bool:
    conditions = pod["status"].get("conditions", ())
    return any(one["type"] == "PodScheduled" and one.get("reason") == "Unschedulable" for one in conditions)


def random_pods(rng: random.Random, alone: bool) -> Iterator[Json]:
    for i in range(COUNT):
        yield random_pod(rng, i, alone)


def test_every_verdict_of_kube_scheduler_is_ours(binaries: Path, tmp_path: Path) -> None:
    rng = random.Random(14)
    with Cluster(binaries, tmp_path / "cluster") as cluster:
        cluster.admin.create_many("/api/v1/nodes", [random_node(rng, i) for i in range(COUNT)])
        nodes = {
            node["metadata"]["name"]: NODE.decode(json.dumps(node)) for node in cluster.admin.list("/api/v1/nodes")
        }
        cluster.start_scheduler(extender_url=None, scheduler_name=SCHEDULER)
        differ, bound = [], 0
        for pod in judged(cluster, list(random_pods(rng, alone=True))):
            name = pod["metadata"]["name"]
            ours = allows(constraints_of(POD.decode(json.dumps(pod))), nodes["n" + name.removeprefix("alone-")])
            bound += ours
            if ours != bool(pod["spec"].get("nodeName")):
                differ.append((name, ours, pod["spec"], pod["status"]))
        assert differ == []
        assert 0.2 * COUNT < bound < 0.8 * COUNT  # both verdicts are frequent
        cluster.admin.delete_many([f"/api/v1/namespaces/default/pods/alone-{i:03d}" for i in range(COUNT)])
        wait_until(lambda: not cluster.admin.list("/api/v1/namespaces/default/pods"), 60, "all pods are gone")
        nowhere = 0
        for pod in judged(cluster, list(random_pods(rng, alone=False))):
            constraints = constraints_of(POD.decode(json.dumps(pod)))
            ours_all = {name for name, node in nodes.items() if allows(constraints, node)}
            there = pod["spec"].get("nodeName", "")
            nowhere += not ours_all
            if (there == "") != (not ours_all) or (there and there not in ours_all):
                differ.append((pod["metadata"]["name"], len(ours_all), pod["spec"], pod["status"]))
        assert differ == []
        assert nowhere > 5

"""Gangs that files cannot say: counted by who reads them, one for all pods that name it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kube.made import Json, node_json, pod_json
from kube.tainted import GPU, write_list
from wattpack.cli import main

KUEUE = "kueue.x-k8s.io/pod-group-name"
KUEUE_WORKLOAD = "kueue.x-k8s.io/workload"
JOBSET = "jobset.sigs.k8s.io/jobset-name"


def pod(name: str, labels: Json | None = None, annotations: Json | None = None, **spec: Json) -> Json:
    made = pod_json(name, node="a", annotations=annotations, spec=dict(spec), **{GPU: "1"})
    made["metadata"]["labels"] = labels or {}
    return made


def said_of_gangs(folder: Path, pods: list[Json], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines of `import` about gangs, without the names of pods."""
    file = write_list(folder / "cluster.json", [node_json("a", gpus=8, model="NVIDIA-L40S"), *pods])
    main(["import", "--file", str(file), "--out", str(folder / "mine")])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("not kept") and "gang" in line]
    return [" ".join(line.partition(" (team/")[0].split()) for line in lines]


def test_a_pod_group_of_kueue_is_a_gang_by_its_label_or_its_workload(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pods = [pod(f"group-{i}", labels={KUEUE: "sweep", "kueue.x-k8s.io/queue-name": "team"}) for i in range(3)]
    pods += [pod(f"job-{i}", annotations={KUEUE_WORKLOAD: "job-train"}) for i in range(2)]
    pods += [pod("queued", labels={"kueue.x-k8s.io/queue-name": "team"})]  # a pod alone is no gang
    assert said_of_gangs(tmp_path, pods, capsys) == ["not kept 5 tasks of 2 gangs (Kueue 2): placed one by one"]


def test_a_jobset_is_one_gang_with_all_its_jobs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pods = [
        pod(f"{job}-{i}", labels={JOBSET: "train", "jobset.sigs.k8s.io/replicatedjob-name": job})
        for job in ("driver", "workers")
        for i in range(2)
    ]
    assert said_of_gangs(tmp_path, pods, capsys) == ["not kept 4 tasks of 1 gang (JobSet 1): placed one by one"]


def test_a_jobset_that_kueue_admits_is_counted_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pods = [pod(f"both-{i}", labels={JOBSET: "train"}, annotations={KUEUE_WORKLOAD: "jobset-train"}) for i in range(2)]
    assert said_of_gangs(tmp_path, pods, capsys) == ["not kept 2 tasks of 1 gang (Kueue 1): placed one by one"]


def test_a_workload_reference_in_the_pod_is_a_gang_for_each_pod_group_and_replica(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`workloadRef` is of 1.35, `schedulingGroup` of 1.36; a reference comes before what labels say."""
    of_135 = [
        pod(f"old-{replica}-{i}", workloadRef={"name": "w", "podGroup": "g", "podGroupReplicaKey": str(replica)})
        for replica in range(2)
        for i in range(2)
    ]
    of_136 = [pod(f"new-{i}", labels={JOBSET: "train"}, schedulingGroup={"podGroupName": "w-g"}) for i in range(3)]
    empty = [pod("empty", schedulingGroup={})]
    said = said_of_gangs(tmp_path, [*of_135, *of_136, *empty], capsys)
    assert said == ["not kept 7 tasks of 3 gangs (Kubernetes 3): placed one by one"]


def test_gangs_of_the_same_name_in_two_namespaces_are_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pods = [pod(f"here-{i}", schedulingGroup={"podGroupName": "g"}) for i in range(2)]
    there = pod("there", schedulingGroup={"podGroupName": "g"})
    there["metadata"]["namespace"] = "other"
    found = said_of_gangs(tmp_path, [*pods, json.loads(json.dumps(there))], capsys)
    assert [line.partition(" (other/")[0] for line in found] == [
        "not kept 3 tasks of 2 gangs (Kubernetes 2): placed one by one"
    ]

"""`wattpack fit` of jobs: do all their pods fit at the same time?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kube.made import Json, container, node_json
from wattpack.cli import main
from wattpack.kube.pod_file import read_pods_text

GPU = "nvidia.com/gpu"


def template(gpus: int, **more: Any) -> Json:
    return {"spec": {"containers": [container(**({GPU: str(gpus)} if gpus else {}))]}} | more


def job(kind: str, spec: Json) -> Json:
    return {"kind": kind, "metadata": {"name": "train"}, "spec": spec}


def roles(**counts: tuple[Any, int]) -> Json:
    return {role: {"replicas": count, "template": template(gpus)} for role, (count, gpus) in counts.items()}


def batch(**said: Any) -> Json:
    return {**said, "template": template(2)}


# The object, and the pods of each of its templates at the same time.
JOBS: list[tuple[Json, dict[str, int]]] = [
    (job("Job", batch()), {"": 1}),
    (job("Job", batch(parallelism=4)), {"": 4}),
    (job("Job", batch(parallelism=4, completions=3)), {"": 3}),
    (job("Job", batch(completions=3)), {"": 1}),
    (job("CronJob", {"jobTemplate": {"spec": batch(parallelism=4)}}), {"": 4}),
    (job("Deployment", {"replicas": 3, "template": template(1)}), {"": 3}),
    (
        job(
            "JobSet",
            {
                "replicatedJobs": [
                    {"name": "driver", "template": {"spec": batch()}},
                    {"name": "workers", "replicas": 2, "template": {"spec": batch(parallelism=3, completions=3)}},
                ]
            },
        ),
        {"driver": 1, "workers": 6},
    ),
    (job("PyTorchJob", {"pytorchReplicaSpecs": roles(Master=(1, 2), Worker=(3, 2))}), {"master": 1, "worker": 3}),
    (job("MPIJob", {"mpiReplicaSpecs": roles(Launcher=(1, 0), Worker=(4, 2))}), {"launcher": 1, "worker": 4}),
    (job("TFJob", {"tfReplicaSpecs": roles(PS=(2, 0), Worker=(2, 1))}), {"ps": 2, "worker": 2}),
    (
        job(
            "RayJob",
            {
                "rayClusterSpec": {
                    "headGroupSpec": {"template": template(0)},
                    "workerGroupSpecs": [{"groupName": "gpu", "replicas": 2, "numOfHosts": 2, "template": template(2)}],
                }
            },
        ),
        {"head": 1, "gpu": 4},
    ),
    (job("Job", {"tasks": [{"name": "worker", "replicas": 5, "template": template(1)}]}), {"worker": 5}),
    (
        job("LeaderWorkerSet", {"replicas": 2, "leaderWorkerTemplate": {"size": 4, "workerTemplate": template(2)}}),
        {"worker": 8},
    ),
]


@pytest.mark.parametrize(("document", "pods"), JOBS)
def test_pods_at_the_same_time_are_read(document: Json, pods: dict[str, int]) -> None:
    found = read_pods_text(json.dumps(document).encode(), "job")
    assert {group.name: group.number for group in found} == pods
    assert all(group.pod["metadata"]["name"].startswith("train") for group in found)


def asked(folder: Path, document: Json, *nodes: Json) -> list[str]:
    (folder / "job.json").write_text(json.dumps(document))
    (folder / "c.json").write_text(json.dumps({"kind": "List", "items": list(nodes)}))
    return ["fit", "-f", str(folder / "job.json"), "--file", str(folder / "c.json"), "--policy", "fgd"]


def test_all_pods_of_a_job_fit_at_the_same_time_and_their_watts_are_added(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = job("PyTorchJob", {"pytorchReplicaSpecs": roles(Master=(1, 2), Worker=(3, 2))})
    main(asked(tmp_path, document, node_json("a", gpus=4), node_json("b", gpus=4)))
    said = capsys.readouterr().out
    assert "master: 1 pod placed: a 1" in said
    assert "worker: 3 pods placed: b 2, a 1" in said
    # Eight T4 of 60 W more, and a second socket on neither node.
    assert "all 4 pods fit at the same time: +" in said


def test_a_job_of_which_one_pod_fits_and_not_all_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = asked(tmp_path, job("Job", batch(parallelism=4)), node_json("a", gpus=4), node_json("b", gpus=3))
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 1
    said = capsys.readouterr().out
    assert "3 of 4 pods fit at the same time, then none of pod: fgd: fits none of 2 nodes" in said


def test_with_a_service_the_answer_says_that_it_is_for_one_pod(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import wattpack.cli.commands.fit as fit
    from wattpack.kube.decision import Decision
    from wattpack.model.tasks import TaskClass

    one = Decision("", "train", "", "", "fgd", TaskClass(1, 1, 0, 0), "a", (), 1, 1, 0.0, 0.0, [], {}, [])
    monkeypatch.setattr(fit, "ask", lambda *_: one)
    words = asked(tmp_path, job("Job", batch(parallelism=4)))
    main([*words[:3], "--server", "http://127.0.0.1:1"])
    assert "this is the answer for one of 4 pods" in capsys.readouterr().out


@pytest.mark.parametrize("many", ["lots", -1, 1.5, 10**9])
def test_a_number_of_pods_that_is_none_is_one_line(
    many: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(asked(tmp_path, job("Job", batch(parallelism=many)), node_json("a", gpus=4)))
    assert ended.value.code == 2
    assert "pods, expected " in capsys.readouterr().err


def test_templates_without_an_end_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = asked(tmp_path, {}, node_json("a", gpus=4))
    (tmp_path / "job.json").write_text("kind: JobSet\nspec: &s {replicatedJobs: [{name: a, template: {spec: *s}}]}\n")
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1

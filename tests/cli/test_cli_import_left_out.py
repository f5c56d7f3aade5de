"""What `wattpack import` could not read: the table, `--strict`, the files about it, and nodes that are then closed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kube.cluster import rows, write_cluster
from kube.made import node_json, pod_json
from wattpack.cli import main


def foreign(folder: Path, **devices: str) -> list[str]:
    """A cluster where four of five pods hold devices that nobody counts, on a node with four GPUs."""
    held = devices or {"example.com/tpu": "4"}
    items = [
        node_json("n", gpus=4, **({} if devices else {"example.com/tpu": "16"})),
        node_json("m", gpus=4),
        pod_json("own", node="m", **{"nvidia.com/gpu": "1"}),
        *(pod_json(f"f{i}", node="n", **held) for i in range(4)),
    ]
    (folder / "mixed.json").write_text(json.dumps({"kind": "List", "items": items}))
    return ["--file", str(folder / "mixed.json")]


def understood(folder: Path) -> list[str]:
    """The same cluster with four GPUs in place of those devices."""
    return foreign(folder, **{"nvidia.com/gpu": "1"})


def test_nodes_with_pods_that_were_not_understood_take_no_tasks_with_gpus_and_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "in"
    main(["import", *foreign(tmp_path), "--out", str(out)])
    said = capsys.readouterr()
    assert "4 pods hold accelerators that could not be counted: team/f0 on n (example.com/tpu)" in said.err
    assert f"wrote       {out / 'not-understood.csv'}" in said.out
    assert rows(out / "not-understood.csv")[3] == {"pod": "team/f3", "node": "n", "resource": "example.com/tpu"}
    (tmp_path / "elsewhere.csv").write_text((out / "placements.csv").read_text())
    plain = "\n".join(",".join(line.split(",")[:6]) for line in (out / "nodes.csv").read_text().splitlines())
    (out / "old.csv").write_text(plain)  # nodes of an import that did not say it
    for nodes in ("nodes.csv", "old.csv"):
        files = ["--nodes", str(out / nodes), "--tasks", str(out / "tasks.csv")]
        for placements in (out / "placements.csv", tmp_path / "elsewhere.csv"):
            for command in (["defrag"], ["replay", "--policy", "fgd"]):
                decisions = str(tmp_path / "d.csv")
                where = ["--out" if command == ["defrag"] else "--decisions", decisions]
                main([*command, *files, "--placements", str(placements), *where])
                said = capsys.readouterr()
                assert "1 node takes no new task with GPUs: n (team/f0 asks for example.com/tpu; " in said.err
                assert "n" not in {row.get("to_node", row.get("node")) for row in rows(Path(decisions))}


def test_a_later_import_that_understands_everything_closes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "in"
    main(["import", *foreign(tmp_path), "--out", str(out)])
    main(["import", *understood(tmp_path), "--out", str(out)])
    assert not (out / "not-understood.csv").exists()
    files = ["--nodes", str(out / "nodes.csv"), "--tasks", str(out / "tasks.csv")]
    capsys.readouterr()
    main(["replay", *files, "--policy", "fgd", "--placements", str(out / "placements.csv")])
    assert capsys.readouterr().err == ""


def test_an_anonymised_import_hides_the_pods_that_were_not_understood_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["import", *foreign(tmp_path), "--out", str(tmp_path / "in"), "--anonymise"])
    (first, *_) = rows(tmp_path / "in" / "not-understood.csv")
    assert first["pod"].startswith("task-")
    assert first["node"] in {row["sn"] for row in rows(tmp_path / "in" / "nodes.csv")}
    assert "team/" not in capsys.readouterr().err


def test_strict_counts_one_pod_in_the_singular(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = [node_json("n", gpus=4), pod_json("p", node="n", **{"example.com/tpu": "1"})]
    (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": items}))
    with pytest.raises(SystemExit):
        main(["import", "--file", str(tmp_path / "c.json"), "--out", str(tmp_path / "in"), "--strict"])
    assert "--strict: 1 pod: asks for example.com/tpu" in capsys.readouterr().err


def test_strict_makes_anything_left_out_an_error_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["import", *foreign(tmp_path), "--out", str(tmp_path / "in"), "--strict"])
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("wattpack: --strict: 4 pods: asks for example.com/tpu, which no dialect reads")
    assert "(team/f0, team/f1, team/f2 and 1 more); 1 node: counted without example.com/tpu" in line
    assert line.endswith("; expected to understand everything")
    assert not (tmp_path / "in").exists()
    main(["import", *understood(tmp_path), "--out", str(tmp_path / "in"), "--strict"])
    assert (tmp_path / "in" / "nodes.csv").exists()


def test_fit_refuses_a_pod_that_asks_for_a_device_no_dialect_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pod.yaml").write_text(json.dumps(pod_json("wish", **{"gpu.intel.com/i915": "1"})))
    with pytest.raises(SystemExit) as ended:
        main(["fit", "-f", str(tmp_path / "pod.yaml"), "--file", write_cluster(tmp_path)])
    assert ended.value.code == 2
    assert "asks for gpu.intel.com/i915, which no dialect reads" in capsys.readouterr().err


def test_a_list_of_pods_that_may_not_be_all_is_assumed_to_be_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`kubectl get nodes,pods` without -A lists the pods of one namespace, and GPUs of the others look free."""
    file = tmp_path / "c.json"
    words = ["import", "--file", str(file), "--out", str(tmp_path / "in")]
    node, mine, other = node_json("n", gpus=2), pod_json("p", node="n"), pod_json("q", node="n", namespace="other")
    for pods, expected in (
        ([], "assumed     0 pods   in the files or lists: every GPU counts as free"),
        (
            [mine],
            "assumed     1 pod    in the files, all of one namespace, taken for those of the whole cluster (is",
        ),
        ([mine, other], ""),
    ):
        file.write_text(json.dumps({"kind": "List", "items": [node, *pods]}))
        main(words)
        said = capsys.readouterr().out
        assert expected in said
        assert expected or "namespace" not in said


@pytest.mark.parametrize("cordoned", [False, True])
def test_a_node_with_a_pod_that_is_no_task_is_never_said_to_become_empty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cordoned: bool
) -> None:
    """The task moves from `full` to `a`; `large`, for which `full` has too little CPU, is left out but runs there."""
    full = node_json("full", gpus=2, cpu="10")
    full["spec"]["unschedulable"] = cordoned
    pods = [pod_json("x", node="a", **{"nvidia.com/gpu": "3"}), pod_json("y", node="full", **{"nvidia.com/gpu": "1"})]
    for large, named in ([], True), ([pod_json("large", node="full", cpu="20")], False):
        items = [node_json("a", gpus=4), full, *pods, *large]
        (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": items}))
        out = tmp_path / "in"
        main(["import", "--file", str(tmp_path / "c.json"), "--out", str(out)])
        files = [f"--{name}={out / name}.csv" for name in ("nodes", "tasks", "placements")]
        capsys.readouterr()
        main(["defrag", *files])
        moved = capsys.readouterr().out
        main(["replay", *files, "--policy", "fgd"])
        assert "team/y │ full / " in moved
        assert ("1 node becomes empty: full" in moved) is named
        # a policy leaves a task on a cordoned node
        assert ("1 node becomes empty: full" in capsys.readouterr().out) is (named and not cordoned)
        assert (out / "not-understood.csv").exists() is not named


def test_every_pod_is_in_one_line_of_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gpu = {"nvidia.com/gpu": "1"}
    pods = [
        pod_json("runs", node="n", **gpu),
        pod_json("leaves", node="n", **gpu),
        pod_json("left-early", **gpu),
        pod_json("done", node="n", phase="Failed", **gpu),
        pod_json("daemon", node="n", owner="DaemonSet"),
        pod_json("waiting-daemon", owner="DaemonSet"),
        pod_json("odd", node="n", **{"nvidia.com/gpu": "many"}),
        pod_json("other", node="gone"),
    ]
    for pod in pods[1:3]:
        pod["metadata"]["deletionTimestamp"] = "2026-01-05T11:00:00Z"
    (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": [node_json("n", gpus=4), *pods]}))
    main(["import", "--file", str(tmp_path / "c.json"), "--out", str(tmp_path / "in")])
    said = capsys.readouterr().out
    counted = {line[12:] for line in said.splitlines() if " pod " in line or " tasks  " in line}
    for line in (
        "2 tasks  2 with GPUs, 0 pending; 2 GPUs allocated",
        "1 pod    of DaemonSets and static: subtracted from their nodes",
        "1 pod    finished: not tasks",
        "1 pod    being deleted, not on a node: not tasks",
        "1 pod    of DaemonSets, not on a node: not tasks",
        "1 pod    quantity 'many', expected one like 500m, 2 or 1.5Gi (team/odd)",
        "1 pod    its node is left out or not in the files (team/other)",
    ):
        assert line in counted
    assert "1 task   being deleted: counted until they end, never moved" in said
    specs = {row["name"]: row["pool_spec"] for row in rows(tmp_path / "in" / "tasks.csv")}
    assert specs == {"team/runs": "", "team/leaves": "held"}


def test_reasons_beyond_the_tenth_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = [pod_json(f"p{i}", node="n", **{"nvidia.com/gpu": f"{i}x"}) for i in range(1, 12)]
    (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": [node_json("n", gpus=4), *odd]}))
    main(["import", "--file", str(tmp_path / "c.json"), "--out", str(tmp_path / "in")])
    said = capsys.readouterr().out
    assert "left out    1 more for 1 other reason\n" in said
    assert "pod    quantity '11x'" not in said


def test_a_file_lists_every_node_and_pod_that_was_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table names three of a kind and ten reasons: 30 pods with 15 reasons and 5 nodes are more."""
    nodes = [
        node_json("n", gpus=4),
        *(node_json(f"odd-{i}", gpus=4, model="NVIDIA-GeForce-GTX-1080") for i in range(5)),
    ]
    pods = [pod_json(f"p{i:02d}", namespace=f"t{i % 2}", **{"nvidia.com/gpu": f"{i % 15}x"}) for i in range(30)]
    (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": [*nodes, *pods]}))
    out = tmp_path / "in"
    words = ["import", "--file", str(tmp_path / "c.json"), "--out", str(out)]
    main(words)
    assert f"wrote       {out / 'left-out.csv'}\n" in capsys.readouterr().out
    listed = rows(out / "left-out.csv")
    assert list(listed[0]) == ["kind", "namespace", "name", "reason"]
    assert [row["name"] for row in listed if row["kind"] == "node"] == [f"odd-{i}" for i in range(5)]
    found = {(row["namespace"], row["name"]): row["reason"] for row in listed if row["kind"] == "pod"}
    assert found == {
        (f"t{i % 2}", f"p{i:02d}"): f"quantity '{i % 15}x', expected one like 500m, 2 or 1.5Gi" for i in range(30)
    }
    main([*words, "--anonymise"])
    hidden = rows(out / "left-out.csv")
    assert len(hidden) == len(listed)
    assert all(row["name"].startswith("node-" if row["kind"] == "node" else "task-") for row in hidden)
    assert not any(row["namespace"] for row in hidden)
    (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": nodes[:1]}))
    main(words)
    assert not (out / "left-out.csv").exists()  # nothing was left out any more


def test_left_out_is_no_name_for_an_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("left-out.csv", "not-understood.csv"):
        cluster = tmp_path / name
        cluster.write_text(json.dumps(node_json("n", gpus=4)))
        with pytest.raises(SystemExit) as ended:
            main(["import", "--file", str(cluster), "--out", str(tmp_path)])
        assert ended.value.code == 2
        assert "is the input" in capsys.readouterr().err


def acme_cluster(folder: Path) -> str:
    """Everything of a cluster that a user may name, named after an organisation."""
    own = {"acme.example/gpu-model": "acme-h100-pool", "nvidia.com/gpu.product": "NVIDIA-GeForce-GTX-1080"}
    claims = {
        "kind": "ResourceClaim",
        "metadata": {"name": "acme-claim", "namespace": "acme-team"},
        "spec": {"devices": {"requests": [{"name": "acme", "exactly": {"deviceClassName": "acme-class"}}]}},
    }

    def claiming(name: str, called: str, claim: str) -> dict[str, object]:
        spec = {"resourceClaims": [{"name": called, "resourceClaimName": claim}]}
        return pod_json(name, namespace="acme-team", spec=spec, node="acme-n1")

    items = [
        node_json("acme-n1", gpus=4, **{"acme.example/gpu-share": "4"}),
        node_json("acme-n2", gpus=4, labels=own),
        node_json("acme-n3", labels={"acme-model": "T4"}, **{"nvidia.com/gpu": "2"}),
        claims,
        claiming("acme-a", "acme-gpu", "acme-claim"),
        claiming("acme-b", "acme", "acme-not-there"),
        pod_json("acme-c", namespace="acme-team", node="acme-n1", **{"acme.example/gpu-share": "1"}),
        pod_json("acme-d", namespace="acme-team", annotations={"gpu-fraction": "acme-half"}),
        pod_json("acme-e", namespace="acme-team", node="acme-n1", **{"tenstorrent.com/n150": "1"}),
        pod_json(
            "acme-f", spec={"nodeSelector": {"nvidia.com/gpu.product": "acme-special"}}, **{"nvidia.com/gpu": "1"}
        ),
    ]
    (folder / "c.json").write_text(json.dumps({"kind": "List", "items": items}))
    return str(folder / "c.json")


@pytest.mark.parametrize("config", ["", 'gpu_model_label = "acme.example/gpu-model"\n'])
def test_an_anonymised_import_says_nowhere_whose_cluster_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], config: str
) -> None:
    (tmp_path / "w.toml").write_text(config)
    words = ["import", "--file", acme_cluster(tmp_path), "--out", str(tmp_path / "in"), "--config"]
    words.append(str(tmp_path / "w.toml"))
    main(words)
    plain = capsys.readouterr().out + (tmp_path / "in" / "not-understood.csv").read_text()
    for said in ("acme.example/gpu-share", "acme-gpu", "acme-half", "acme-model", "acme-h100" if config else "label"):
        assert said in plain
    main([*words, "--anonymise"])
    said = capsys.readouterr()
    text = "".join(path.read_text() for path in (tmp_path / "in").iterdir()) + said.out + said.err
    assert "acme" not in text.replace(str(tmp_path), "")
    for kept in ("tenstorrent.com/n150, which no dialect reads", "annotation gpu-fraction: quantity 'text-"):
        assert kept in text
    assert config or "label nvidia.com/gpu.product is 'NVIDIA-GeForce-GTX-1080', a model without" in text
    with pytest.raises(SystemExit):
        main([*words, "--anonymise", "--strict"])
    assert "acme" not in capsys.readouterr().err.replace(str(tmp_path), "")


def test_one_of_a_kind_is_counted_in_the_singular(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = [node_json("n", gpus=1), pod_json("p", node="n", **{"nvidia.com/gpu": "1"})]
    (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": items}))
    main(["import", "--file", str(tmp_path / "c.json"), "--out", str(tmp_path / "in")])
    said = capsys.readouterr().out
    assert "understood  1 node   1 GPU (T4)\n" in said
    assert "understood  1 task   1 with GPUs, 0 pending; 1 GPU allocated\n" in said

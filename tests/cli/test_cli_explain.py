"""`wattpack explain` and `wattpack policies` through their front door."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli.files import write_nodes, write_tasks
from wattpack.cli import main


def explain(folder: Path, task: str, policy: str = "pwr:0.1+fgd:0.9", *more: str) -> None:
    main(["explain", write_nodes(folder), write_tasks(folder), "--policy", policy, "--task", task, *more])


def test_it_shows_raw_normalised_and_weighted_scores_and_the_decision_that_replay_makes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    explain(tmp_path, "share-2")
    said = capsys.readouterr().out
    words = ["--nodes", write_nodes(tmp_path), "--tasks", write_tasks(tmp_path), "--policy", "pwr:0.1+fgd:0.9"]
    main(["replay", *words, "--decisions", str(tmp_path / "d.csv")])
    _, node, gpu = (tmp_path / "d.csv").read_text().splitlines()[2].split(",")
    assert f"decision: node {node}, GPU {gpu}" in said
    row = next(line for line in said.splitlines() if "<-" in line)
    raw_pwr, pwr, weighted_pwr, raw_fgd, fgd, weighted_fgd, total = [
        float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", row.partition("<-")[2])
    ]
    assert raw_pwr <= 0  # watts that are added, negated
    assert raw_fgd == fgd  # FGD scores 0..100 by itself
    assert (weighted_pwr, weighted_fgd) == (100 * pwr, 900 * fgd)
    assert total == weighted_pwr + weighted_fgd


def test_nodes_that_do_not_fit_say_the_first_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explain(tmp_path, "eight")
    said = capsys.readouterr().out
    assert re.search(r"t4-a\W+not enough free GPU", said)
    explain(tmp_path, "t4-only")
    assert "only node that fits, taken unscored" in capsys.readouterr().out
    explain(tmp_path, "never")
    assert "the task fits nowhere and fails" in capsys.readouterr().out


def test_an_unknown_task_is_one_line_and_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        explain(tmp_path, "nosuch")
    assert ended.value.code == 2
    assert "has no task of this name (7 tasks)" in capsys.readouterr().err


def test_policies_lists_every_policy_with_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    main(["policies"])
    lines = capsys.readouterr().out.splitlines()
    headings = [line for line in lines if not line.startswith("  ")]
    assert headings == ["of the papers:", "of wattpack:", "of schedulers that people run:"]
    names = [line.split()[0] for line in lines if line.startswith("  ")]
    assert names[:7] == ["fgd", "pwr", "bestfit", "dotprod", "gpupacking", "gpuclustering", "random"]
    assert {"kube", "kubepack", "volcano", "kai", "hami", "yunikorn", "slurm", "ocs", "auto"} < set(names)
    assert all(len(line.split()) > 2 for line in lines if line not in headings)


def test_a_policy_from_a_plugin_file_is_used_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plugin = tmp_path / "fullest.py"
    plugin.write_text(
        "import wattpack as wp\n"
        "@wp.kernel\n"
        "def score(node, task, world, params, memory, terms):\n"
        "    terms[0] = -node.gpu_total\n"
        "    return wp.ANY_GPU\n"
        "wp.register(wp.Policy('fullest', 'least GPU left', score, pick=wp.Pick.TIGHTEST))\n"
    )
    explain(tmp_path, "share-1", "fullest:0.5+fgd:0.5", "--plugin", str(plugin))
    said = capsys.readouterr().out
    # the four-GPU node has least left: 4,000 milli against 8,000
    assert re.search(r"t4-a <-\W+.*-4000", said)
    with pytest.raises(SystemExit) as ended:
        explain(tmp_path, "share-1", "fgd", "--plugin", str(tmp_path / "nosuch.py"))
    assert ended.value.code == 2


def test_of_tasks_with_the_same_name_one_is_chosen_by_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = write_tasks(
        tmp_path, "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1000,0,1,500\nb,1,0,0,0\na,2000,0,0,0\n"
    )
    words = ["explain", write_nodes(tmp_path), tasks, "--policy", "fgd", "--task"]
    with pytest.raises(SystemExit) as ended:
        main([*words, "a"])
    assert ended.value.code == 2
    assert f"{tasks} has 2 tasks of this name, expected a place: #1, #3" in capsys.readouterr().err
    main([*words, "#3"])
    assert "task a (2000 milli-vCPU, 0 MiB, no GPU), after 2 earlier tasks" in capsys.readouterr().out
    main([*words, "b"])
    with pytest.raises(SystemExit):
        main([*words, "#4"])
    assert "has no task of this name" in capsys.readouterr().err

"""Inputs that ask for too much or break a reader: one line, with the number and the limit, exit 2, nothing written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.small import NODES_CSV, TASKS_CSV, write_spec
from kube.made import node_json, pod_json
from wattpack.cli import main
from wattpack.policies import REGISTRY

DEEP = "[" * 100_000 + "]" * 100_000
POD = "metadata: {name: x}\nspec: {containers: [{name: c}]}\n"


def refused(words: list[object], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line of a command that ends with 2."""
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("compiling")]
    assert ended.value.code == 2, lines
    (line,) = lines
    return line


def files(folder: Path) -> list[object]:
    (folder / "nodes.csv").write_text(NODES_CSV)
    (folder / "tasks.csv").write_text(TASKS_CSV)
    return ["--nodes", folder / "nodes.csv", "--tasks", folder / "tasks.csv"]


def test_a_trace_with_almost_no_gpu_demand_is_refused_before_anything_is_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One thousandth of a GPU in 1,001 tasks: 1.3 x 6,212 GPUs x 1,000 x 1,001 tasks."""
    rows = "".join(f"t{i},1000,1024,0,0\n" for i in range(1000))
    (tmp_path / "few.csv").write_text(f"{TASKS_CSV.splitlines()[0]}\n{rows}g,1000,1024,1,1\n")
    line = refused(["compare", "--trace", tmp_path / "few.csv", "--out", tmp_path / "out"], capsys)
    assert f"{1.3 * 6212 * 1000 * 1001:,.0f} tasks up to load 1.3, expected at most 10,000,000" in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("axis", "said"),
    [
        (f"seeds = {list(range(20_000))}", "seeds: 20,000 values, expected at most 10,000"),
        (f"steady = {[0.5] * 20_000}", "steady: 20,000 values, expected at most 10,000"),
        (f"up_to = 1{'0' * 400}", "... (401 characters), expected a load above 0 and at most 1.3"),
        (f"seeds = [1{'0' * 400}]", "... (401 characters), expected 0 to 4294967295"),
    ],
)
def test_an_axis_that_asks_for_too_much_is_told_with_the_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], axis: str, said: str
) -> None:
    file = write_spec(tmp_path, f'policy = ["fgd"]\n{axis}\n')
    line = refused(["run", file, "--out", tmp_path / "out"], capsys)
    assert said in line
    assert len(line) < 500
    assert not (tmp_path / "out").exists()


def test_the_bound_of_a_node_with_too_many_sockets_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """10^12 milli-vCPU at 32 vCPU a socket."""
    (tmp_path / "nodes.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\na,1000000000000,1024,2,G2\n")
    (tmp_path / "tasks.csv").write_text(TASKS_CSV)
    line = refused(["bound", "--datacenter", tmp_path / "nodes.csv", "--trace", tmp_path / "tasks.csv"], capsys)
    assert "31,250,000 sockets, expected at most 10,000" in line


def test_a_policy_expression_of_ten_thousand_parts_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expression = "+".join(f"ocs@0.{i:05d}" for i in range(10_000))
    line = refused(["replay", *files(tmp_path), "--policy", expression], capsys)
    assert "10,000 policies, expected at most 100" in line
    assert len(line) < 200


def test_a_device_without_an_end_is_refused_wherever_a_file_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pod.yaml").write_text(f"kind: Pod\n{POD}")
    for words in (
        ["replay", "--nodes", "/dev/zero", "--tasks", "/dev/zero", "--policy", "fgd"],
        ["import", "--file", "/dev/zero", "--out", tmp_path / "out"],
        ["fit", "-f", "/dev/zero"],
    ):
        assert "/dev/zero: more than" in refused(words, capsys)


@pytest.mark.parametrize(
    ("items", "said"),
    [
        (b'{"kind": "Node", "metadata": {"name": "a\xff"}}', "c.json, item 1: 'utf-8' codec can't decode byte 0xff"),
        (b'{"kind": "Node", "x": ' + DEEP.encode() + b"}", "c.json: maximum recursion depth exceeded"),
        (b'{"kind": "Node", "metadata": {}, "status": {"allocatable": {"cpu": "4"}}}', "none of 1 nodes can be read"),
    ],
)
def test_import_of_what_cannot_be_read_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], items: bytes, said: str
) -> None:
    (tmp_path / "c.json").write_bytes(b'{"kind": "List", "items": [' + items + b"]}")
    assert said in refused(["import", "--file", tmp_path / "c.json", "--out", tmp_path / "out"], capsys)
    assert not (tmp_path / "out").exists()


def test_a_node_or_a_pod_without_a_name_is_left_out_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = [node_json(""), node_json("n"), pod_json("", node="n")]
    (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": items}))
    main(["import", "--file", str(tmp_path / "c.json"), "--out", str(tmp_path / "out")])
    said = capsys.readouterr().out
    assert "understood  1 node " in said
    assert "understood  0 tasks " in said
    assert "without a name, expected metadata.name" in said


BOMB = "a0: &a0 [1, 1]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 60))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: Job\nmetadata: 3\nspec: {template: {spec: {containers: [{}]}}}\n", "metadata is 3, expected a table"),
        ("kind: Job\nspec: {template: {metadata: 3, spec: {containers: [{}]}}}\n", "metadata is 3, expected a table"),
        (f"kind: Pod\nx: {DEEP}\n{POD}", "nested too deeply"),
        ("kind: Pod\nspec: &a {x: *a}\n", "more than 100,000 values with its aliases written out"),
        (f"kind: Pod\n{BOMB}{POD}", "more than 100,000 values with its aliases written out"),
        (f"kind: Pod\nx: 2024-99-99\n{POD}", "month must be in 1..12"),
        (f"kind: Pod\n# {'x' * 3_000_000}\n{POD}", "bytes, expected YAML of a pod of at most 3,000,000"),
    ],
)
def test_fit_of_yaml_that_breaks_a_reader_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    (tmp_path / "pod.yaml").write_text(text)
    (tmp_path / "c.json").write_text(json.dumps(node_json("n")))
    assert said in refused(["fit", "-f", tmp_path / "pod.yaml", "--file", tmp_path / "c.json"], capsys)


def test_explain_with_a_negative_seed_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, nodes, _, tasks = files(tmp_path)
    words = ["explain", nodes, tasks, "--policy", "fgd", "--task", "t1", "--seed", "-1"]
    assert refused(words, capsys).endswith("--seed -1, expected 0 or more")


@pytest.mark.compiled
@pytest.mark.parametrize("command", ["replay", "explain"])
def test_a_plugin_that_does_not_compile_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (tmp_path / "broken.py").write_text(
        "import wattpack as wp\n"
        "@wp.kernel\n"
        "def score(node, task, world, params, memory, terms):\n"
        "    terms[0] = task + terms\n"
        "    return wp.ANY_GPU\n"
        f'wp.register(wp.Policy("broken{command}", "does not compile", score, pick=wp.Pick.TIGHTEST))\n'
    )
    task = ["--task", "t1"] if command == "explain" else []
    plugin = ["--policy", f"broken{command}", "--plugin", tmp_path / "broken.py", "--no-check", *task]
    try:
        line = refused([command, *files(tmp_path), *plugin], capsys)
    finally:
        REGISTRY.pop(f"broken{command}", None)
    assert "broken.py: TypingError: " in line
    assert line.endswith("expected policies that run")


def test_one_column_is_enough_for_help_and_tables(tmp_path: Path) -> None:
    """rich never came to an end with the help, and failed with tables."""
    _, nodes, _, tasks = map(str, files(tmp_path))
    for words in (["compare", "--help"], ["explain", nodes, tasks, "--policy", "fgd", "--task", "t1"]):
        done = subprocess.run(
            [sys.executable, "-m", "wattpack", *words],
            capture_output=True,
            text=True,
            env={**os.environ, "COLUMNS": "1"},
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr

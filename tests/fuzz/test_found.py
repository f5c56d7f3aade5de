"""Cases that broke the contract once, each as small as it was found, with the fault that it showed in its name."""

from __future__ import annotations

import pytest

from fuzz import results
from fuzz.case import Case, Folder, Link
from fuzz.contract import check
from fuzz.run import Runner

NODES = b"sn,cpu_milli,memory_mib,gpu,model\nn0,96000,262144,8,G2\n"
TASKS = b"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\nt0,1000,1024,1,1000,\n"
FILES = {"nodes.csv": NODES, "tasks.csv": TASKS}
TIMED = b"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,duration\nt0,1000,1024,1,1000,,0,60\n"
TIMED_FILES = {"nodes.csv": NODES, "tasks.csv": TIMED}
IN_TIME = ("simulate", "--datacenter", "nodes.csv", "--trace", "tasks.csv", "--policy", "fgd")
CAPS = b"cap,speed\n1,1\n0.5,0.7\n"
PRICES = b"timestamp,price_per_kwh,currency\n2024-03-04T00:00Z,1,EUR\n2024-03-04T01:00Z,2,EUR\n"
POD = b'{"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}'
CLUSTER = {
    "p.json": POD,
    "c.json": b"""{"kind": "List", "items": [
        {"kind": "Node", "metadata": {"name": "a\\nb", "labels": {"nvidia.com/gpu.product": "x\\ny"}},
         "status": {"allocatable": {"cpu": "64", "memory": "64Gi", "nvidia.com/gpu": "4"}}},
        {"kind": "Node", "metadata": {"name": "c", "labels": {"nvidia.com/gpu.product": "Tesla-T4"}},
         "status": {"allocatable": {"cpu": "64", "memory": "64Gi", "nvidia.com/gpu": "4"}}},
        {"kind": "Pod", "metadata": {"name": "p\\nq", "namespace": "n", "uid": "u"},
         "spec": {"nodeName": "c", "containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpumem": "4"}}}]}}
    ]}""",
}

FOUND = {
    "a port that is no number": Case(("fit", "-f", "pod.yaml", "--server", "http://127.0.0.1:x"), {"pod.yaml": POD}),
    "half of an IPv6 address": Case(("fit", "-f", "pod.yaml", "--server", "http://[::1"), {"pod.yaml": POD}),
    "a space in an address": Case(("explain", "--live", "a/b", "--server", "http://127.0.0.1:1/a b")),
    "a pod whose name is no UTF-8": Case(("explain", "--live", "a/\udcff", "--server", "http://127.0.0.1:1")),
    "an error of several lines": Case(
        ("policies", "--plugin", "plugin.py"), {"plugin.py": b"raise ValueError('one\\ntwo')\n"}
    ),
    "a results folder whose name is no UTF-8": Case(
        ("compare", "--datacenter", "nodes.csv", "--trace", "tasks.csv", "--seeds", "1", "--out", "\udcff"), FILES
    ),
    "a trace whose name is no UTF-8": Case(
        ("bound", "--datacenter", "nodes.csv", "--trace", "\udcff.csv", "--loads", "0.5", "--out", "out.csv"),
        {"nodes.csv": NODES, "\udcff.csv": TASKS},
    ),
    "a name that stdout cannot encode": Case(
        ("explain", "nodes.csv", "tasks.csv", "--policy", "fgd", "--task", "t0"),
        {"nodes.csv": NODES.replace(b"n0", b"n\xc3\xbc"), "tasks.csv": TASKS},
        environment={"PYTHONIOENCODING": "ascii"},
    ),
    "an output whose name is no UTF-8": Case(("derive", "tasks.csv", "--out", "\udcff.csv"), FILES),
    "a folder in the place of a run file": Case(
        results.WORDS,
        {**results.INPUTS, "results/runs/x.parquet": Folder(), "results/experiment.json": b"{}"},
        outputs=("results",),
    ),
    "a task larger than the datacenter": Case(
        (
            "tune",
            "--datacenter",
            "nodes.csv",
            "--trace",
            "tasks.csv",
            "--policy",
            "fgd",
            "--seeds",
            "2",
            "--out",
            "out",
        ),
        {"nodes.csv": NODES, "tasks.csv": TASKS.replace(b"1,1000,", b"11,1000,")},
    ),
    "a task that ends runs before the loads to tune for": Case(
        (
            "tune",
            "--datacenter",
            "nodes.csv",
            "--trace",
            "tasks.csv",
            "--policy",
            "fgd",
            "--seeds",
            "2",
            "--out",
            "out",
        ),
        {"nodes.csv": NODES.replace(b",8,", b",2,"), "tasks.csv": TASKS + b"t1,1000,1024,2,1000,\n"},
    ),
    "more workers than there may be": Case((*results.WORDS, "--workers", "0"), results.INPUTS),
    "a number of no digits in YAML": Case(
        ("fit", "-f", "pod.yaml", "--file", "c.json"), {**CLUSTER, "pod.yaml": b"kind: Pod\nspec: !!int ''"}
    ),
    "a date that is none in a kubeconfig": Case(
        ("import", "--kubeconfig", "k", "--out", "o"), {"k": b"clusters: 2020-99-99"}
    ),
    "a kubeconfig nested too deeply": Case(("import", "--kubeconfig", "k", "--out", "o"), {"k": b"[" * 20_000}),
    "an output that is a link to itself": Case(
        ("import", "--file", "c.json", "--out", "link"), {**CLUSTER, "link": Link("link")}
    ),
    "a configuration nested too deeply": Case(("serve", "--check", "--config", "c"), {"c": b"x = " + b"[" * 20_000}),
    "a number of 5,000 digits in a configuration": Case(
        ("serve", "--check", "--config", "c"), {"c": b"seed = " + b"9" * 5000}
    ),
    "a results folder whose name is too long": Case(
        ("bound", "--datacenter", "nodes.csv", "--trace", "tasks.csv", "--loads", "0.5", "--against", "x" * 300), FILES
    ),
    "a results folder nested too deeply": Case(
        ("bound", "--datacenter", "nodes.csv", "--trace", "tasks.csv", "--loads", "0.5", "--against", "results"),
        {**FILES, "results/experiment.json": b"[" * 200_000, "results/runs": Folder()},
    ),
    "a cluster at a port that is none": Case(
        ("serve", "--check", "--kubeconfig", "kubeconfig"),
        {
            "kubeconfig": b'{"current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "c"}}], '
            b'"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:99999"}}]}'
        },
    ),
    "a new policy with a name too long for a file": Case(("new-policy", "x" * 250)),
    "a new policy named as the program's own module": Case(("new-policy", "__main__")),
    "a link to nothing in the way of a new policy's test": Case(("new-policy", "mine"), {"test_mine.py": Link("no/x")}),
    "a GPU model of two lines that no node has": Case(
        ("replay", "--nodes", "nodes.csv", "--tasks", "tasks.csv", "--policy", "fgd"),
        {"nodes.csv": NODES, "tasks.csv": TASKS.replace(b"1000,\n", b'1000,"a\nb"\n')},
    ),
    "a pod of two lines whose GPUs cannot be counted": Case(("import", "--file", "c.json", "--out", "o"), CLUSTER),
    "a pod and a node of two lines that cannot be read": Case(("fit", "-f", "p.json", "--file", "c.json"), CLUSTER),
    "more columns than a number holds": Case(("compare", "--help"), environment={"COLUMNS": "9" * 30}),
    "no columns": Case(("-v", "--help"), environment={"COLUMNS": "0"}),
    "a results folder that is the file for tasks too": Case((*IN_TIME, "--out", "o", "--tasks-out", "o"), TIMED_FILES),
    "a file for tasks where the results folder needs a folder": Case(
        (*IN_TIME, "--out", "o/deep", "--tasks-out", "o"), TIMED_FILES
    ),
    "a file for tasks that the results folder has too": Case(
        (*IN_TIME, "--out", "o", "--tasks-out", "o/time.csv"), {**TIMED_FILES, "o": Folder()}
    ),
    "a series of prices, of which it is said how it was read": Case(
        (*IN_TIME, "--price", "prices.csv", "--out", "o"), {**TIMED_FILES, "prices.csv": PRICES}
    ),
    "an input that the experiment names, in the place of a result": Case(
        ("run", "e.toml", "--out", "."),
        {
            "nodes.csv": NODES,
            "summary.csv": TASKS,
            "e.toml": b"policy = 'fgd'\nseeds = 1\ndatacenter = 'nodes.csv'\ntrace = 'summary.csv'\n",
        },
    ),
    "a list beside the nodes that is read, as the file for decisions": Case(
        (
            *("replay", "--nodes", "nodes.csv", "--tasks", "tasks.csv", "--policy", "fgd"),
            *("--decisions", "not-understood.csv"),
        ),
        {**FILES, "not-understood.csv": b"pod,node,resource\na/b,n0,gpu.example.com\n"},
    ),
    "a link to a table of caps, as the file for tasks": Case(
        (*IN_TIME, "--cap", "0.5", "--cap-speed", "caps.csv", "--out", "o", "--tasks-out", "link"),
        {**TIMED_FILES, "caps.csv": CAPS, "link": Link("caps.csv")},
    ),
    "an old file that the line does not read, as the file for tasks": Case(
        (*IN_TIME, "--out", "o", "--tasks-out", "caps.csv"), {**TIMED_FILES, "caps.csv": CAPS}
    ),
    "a place for runs that is none, with a file for tasks": Case(
        (*IN_TIME, "--out", "o", "--tasks-out", "t.csv", "--on", ""), TIMED_FILES
    ),
    "a file name of two lines": Case(("run", "a\nb.toml"), FILES),
}


@pytest.mark.parametrize("name", FOUND)
def test_a_case_that_was_found_keeps_the_promises_now(runner: Runner, name: str) -> None:
    check(runner, FOUND[name])

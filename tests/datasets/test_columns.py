"""Datacenters and traces from columns in memory: the same as from a file with these columns, and the same faults."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import wattpack as wp
from wattpack.errors import UserError

NODES: dict[str, Any] = {
    "sn": ["a", "b"],
    "cpu_milli": [96000, 64000],
    "memory_mib": [393216, 262144],
    "gpu": [8, 0],
    "model": ["G2", None],
}
TASKS: dict[str, Any] = {
    "name": ["t", "u", "v"],
    "cpu_milli": np.array([4000, 8000, 500]),
    "memory_mib": [1024.0, 0.0, 64.0],
    "num_gpu": [1, 2, 0],
    "gpu_milli": [500, 1000, 0],
    "gpu_spec": ["T4|G2", "", float("nan")],
}


def test_columns_are_read_as_a_file_with_these_columns(tmp_path: Path) -> None:
    pandas.DataFrame(NODES).to_csv(tmp_path / "nodes.csv", index=False)
    pandas.DataFrame(TASKS).to_csv(tmp_path / "tasks.csv", index=False)
    file = wp.load_datacenter(tmp_path / "nodes.csv")
    trace = wp.load_trace(tmp_path / "tasks.csv")
    for nodes, tasks in ((NODES, TASKS), (pandas.DataFrame(NODES), pandas.DataFrame(TASKS))):
        datacenter, workload = wp.load_datacenter(nodes, name="my.hall"), wp.load_trace(tasks)
        assert (datacenter.name, workload.name) == ("my.hall", "workload")
        assert (datacenter.names, datacenter.models) == (file.names, file.models)
        np.testing.assert_array_equal(datacenter.gpus, file.gpus)
        np.testing.assert_array_equal(datacenter.memory_mib, file.memory_mib)
        assert (workload.classes, workload.task_names) == (trace.classes, trace.task_names)
        np.testing.assert_array_equal(workload.sequence, trace.sequence)


def test_cells_that_pandas_calls_missing_are_empty() -> None:
    frame = pandas.DataFrame(NODES).convert_dtypes()
    frame.loc[1, "model"] = pandas.NA
    assert wp.load_datacenter(frame).models == ("G2", "")


def test_a_name_renames_what_comes_from_a_file_or_is_built_in(tmp_path: Path) -> None:
    pandas.DataFrame(NODES).to_csv(tmp_path / "nodes.csv", index=False)
    assert wp.load_datacenter(tmp_path / "nodes.csv", name="hall").name == "hall"
    assert wp.load_trace("default", name="paper's").name == "paper's"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"gpu": [8, 0.5]}, "hall, row 2, column gpu: '0.5', expected a whole number from 0 to"),
        ({"cpu_milli": [-1, 5]}, "hall, row 1, column cpu_milli: '-1', expected a whole number"),
        ({"cpu_milli": [float("nan"), 5]}, "hall, row 1, column cpu_milli: '', expected a whole number"),
        ({"sn": ["a", "a"]}, "hall, row 2, column sn: 'a', expected a new name (row 1 has it already)"),
        ({"model": ["Abacus", ""]}, "hall, row 1, column model: unknown GPU model 'Abacus'"),
        ({"gpu": [8]}, "hall: column 'gpu' has 1 rows, expected 2 as 'sn' has"),
        ({"gpu": 8}, "hall: column 'gpu' is 8, expected a list of values"),
        ({"sn": "ab"}, "hall: column 'sn' is 'ab', expected a list of values"),
    ],
)
def test_a_faulty_cell_is_named_by_row_and_column(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(wp.UserError, match=re.escape(said)):
        wp.load_datacenter({**NODES, **changed}, name="hall")


def test_a_missing_column_is_named() -> None:
    with pytest.raises(wp.UserError, match=re.escape("workload: no column 'num_gpu', expected name,cpu_milli")):
        wp.load_trace({key: values for key, values in TASKS.items() if key != "num_gpu"})


@pytest.mark.parametrize("wrong", [None, 5, ["a", "b"], np.zeros(3)])
def test_what_is_no_source_is_refused_in_one_sentence(wrong: Any) -> None:
    for load, what in ((wp.load_datacenter, "datacenter"), (wp.load_trace, "trace")):
        with pytest.raises(wp.UserError, match=f"^{what}: .*expected a built-in name, the path of a CSV file or"):
            load(wrong)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"cpu_milli": [1.5]}, "datacenter: cpu_milli: expected whole numbers from 0"),
        ({"cpu_milli": ["1"]}, "datacenter: cpu_milli: expected whole numbers from 0"),
        ({"memory_mib": [-1]}, "datacenter: memory_mib: expected whole numbers from 0"),
        ({"memory_mib": [float("nan")]}, "datacenter: memory_mib: expected whole numbers from 0"),
        ({"gpus": [1, 2]}, "datacenter: gpus has 2 values, expected one for each of 1 nodes"),
        ({"model": []}, "datacenter: model has 0 values, expected one for each of 1 nodes"),
        ({"cpu_model": ["", ""]}, "datacenter: cpu_model has 2 values, expected one for each of 1 nodes"),
    ],
)
def test_a_datacenter_of_wrong_columns_is_refused_in_one_sentence(columns: dict[str, Any], said: str) -> None:
    good = {"names": ["n"], "cpu_milli": [1000], "memory_mib": [10], "gpus": [1], "model": ["T4"]}
    with pytest.raises(wp.UserError, match=re.escape(said)):
        wp.Datacenter.of(**{**good, **columns})


def test_a_workload_of_wrong_tasks_is_refused_in_one_sentence() -> None:
    task = wp.TaskClass(1000, 10, 1, 500)
    with pytest.raises(wp.UserError, match="expected a TaskClass"):
        wp.Workload.of([(1000, 10, 1, 500)])  # type: ignore[list-item]
    with pytest.raises(wp.UserError, match="expected whole numbers: milli-vCPU, MiB, GPUs and milli-GPU"):
        wp.Workload.of([task._replace(cpu_milli=0.5)])  # type: ignore[arg-type]
    with pytest.raises(wp.UserError, match="workload: 1 names, expected one for each of 2 tasks"):
        wp.Workload.of([task, task], ["one"])


TIMED = {
    "name": ["a", "b"],
    "cpu_milli": [1000, 1000],
    "memory_mib": [1, 1],
    "num_gpu": [1, 1],
    "gpu_milli": [1000, 1000],
    "creation_time": [0, 5],
    "duration": [10, 10],
}
ONE_T4 = {"sn": ["n"], "cpu_milli": [8000], "memory_mib": [1024], "gpu": [1], "model": ["T4"]}


def test_a_trace_from_columns_or_a_file_keeps_its_times_for_a_run_in_time(tmp_path: Path) -> None:
    """One GPU: b comes at 5 s, waits until a ends at 10 s, and ends at 20 s."""
    datacenter = wp.load_datacenter(ONE_T4)
    rows = [",".join(TIMED), *(",".join(map(str, row)) for row in zip(*TIMED.values(), strict=True))]
    (tmp_path / "tasks.csv").write_text("\n".join(rows))
    for source in (TIMED, tmp_path / "tasks.csv"):
        trace = wp.load_trace(source, name="mine")
        run = wp.simulate(datacenter, trace, "fgd", queue="fifo", horizon_s=30)
        assert run.record.start_s.tolist() == [0, 10]
        assert run.record.end_s.tolist() == [10, 20]
        assert run.tasks.workload.name == "mine"
        assert wp.simulate(datacenter, trace, "fgd").node.tolist() == [0, -1]


def test_wrong_times_are_no_fault_until_a_run_needs_them() -> None:
    trace = wp.load_trace({**TIMED, "duration": [10, "long"]})
    datacenter = wp.load_datacenter(ONE_T4)
    assert len(wp.simulate(datacenter, trace, "fgd")) == 2
    with pytest.raises(UserError, match="row 2, column duration: 'long', expected seconds from 0 on"):
        wp.simulate(datacenter, trace, "fgd", queue="fifo")

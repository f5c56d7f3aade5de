"""The record of a run: its columns are explained, GPUs come as lists, and its text is short."""

import numpy as np

import wattpack as wp
from builders import make_datacenter, make_node, make_task, make_workload

TASKS = [make_task(gpu=2, cpu=4), make_task(gpu=0.5, cpu=4), make_task(cpu=10), make_task(gpu=8, cpu=1)]


def small_run(**words: object) -> wp.Run:
    """On a node of 4 GPUs: two whole GPUs, a share, no GPU, and 8 GPUs that are not there."""
    return wp.simulate(make_datacenter([make_node(gpus=4)]), make_workload(TASKS), "fgd", **words)  # type: ignore[arg-type]


def test_gpus_come_as_lists_of_indices() -> None:
    run = small_run()
    assert run.gpus.tolist() == [0b0011, 0b0100, 0, 0]
    assert run.gpu_lists() == [[0, 1], [2], [], []]
    run.gpu_lists()[2].append(9)
    assert run.gpu_lists()[2:] == [[], []]  # lists of their own


def test_every_column_is_explained_and_has_a_row_for_each_task() -> None:
    run = small_run(batch=2, batch_seconds=5, arrival_s=[0, 1, 2, 3])
    assert {"node", "gpus", "power_w", "grar", "order", "wait_s"} < set(run.columns)
    assert "order" not in small_run().columns
    for name, text in run.columns.items():
        assert len(getattr(run, name)) == len(run)
        assert f"`{name}`" in str(wp.Run.__doc__)
        assert text
        if name.endswith("_w"):
            assert text.endswith(", W")
        if name.endswith("_milli"):
            assert text.endswith("milli-GPU")


def test_its_text_is_one_short_line() -> None:
    # requested: 2 + 0.5 + 8 of 4 GPUs; allocated: 2.5 of 10.5
    text = repr(small_run())
    assert text.startswith("Run: 4 tasks on 1 nodes, 3 placed, 1 failed; at the end load 2.625, ")
    assert text.endswith(" kW, GRAR 0.238")
    empty = wp.simulate(make_datacenter([make_node()]), wp.Workload.of([]), "fgd")
    assert repr(empty) == "Run: 0 tasks on 1 nodes, 0 placed"


def test_the_texts_of_datacenter_and_workload_are_short() -> None:
    run = small_run()
    assert repr(run.datacenter) == "Datacenter 'datacenter': 1 node, 4 GPUs (4 G2)"
    assert repr(run.workload) == "Workload 'workload': 4 tasks of 4 classes, 10.5 GPUs in all"
    assert repr(make_datacenter([make_node(gpus=0)])) == "Datacenter 'datacenter': 1 node, 0 GPUs"


def test_its_frame_has_names_lists_and_the_state_after_each_task() -> None:
    run = small_run()
    frame = run.to_pandas()
    assert frame["task"].tolist() == ["t0", "t1", "t2", "t3"]
    assert frame["node"].tolist() == ["n0", "n0", "n0", ""]
    assert frame["gpus"].tolist() == [[0, 1], [2], [], []]
    assert frame["reason"].tolist()[:3] == ["", "", ""]
    assert frame["reason"].tolist()[3] in run.failures_by_reason()
    assert frame["failed"].tolist() == [0, 0, 0, 1]
    np.testing.assert_array_equal(frame["power_w"], run.power_w)


def test_with_windows_the_frames_rows_are_in_the_order_of_placing() -> None:
    """Then task and state of a row belong together: GPU allocated rises by what the row's task got."""
    run = small_run(batch=4, batch_seconds=9, arrival_s=[0, 1, 2, 3])
    assert run.order is not None
    frame = run.to_pandas()
    assert frame["task"].tolist() == [f"t{i}" for i in run.order.tolist()]
    requests = {"t0": 2000, "t1": 500, "t2": 0, "t3": 0}  # t3 fits nowhere
    assert np.diff(frame["allocated_milli"], prepend=0).tolist() == [requests[task] for task in frame["task"]]
    assert frame["wait_s"].tolist() == [{"t0": 3, "t1": 2, "t2": 1, "t3": 0}[task] for task in frame["task"]]

"""Every decision of the authors' own scheduler, where the folder `shared` lies beside the checkout."""

import csv
from pathlib import Path

import pytest

from wattpack.datasets.csv_files import read_datacenter, read_workload
from wattpack.engine.runs.arrivals import simulate
from wattpack.engine.runs.record import Run
from wattpack.model.target import Target
from wattpack.policies.expression import parse

SHARED = Path(__file__).parents[3] / "shared"
REFERENCE = SHARED / "reference" / "decisions"
FILES = sorted(REFERENCE.glob("*/*.decisions.csv"))
EVERY = 20  # the series files hold tasks 0, 20, 40, ... and the last one
# Half of the last of their two decimals, and half a millionth for each of 6 reasons on 1,213 nodes in ours.
FRAGMENTATION_SLACK = 0.005 + 6 * 1213 * 0.5e-6

# Every test here: one run for each file of decisions.
pytestmark = [
    pytest.mark.compiled,  # a run is 10,866 tasks on 1,213 nodes
    pytest.mark.skipif(not FILES, reason="the authors' decisions are not in ../shared/reference beside the checkout"),
    pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{policy_of(file)}"),
]


def policy_of(decisions: Path) -> str:
    return decisions.name.removesuffix(".decisions.csv").replace("_", ":")


def replayed(decisions: Path) -> Run:
    trace = decisions.parent.name.split("-")[0]
    published = SHARED / "traces" / "alibaba-2023" / f"openb_pod_list_{trace}.csv"
    return simulate(
        read_datacenter(decisions.parent / "nodes.csv"),
        read_workload(decisions.parent / "tasks.csv"),
        parse(policy_of(decisions)),
        Target.of(read_workload(published)),
    )


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as text:
        return list(csv.DictReader(text))


def test_every_decision_is_the_authors(file: Path) -> None:
    run = replayed(file)
    ours = [(run.workload.task_name(i), run.node_name(i), run.gpu_index(i)) for i in range(len(run))]
    theirs = [(row["task"], row["node"], row["gpu_index"]) for row in rows(file)]
    assert len(ours) == len(theirs)
    assert [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]] == []


def test_the_state_after_every_20th_task_is_the_authors(file: Path) -> None:
    run = replayed(file)
    series = rows(file.with_name(file.name.replace(".decisions.", ".series.")))
    sampled = sorted({*range(0, len(run), EVERY), len(run) - 1})
    for i, row in zip(sampled, series, strict=True):
        ours = (
            run.workload.task_name(i),
            run.requested_milli[i],
            run.allocated_milli[i],
            run.failed[i],
            run.power_w[i],
            run.cpu_power_w[i],
            run.gpu_power_w[i],
        )
        theirs = (
            row["task"],
            int(row["arrived_gpu_milli"]),
            int(row["allocated_gpu_milli"]),
            int(row["failed"]),
            float(row["power_w"]),
            float(row["cpu_power_w"]),
            float(row["gpu_power_w"]),
        )
        assert ours == theirs
        assert abs(run.fragmentation_milli[i] - float(row["fragmentation_milli"])) <= FRAGMENTATION_SLACK

"""`wattpack.simulate` in time."""

from pathlib import Path

import numpy as np
import pytest

import wattpack as wp
from builders import make_datacenter, make_workload
from cli.files import write_nodes, write_timed_tasks
from experiments.small import NODES, TASKS

HALL, WEEK = make_datacenter(NODES), make_workload(TASKS)
TIMES = {"arrival_s": [0, 60, 120, 180], "duration_s": [600, 600, 600, 600]}


def test_times_make_a_timed_run_with_the_series_as_columns() -> None:
    run = wp.simulate(HALL, WEEK, "ocs", **TIMES, sample_s=60)
    assert isinstance(run, wp.TimedRun)
    assert run.time_s.tolist() == [0, 60, 120, 180]
    assert run.running.tolist() == [1, 2, 3, 4]
    assert set(run.columns) == set(run.to_pandas().columns)
    assert run.kwh[-1] == pytest.approx(run.numbers.kwh)
    assert (np.diff(run.kwh) > 0).all()
    frame = run.tasks_to_pandas()
    assert frame.outcome.tolist() == ["running"] * 4
    assert frame.start_s.tolist() == [0, 60, 120, 180]
    assert repr(run).startswith("TimedRun: 4 tasks in 0.1 h on 4 nodes")
    with pytest.raises(AttributeError, match="has no 'nonsense'"):
        _ = run.nonsense


def test_arrival_times_alone_mean_what_they_meant() -> None:
    assert isinstance(wp.simulate(HALL, WEEK, "fgd", arrival_s=[0, 1, 2, 3]), wp.Run)
    assert isinstance(wp.simulate(HALL, WEEK, "fgd"), wp.Run)


def test_a_file_with_times_and_options_give_what_the_command_gives(tmp_path: Path) -> None:
    nodes, tasks = write_nodes(tmp_path), write_timed_tasks(tmp_path)
    run = wp.simulate(nodes, tasks, "fgd", queue="backfill", patience_s="10m", pue=1.5, carbon=400, price="0.2 EUR")
    assert run.numbers.gave_up == 1
    assert run.numbers.co2_operational_kg == pytest.approx(run.numbers.kwh * 1.5 * 0.4)
    assert (run.numbers.money, run.numbers.currency) == (pytest.approx(run.numbers.kwh * 0.3), "EUR")
    assert wp.simulate(nodes, tasks, "fgd", queue="fifo").numbers.gave_up == 0


def test_tasks_of_a_built_in_trace_are_drawn_at_a_load_with_a_seed() -> None:
    small = wp.load_datacenter("alibaba2026", remove=["A10", "H20", "L20", "A100"])
    run = wp.simulate(small, "default", "fgd", queue="backfill", load=0.1, days=0.05, seed=7)
    again = wp.simulate(small, "default", "fgd", queue="backfill", load=0.1, days=0.05, seed=7)
    assert run.numbers.arrived > 10
    assert run.numbers.horizon_s == 0.05 * 86400
    assert run.kwh.tolist() == again.kwh.tolist()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"duration_s": [1] * 4}, "duration_s without arrival_s"),
        ({**TIMES, "duration_s": [1]}, "1 values of duration_s, expected 4"),
        ({**TIMES, "duration_s": [-1] * 4}, "duration_s is negative"),
        ({**TIMES, "duration_s": "soon"}, "duration_s: 'soon', expected seconds"),
        ({**TIMES, "queue": "lifo"}, "queue 'lifo', expected one of"),
        ({**TIMES, "patience_s": 0}, "patience 0, expected more than 0"),
        ({**TIMES, "batch": 3}, "a run in time with batch windows"),
        ({**TIMES, "seed": 3}, "nothing is drawn, expected a load too"),
        ({**TIMES, "target": "learnt"}, "target: 'learnt' in a run in time, expected a workload"),
        ({"queue": "fifo"}, "workload: no times, expected arrival_s and duration_s"),
        ({"slack_s": [1] * 4}, "expected times of the tasks too"),
        ({**TIMES, "slack": "BE=1h"}, "without carbon or price"),
    ],
)
def test_a_wrong_argument_is_one_line(given: dict[str, object], said: str) -> None:
    with pytest.raises(wp.UserError) as fault:
        wp.simulate(HALL, WEEK, "fgd", **given)  # type: ignore[call-overload]
    assert said in str(fault.value)
    assert "\n" not in str(fault.value)


def test_an_unknown_keyword_is_an_error_of_python() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'profle'"):
        wp.simulate(HALL, WEEK, "fgd", profle="paper")  # type: ignore[call-overload]

"""Runs in time are scenarios like others: stored, found again, run again where a file is damaged, on any executor."""

from __future__ import annotations

import dataclasses
from math import inf
from pathlib import Path

import numpy as np
import pytest

from experiments.small import WORKLOAD, run_files, timed_experiment, timed_inputs
from wattpack.energy.signal import BUDGET, CARBON, PRICE, Signal
from wattpack.errors import UserError
from wattpack.experiments.runner import Outcome, run_experiment, summarise
from wattpack.experiments.scenario import Scenario
from wattpack.experiments.spec import load_experiment
from wattpack.experiments.spec.axes import resolve
from wattpack.experiments.timed import run_timed_scenario
from wattpack.experiments.timed_fields import timed_of
from wattpack.experiments.timed_options import Timed, slack_text
from wattpack.experiments.timed_result import TimedNumbers, numbers_of, series_of
from wattpack.experiments.timed_table import baseline_of, timed_table


def run(out: Path, on: str = "threads") -> tuple[dict[Scenario, TimedNumbers], Outcome]:
    folder, scenarios, outcome = run_experiment(timed_experiment(policies=("fgd", "pwr")), out, on=on, workers=2)
    assert outcome.failed == []
    return folder.read_timed(scenarios), outcome


def test_what_is_read_is_what_the_runs_gave_to_the_last_bit(tmp_path: Path) -> None:
    options = (Timed(), Timed(load=0.8, days=0.2, queue="fifo", patience_s=600.0), Timed(speed="typical"))
    experiment = timed_experiment(*options, policies=("fgd", "ocs"))
    folder, scenarios, outcome = run_experiment(experiment, tmp_path)
    assert outcome.done == len(scenarios) == 2 + 4 + 2  # two seeds only where tasks are drawn
    found = folder.read_timed(scenarios)
    for scenario, numbers in found.items():
        again = run_timed_scenario(scenario, experiment.inputs)
        assert repr(numbers) == repr(numbers_of(again.account))  # a NaN is not equal to itself
        for name, column in series_of(again.record).columns().items():
            np.testing.assert_array_equal(getattr(folder.read_series(scenario), name), column)


def test_finished_runs_are_not_run_again_and_time_csv_is_written(tmp_path: Path) -> None:
    first, outcome = run(tmp_path)
    assert (outcome.done, outcome.skipped) == (4, 0)
    again, outcome = run(tmp_path)
    assert (outcome.done, outcome.skipped) == (0, 4)
    assert repr(again) == repr(first)
    folder, scenarios, _ = run_experiment(timed_experiment(policies=("fgd", "pwr")), tmp_path)
    summarise(folder, scenarios)
    assert len((tmp_path / "time.csv").read_text().splitlines()) == 5


def test_processes_give_the_same_bytes_as_threads(tmp_path: Path) -> None:
    run(tmp_path / "threads")
    run(tmp_path / "processes", "processes")
    assert run_files(tmp_path / "threads", "time") == run_files(tmp_path / "processes", "time") != {}


def test_a_damaged_run_is_said_and_run_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected, _ = run(tmp_path)
    files = run_files(tmp_path, "time")
    file = tmp_path / "time" / next(iter(files))
    data = file.read_bytes()
    file.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
    found, outcome = run(tmp_path)
    assert (repr(found), outcome.done) == (repr(expected), 1)
    assert capsys.readouterr().err == f"wattpack: {file}: damaged, run again\n"
    assert run_files(tmp_path, "time") == files


def ids(*options: Timed, **inputs: object) -> list[str]:
    made = dataclasses.replace(timed_inputs(), **inputs)  # type: ignore[arg-type]
    return [scenario.id for scenario in resolve(timed_experiment(*options, inputs=made))[1]]


def test_the_id_depends_on_every_option_and_on_what_files_hold_but_not_on_their_names() -> None:
    changed = [
        *(Timed(), Timed(queue="fifo"), Timed(patience_s=60.0), Timed(load=0.5), Timed(load=0.5, days=2.0)),
        *(Timed(load=0.5, arrivals="poisson"), Timed(horizon_s=60.0), Timed(sample_s=30.0), Timed(pue=1.1)),
        *(Timed(start="2024-01-01T00:00+00:00"), Timed(embodied="gpu=1"), Timed(speed="typical"), Timed(hold_gaps=1)),
    ]
    found = [ids(options)[0] for options in changed]
    assert len(set(found)) == len(changed)
    low, high = (Signal.constant(value, CARBON) for value in (100.0, 200.0))
    one = ids(Timed(carbon="a"), signals={(CARBON, "a"): low})
    assert one == ids(Timed(carbon="b"), signals={(CARBON, "b"): low})
    assert one != ids(Timed(carbon="a"), signals={(CARBON, "a"): high})
    own = ids(Timed(speed="x"), speeds={"x": {"G2": 1.0, "T4": 2.0}})
    assert own == ids(Timed(speed="y"), speeds={"y": {"T4": 2.0, "G2": 1.0}})
    assert own != ids(Timed(speed="x"), speeds={"x": {"G2": 1.0, "T4": 3.0}})


def test_tasks_at_their_own_times_are_run_once_whatever_the_seeds() -> None:
    _, scenarios = resolve(timed_experiment(Timed(), Timed(load=0.5)))
    assert [(scenario.timed.load, scenario.seed) for scenario in scenarios if scenario.timed] == [
        (0, 0),
        (0.5, 42),
        (0.5, 43),
    ]


def test_a_signal_that_does_not_cover_the_run_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    ten_minutes_each = Signal(np.array([0.0, 600.0]), np.array([100.0, 200.0]), CARBON, name="short")
    signals = {(CARBON, "short"): ten_minutes_each}
    with pytest.raises(UserError, match="short: has values from"):
        run_experiment(timed_experiment(Timed(carbon="short"), inputs=timed_inputs(signals)), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    folder, scenarios, outcome = run_experiment(
        timed_experiment(Timed(carbon="short", repeat=1), inputs=timed_inputs(signals)), tmp_path / "out"
    )
    assert outcome.failed == []
    assert folder.read_timed(scenarios)[scenarios[0]].co2_operational_kg > 0


def test_slack_budget_price_and_patience_reach_the_run(tmp_path: Path) -> None:
    steps = np.array([0.0, 1800.0, 3600.0])
    signals = {
        (PRICE, "p"): Signal(steps, np.array([3.0, 2.0, 1.0]), PRICE, from_start=True, currency="EUR"),
        (BUDGET, "b"): Signal.constant(4.0, BUDGET),
    }
    options = timed_of({"price": "p", "slack": "BE=1h", "budget_kw": "b", "patience": "5m"})
    assert (options.slack, options.slack_by, options.forecast) == ("BE=3600", PRICE, "perfect")
    experiment = timed_experiment(options, inputs=timed_inputs(signals))
    outcome = run_timed_scenario(resolve(experiment)[1][0], experiment.inputs)
    arrival_s, record = outcome.tasks.arrival_s, outcome.record
    is_be = np.array(outcome.tasks.service_class) == "BE"
    assert (record.joined_s[~is_be] == arrival_s[~is_be]).all()
    assert record.joined_s[0] == 3600.0  # the cheapest hour within one hour
    assert record.peak_w <= 4000.0
    assert record.patience_s == 300.0


def test_a_speed_table_makes_batch_tasks_longer_on_slow_models() -> None:
    inputs = timed_inputs()
    inputs.speeds["own"] = {"G2": 2.0, "T4": 1.0}
    experiment = timed_experiment(Timed(speed="own", speed_reference=2.0), inputs=inputs)
    outcome = run_timed_scenario(resolve(experiment)[1][0], inputs)
    ran = outcome.record.end_s - outcome.record.start_s
    model = outcome.datacenter.model[outcome.record.node]
    asks_gpu = WORKLOAD.gpu_request_milli() > 0
    is_t4 = np.array([outcome.datacenter.models[m] == "T4" for m in model])
    started = ~np.isnan(ran)
    batch = outcome.tasks.batch & asks_gpu & started
    assert set(ran[batch & is_t4]) <= {7200.0}
    assert set(ran[batch & ~is_t4]) <= {3600.0}


def test_without_a_reference_the_mean_over_the_first_datacenters_gpus_is_taken() -> None:
    inputs = timed_inputs()
    inputs.speeds["own"] = {"G2": 2.0, "T4": 1.0}
    (scenario,) = {s.timed for s in resolve(timed_experiment(Timed(speed="own"), inputs=inputs))[1]}
    assert scenario is not None
    assert scenario.speed_reference == pytest.approx((10 * 2.0 + 4 * 1.0) / 14)  # 10 G2, 4 T4


def test_the_differences_to_fgd_are_taken_seed_by_seed(tmp_path: Path) -> None:
    results, _ = run(tmp_path)
    ((group, rows),) = timed_table(results).items()
    assert group.text == "backfill, load 0.5, 0.2 days"
    fgd, pwr = rows
    assert baseline_of(rows) is fgd
    expected = [own.kwh / base.kwh - 1 for own, base in zip(pwr.runs, fgd.runs, strict=True)]
    assert pwr.difference("kwh", fgd) == (pytest.approx(np.mean(expected)), pytest.approx(np.std(expected, ddof=1)))


SPEC = """
datacenter = "nodes.csv"
trace = "tasks.csv"
policy = ["fgd", "pwr"]
seeds = 2

[timed]
queue = ["fifo", "backfill"]
patience = ["30m", 7200]
load = 0.5
days = 0.2
carbon = "DEU"
repeat_signals = true
"""


def write_timed_spec(folder: Path, text: str = SPEC) -> Path:
    rows = "".join(f"t{i},4000,1024,1,{500 if i % 2 else 1000},{i * 100},{600 + i}\n" for i in range(12))
    (folder / "nodes.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\na,96000,393216,2,G2\nb,96000,393216,8,T4\n")
    (folder / "tasks.csv").write_text(f"name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,duration\n{rows}")
    file = folder / "experiment.toml"
    file.write_text(text)
    return file


def test_lists_in_the_table_timed_are_axes_and_no_fill_up_is_run_beside(tmp_path: Path) -> None:
    experiment = load_experiment(write_timed_spec(tmp_path))
    _, scenarios = resolve(experiment)
    assert len(scenarios) == 2 * 2 * 2 * 2
    assert {s.kind for s in scenarios} == {"timed"}
    found = {(s.timed.queue, s.timed.patience_s) for s in scenarios if s.timed}
    assert found == {("fifo", 1800.0), ("fifo", 7200.0), ("backfill", 1800.0), ("backfill", 7200.0)}
    axes = experiment.blocks[0].axes()
    assert axes["timed.queue"] == ("fifo", "backfill")
    assert axes["timed.patience"] == (1800.0, 7200.0)


def test_an_empty_table_timed_means_all_defaults_and_up_to_adds_fill_ups(tmp_path: Path) -> None:
    text = SPEC.partition("[timed]")[0]
    _, scenarios = resolve(load_experiment(write_timed_spec(tmp_path, f"{text}[timed]\n")))
    assert [(s.kind, s.seed, s.timed and s.timed.patience_s) for s in scenarios] == [("timed", 0, inf)] * 2
    _, scenarios = resolve(load_experiment(write_timed_spec(tmp_path, f"up_to = 0.5\n{text}[timed]\n")))
    assert [s.kind for s in scenarios] == ["fill-up"] * 4 + ["timed"] * 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('patience = "soon"', "timed.patience: patience 'soon', expected a duration"),
        ('queue = ["fifo", "fifo"]', "timed.queue[2]: 'fifo' again"),
        ('queue = "lifo"', "timed: queue 'lifo', expected one of"),
        ("load = true", "timed.load: load True, expected a number above 0"),
        ('carbon = "Atlantis"', "timed: carbon 'Atlantis', expected a file"),
        ('speed = "no.csv"', "timed: speed 'no.csv': no such file"),
        ("hurry = 1", "timed.hurry: unknown key"),
        ('target = "nowhere"', "timed.target: "),
    ],
)
def test_a_wrong_value_of_the_table_timed_is_named_with_its_place(tmp_path: Path, line: str, said: str) -> None:
    text = SPEC.partition("[timed]")[0]
    with pytest.raises(UserError) as fault:
        load_experiment(write_timed_spec(tmp_path, f"{text}[timed]\n{line}\n"))
    assert said in str(fault.value)


def test_slack_has_one_spelling() -> None:
    assert slack_text("LS=0, BE=6h") == slack_text("BE=21600,LS=0s") == "BE=21600,LS=0"

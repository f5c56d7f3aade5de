"""A score or price that is not finite ends a run in one line; it never leads outside an array."""

import math
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from builders import make_datacenter, make_mix, make_node, make_task, make_workload, without_buckets
from wattpack.engine.core.engine import Engine
from wattpack.engine.core.explain import explain
from wattpack.engine.live.one_decision import consider, new_choice
from wattpack.engine.moments.steady import simulate_steady
from wattpack.engine.runs.arrivals import draw_luck, run_arrivals, simulate
from wattpack.engine.runs.learning import simulate_learning
from wattpack.engine.windows.batch import Batch, simulate_windows
from wattpack.errors import RunError
from wattpack.jit import kernel
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import ANY_GPU, Normalise, Pick, Policy
from wattpack.model.power import PowerProfile
from wattpack.model.target import Target

NODES = [make_node(gpus=2, name="two"), make_node(gpus=4, name="four"), make_node(gpus=8, name="eight")]
TASKS = [make_task(gpu=0.5, cpu=4, name=f"share-{i}") for i in range(6)] + [make_task(gpu=1, cpu=8, name="whole")]
BAD = [math.nan, math.inf, -math.inf, 1e200]


@kernel
def bad_when_used(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    """A whole number until something is on a node."""
    terms[0] = params[0] if node.tasks > 0 else node.gpus
    return ANY_GPU


@kernel
def gpus_left(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    terms[0] = node.gpu_total
    terms[1] = node.gpus
    return ANY_GPU


@kernel
def bad_price(task: Any, world: Any, params: Any, memory: Any, prices: Any) -> None:
    prices[0] = 1.0
    prices[1] = params[0] if task.gpu_milli == 1000 else 2.0


@pytest.fixture(autouse=True)
def quiet_numpy() -> Iterator[None]:
    """Without the compiler numpy would warn of inf - inf: the decision is made before the run stops."""
    with np.errstate(invalid="ignore"):
        yield


def bad_policy(value: float, **choices: Any) -> Policy:
    def prepare(datacenter: Datacenter, target: Target, profile: PowerProfile) -> NDArray[np.float64]:
        return np.array([value])

    return Policy("bad", "x", bad_when_used, pick=Pick.TIGHTEST, prepare=prepare, **choices)


def bad_price_policy(value: float, **choices: Any) -> Policy:
    two_terms = {"terms": 2, "weigh": bad_price, "term_names": ("left", "size")}
    return replace(bad_policy(value), score=gpus_left, **two_terms, **choices)


def new_engine(policy: Policy, expression: str = "bad") -> Engine:
    workload = make_workload(TASKS)
    return Engine(make_datacenter(NODES), workload.classes, make_mix(expression, policy), Target.of(workload))


SAID = (
    r"^policy bad: score of node \w+ for task .*\(4000 milli-vCPU, 0 MiB, 1 GPU x 500 milli\) is (nan|-?inf|1e\+200), "
)


@pytest.mark.parametrize("value", BAD)
@pytest.mark.parametrize("normalise", list(Normalise))
@pytest.mark.parametrize("expression", ["bad", "bad:0.5+fgd:0.5", "random:0.5+bad:0.5"])
def test_a_bad_score_names_policy_task_and_node(value: float, normalise: Normalise, expression: str) -> None:
    workload = make_workload(TASKS)
    engine = new_engine(bad_policy(value, normalise=normalise), expression)
    with pytest.raises(RunError, match=SAID) as fault:
        run_arrivals(engine, workload, draw_luck(workload, None))
    assert "for task share-" in str(fault.value)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize("value", BAD)
@pytest.mark.parametrize("normalise", [Normalise.NONE, Normalise.MIN_MAX_100, Normalise.FIRST_TERM_WITHIN])
@pytest.mark.parametrize("expression", ["bad", "bad:0.5+fgd:0.5", "random:0.5+bad:0.5"])
def test_a_bad_price_names_policy_term_and_task(value: float, normalise: Normalise, expression: str) -> None:
    workload = make_workload(TASKS)
    for scan in (False, True):
        engine = new_engine(bad_price_policy(value, normalise=normalise), expression)
        engine = without_buckets(engine) if scan else engine
        with pytest.raises(RunError, match=r"^policy bad: price \(term 'size'\) for task whole \(8000 milli-vCPU"):
            run_arrivals(engine, workload, draw_luck(workload, None))


@pytest.mark.parametrize("value", BAD)
def test_every_way_of_running_stops(value: float) -> None:
    workload, datacenter, mix = make_workload(TASKS), make_datacenter(NODES), make_mix("bad", bad_policy(value))
    target, luck = Target.of(workload), draw_luck(workload, None)
    times = np.arange(len(workload), dtype=np.float64)
    with pytest.raises(RunError, match=SAID):
        simulate(datacenter, workload, mix, target)
    with pytest.raises(RunError, match=SAID):
        simulate_learning(datacenter, workload, mix)
    with pytest.raises(RunError, match=SAID):
        simulate_windows(datacenter, workload, mix, target, batch=Batch(3))
    with pytest.raises(RunError, match=SAID):
        simulate_steady(new_engine(bad_policy(value)), workload, times, times + 100, luck, 0)


def test_a_live_decision_stops_and_classes_that_have_good_scores_are_still_decided() -> None:
    engine = new_engine(bad_price_policy(math.nan))
    choice, every, luck = new_choice(engine), np.arange(len(NODES)), np.zeros(2)
    share, whole = 0, 1

    def decide(k: int) -> int:
        chosen = int(consider(engine.state, engine.plan, engine.scores, k, luck, every, choice))
        engine.stop_if_faulty()
        return chosen

    for _ in range(2):
        assert decide(share) == 2  # the most GPU left
        with pytest.raises(RunError, match="price"):
            decide(whole)
        with pytest.raises(RunError, match="price"):
            explain(engine, whole, luck)
    assert (choice.score >= 0).all()


def test_a_column_with_a_bad_score_stays_refused() -> None:
    engine, workload = new_engine(bad_policy(math.nan)), make_workload(TASKS)
    for _ in range(3):
        with pytest.raises(RunError, match=SAID):
            run_arrivals(engine, workload, draw_luck(workload, None))


@pytest.mark.e2e  # 6 s
@pytest.mark.compiled
def test_the_process_lives_when_a_plugin_divides_by_zero(tmp_path: Path) -> None:
    """As it was found: without the check it ended with -11 and no message."""
    plugin = tmp_path / "nan_policy.py"
    plugin.write_text(
        "import wattpack as wp\n\n\n@wp.kernel\ndef score(node, task, world, params, memory, terms):\n"
        "    terms[0] = node.gpu_total / (1000.0 * node.gpu_free)\n    return wp.ANY_GPU\n\n\n"
        'wp.register(wp.Policy("nan_policy", "x", score, pick=wp.Pick.TIGHTEST))\n'
    )
    words = ["compare", "--policy", "nan_policy", "--seeds", "1", "--plugin", str(plugin), "--out", str(tmp_path / "o")]
    command = [sys.executable, "-m", "wattpack", *words]
    checked = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (checked.returncode, checked.stderr.count("\n")) == (2, 1)
    assert "policy nan_policy: score of node" in checked.stderr
    assert "is not finite" in checked.stderr
    assert not (tmp_path / "o").exists()
    run = subprocess.run([*command, "--no-check", "--no-bound"], capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 1
    assert "failed: default, nan_policy, seed 42: RunError: policy nan_policy: score of node" in run.stderr

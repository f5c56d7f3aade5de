"""The engine and the plain reference agree: every decision, verdict, score and sample, on random small cases."""

from collections import Counter

import numpy as np
from hypothesis import given

import reference
from builders import arrive, decisions, explained, make_datacenter, make_engine, make_mix, make_target, make_workload
from cases import Case, cases
from wattpack.engine.runs.arrivals import simulate
from wattpack.engine.runs.record import Run
from wattpack.model.fit import VERDICTS


def simulated(case: Case) -> Run:
    return simulate(
        make_datacenter(case.nodes), make_workload(case.tasks), make_mix(case.policy), make_target(case.trace)
    )


@given(cases())
def test_every_decision_is_the_references(case: Case) -> None:
    run = simulated(case)  # first: the reference changes the nodes
    target = reference.target_workload(case.trace)
    assert decisions(run) == reference.replay(case.nodes, case.tasks, case.policy, target)


@given(cases())
def test_every_verdict_score_and_normalised_score_is_the_references(case: Case) -> None:
    engine = make_engine(case.nodes, case.tasks, case.policy, trace=case.trace)
    target = reference.target_workload(case.trace)
    for task in case.tasks:
        seen = explained(engine, task)
        verdicts = [reference.filter_reason(node, task) or "fits" for node in case.nodes]
        assert [VERDICTS[verdict] for verdict in seen.verdict.tolist()] == verdicts
        raw = reference.raw_scores(case.nodes, task, case.policy, target)
        total = dict.fromkeys(raw[case.policy[0][0]], 0)
        for c, (name, weight) in enumerate(case.policy):
            normalised = reference.normalise(name, raw[name])
            assert numbers(seen.raw[c]) == {i: score for i, (score, _) in raw[name].items()}
            assert numbers(seen.normalised[c]) == normalised
            total = {i: total[i] + weight * score for i, score in normalised.items()}
        assert numbers(seen.total) == total
        chosen, gpus = reference.decide(case.nodes, task, case.policy, target)
        assert arrive(engine, task) == (chosen, gpus)
        if chosen is not None:
            reference.place(case.nodes[chosen], task, gpus)


def numbers(scores: np.ndarray) -> dict[int, float]:
    """Scores by node, of the nodes that have one."""
    return {i: score for i, score in enumerate(scores.tolist()) if not np.isnan(score)}


@given(cases())
def test_every_sample_is_that_of_the_references_nodes(case: Case) -> None:
    run = simulated(case)
    target = reference.target_workload(case.trace)
    requested = allocated = failed = 0
    for i, task in enumerate(case.tasks):
        chosen, gpus = reference.decide(case.nodes, task, case.policy, target)
        demand = task.num_gpu * task.gpu_milli
        requested += demand
        if chosen is None:
            failed += 1
        else:
            reference.place(case.nodes[chosen], task, gpus)
            allocated += demand
        cpu_w, gpu_w = (sum(part) for part in zip(*map(reference.node_power_w, case.nodes), strict=True))
        assert (run.requested_milli[i], run.allocated_milli[i], run.failed[i]) == (requested, allocated, failed)
        assert (run.cpu_power_w[i], run.gpu_power_w[i], run.power_w[i]) == (cpu_w, gpu_w, cpu_w + gpu_w)
        assert run.grar[i] == (allocated / requested if requested > 0 else 1)
        # the engine keeps each of the six sums of a node in millionths
        slack = 0.5e-6 * 6 * len(case.nodes) + 1e-9
        lost = sum(reference.fragmentation(node, target) for node in case.nodes)
        assert abs(run.fragmentation_milli[i] - lost) <= slack
        by_reason = run.fragmentation_by_reason()
        for reason in reference.REASONS:
            lost = sum(reference.fragmentation_by_reason(node, target)[reason] for node in case.nodes)
            assert abs(by_reason[reason][i] - lost) <= slack


@given(cases())
def test_a_failed_tasks_reason_is_what_most_nodes_with_the_gpus_for_it_lack(case: Case) -> None:
    run = simulated(case)
    target = reference.target_workload(case.trace)
    expected: Counter[str] = Counter()
    for i, task in enumerate(case.tasks):
        chosen, gpus = reference.decide(case.nodes, task, case.policy, target)
        if chosen is None:
            reason = plain_reason(case.nodes, task)
            assert VERDICTS[run.reason[i]] == reason
            expected[reason] += 1
        else:
            assert VERDICTS[run.reason[i]] == "fits"
            reference.place(case.nodes[chosen], task, gpus)
    assert run.failures_by_reason() == expected


def plain_reason(nodes: list[reference.Node], task: reference.Task) -> str:
    verdicts = Counter(reference.filter_reason(node, task) for node in nodes)
    lacking = [reason for reason in ("cpu", "memory", "task_limit") if verdicts[reason] > 0]
    if lacking:
        return max(lacking, key=lambda reason: verdicts[reason])  # the first of equals
    return next(reason for reason in ("gpu", "cpu_model", "gpu_model") if verdicts[reason] > 0)

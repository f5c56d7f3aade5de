"""`auto` in the live service: chosen for the nodes known, again when they change by a tenth, and said everywhere."""

from __future__ import annotations

import asyncio
from collections import Counter

import numpy as np
import pytest

from kube.api_in_memory import InMemory, started
from wattpack.choose.choice import Choice, resolve
from wattpack.kube import auto as live
from wattpack.kube.auto import LEAST_PODS, Auto
from wattpack.kube.cluster import Cluster
from wattpack.kube.compile_ahead import compile_kernels
from wattpack.kube.config import Config, problems
from wattpack.kube.facts import NodeFacts, PodFacts
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PAPER
from wattpack.model.target import Target
from wattpack.model.tasks import TaskClass, Workload
from wattpack.policies.expression import parse

pytestmark = pytest.mark.usefixtures("own_choices")

TRACE = Workload.from_counts(
    [(TaskClass(4000, 8192, 1, 500), 40), (TaskClass(8000, 16384, 1, 1000), 40), (TaskClass(4000, 8192, 0, 0), 20)]
)


def nodes(count: int, model: str = "T4") -> Datacenter:
    names = [f"n{number:02d}" for number in range(count)]
    return Datacenter.of(names, [64000] * count, [262144] * count, [2] * count, [model] * count)


def cluster_of(datacenter: Datacenter, auto: Auto) -> Cluster:
    cluster = Cluster(parse("fgd"), PAPER, Target.of(TRACE), auto=auto)
    for n, name in enumerate(datacenter.names):
        model = datacenter.models[datacenter.model[n]]
        cluster.update_node(NodeFacts(name, int(datacenter.cpu_milli[n]), int(datacenter.memory_mib[n]), 2, model, ""))
    return cluster


def pod(name: str, task: TaskClass) -> PodFacts:
    return PodFacts(name, "default", name, task, "", None, False, "wattpack", "")


def test_the_service_and_replay_choose_alike_whatever_the_order_of_the_nodes():
    datacenter = nodes(20)
    auto = Auto("auto", PAPER, TRACE)
    cluster = cluster_of(datacenter.ordered(np.arange(20)[::-1].copy()), auto)
    cluster.engine()
    _, choice = resolve("auto@steady", datacenter, TRACE, PAPER, "fill-up")
    assert auto.choice is not None
    assert choice is not None
    assert auto.choice.expression == choice.expression == cluster.in_step.mix.expression
    assert auto.choice.members == choice.members


def test_decisions_name_the_word_and_the_expression():
    auto = Auto("auto", PAPER, TRACE)
    cluster = cluster_of(nodes(4), auto)
    decision = cluster.decide(pod("p", TRACE.classes[0]))
    assert decision is not None
    assert decision.policy == f"auto -> {auto.mix.expression}"
    assert decision.words().startswith("auto -> ")


def test_it_is_chosen_again_when_a_tenth_of_the_nodes_came_or_went():
    auto, seen = Auto("auto", PAPER, TRACE), Workload.of([])
    assert auto.is_due(nodes(20), seen)
    auto.take(Choice("ocs", "it is a test", "steady"), nodes(20), seen)
    assert not auto.is_due(nodes(20), seen)
    assert not auto.is_due(nodes(21), seen)
    assert auto.is_due(nodes(22), seen)
    assert auto.is_due(nodes(18), seen)
    assert not auto.is_due(nodes(19), seen)
    assert auto.is_due(nodes(20, "G3"), seen)  # as many, but other ones


def test_a_learnt_workload_is_chosen_for_after_some_pods_and_again_after_twice_as_many():
    auto, fleet = Auto("auto", PAPER, None), nodes(20)

    def seen(count: int) -> Workload:
        return Workload.from_counts([(TRACE.classes[0], count)])

    first = auto.found_for(fleet, seen(3))
    assert (first.expression, "fewer than 100 pods" in first.because) == ("fgd", True)
    auto.take(first, fleet, seen(3))
    assert not auto.is_due(fleet, seen(LEAST_PODS - 1))
    assert auto.is_due(fleet, seen(LEAST_PODS))
    auto.take(auto.found_for(fleet, seen(LEAST_PODS)), fleet, seen(LEAST_PODS))
    assert not auto.is_due(fleet, seen(2 * LEAST_PODS - 1))
    assert auto.is_due(fleet, seen(2 * LEAST_PODS))


def test_the_service_says_what_was_chosen_and_chooses_again_for_another_fleet(monkeypatch):
    answers = [Choice("ocs", "it is a test", "steady"), Choice("pwr", "the fleet is another", "steady")]
    asked: Counter[int] = Counter()

    def made(self: Auto, datacenter: Datacenter, seen: Workload) -> Choice:
        asked[len(datacenter)] += 1
        return answers[min(asked.total(), 2) - 1]

    monkeypatch.setattr(live.Auto, "found_for", made)

    async def test() -> None:
        client = InMemory()
        client.add_node("a")
        service = await started(client, policy="auto")
        assert service.state()["policy"] == "auto"
        service.view.cluster.engine()
        assert service.state()["auto"] == "auto -> ocs, because it is a test"
        await service.choose_again()
        assert asked == {1: 1}  # the fleet is the same
        client.add_node("b")
        service.replace_nodes((await client.list_nodes())[0])
        await service.choose_again()
        assert service.state()["auto"] == "auto -> pwr, because the fleet is another"
        engine = service.view.cluster.engine()
        assert engine is not None
        assert engine.mix.expression == "pwr"

    asyncio.run(test())


@pytest.mark.parametrize("policy", ["auto", "auto@fill-up", "AUTO"])
def test_the_configuration_takes_auto(policy):
    assert problems(Config(policy=policy)) == []


def test_the_configuration_refuses_auto_in_a_mix():
    (line,) = problems(Config(policy="auto:0.5+fgd:0.5"))
    assert line.startswith("policy: policy expression 'auto:0.5+fgd:0.5': 'auto' chooses")


def test_another_policy_has_no_choice():
    assert Config().auto() is None


def test_all_members_are_compiled_ahead():
    compile_kernels(Config(policy="auto").cluster())

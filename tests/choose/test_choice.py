"""Policy `auto`: which expression it stands for, that it is the same everywhere, and how it is kept."""

from __future__ import annotations

import json

import numpy as np
import pytest

import wattpack as wp
from wattpack.choose import choice as choices
from wattpack.choose import search as searching
from wattpack.choose.choice import choice_digest, choose, resolve
from wattpack.choose.kept import kept_folder, read_kept, write_kept
from wattpack.choose.search import GRAR_LOSS, PORTFOLIO, search
from wattpack.choose.small_fleet import counted, in_order, scaled
from wattpack.choose.trial import CHECK, FIRST_SEED, Measured
from wattpack.datasets import alibaba2023
from wattpack.engine.runs.arrivals import simulate
from wattpack.errors import UserError
from wattpack.experiments.spec.axes import FIRST_SEED as FIRST_RUN_SEED
from wattpack.experiments.spec.axes import MAX_SEEDS
from wattpack.jit import cache
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PAPER, PROFILES
from wattpack.model.target import Target
from wattpack.model.tasks import TaskClass, Workload
from wattpack.policies import register
from wattpack.policies.expression import canonical, is_auto, parse
from wattpack.policies.fgd import FGD

pytestmark = pytest.mark.usefixtures("own_choices")

TRACE = Workload.from_counts(
    [
        (TaskClass(4000, 8192, 1, 500), 40),
        (TaskClass(8000, 16384, 1, 1000), 40),
        (TaskClass(16000, 32768, 2, 1000), 10),
        (TaskClass(4000, 8192, 0, 0), 20),
    ],
    name="made",
)


def fleet(t4: int = 12, g3: int = 12) -> Datacenter:
    gpus, models = [2] * t4 + [4] * g3, ["T4"] * t4 + ["G3"] * g3
    names = [f"n{number}" for number in range(t4 + g3)]
    return Datacenter.of(names, [64000] * (t4 + g3), [262144] * (t4 + g3), gpus, models)


def measured(grar: float, watts: float) -> Measured:
    return Measured(np.array([grar, grar]), np.array([watts, watts]))


def chosen_of(monkeypatch, found: dict[str, tuple[float, float]]) -> str:
    """The choice where each member has this GRAR and these watts per GPU."""
    monkeypatch.setattr(
        searching.Trial, "run", lambda self, mix, seed, part: measured(*{"kube": (0.9, 300.0), **found}[mix.expression])
    )
    return search(fleet(), TRACE, PAPER, "fill-up", list(found)).expression


def test_the_member_with_the_fewest_watts_is_chosen_among_those_that_serve_as_much_as_fgd(monkeypatch):
    a_little_less = 0.99 - GRAR_LOSS["fill-up"] / 2
    found = {"fgd": (0.99, 250.0), "ocs": (a_little_less, 210.0), "pwr": (0.9, 190.0), "epsilon": (0.99, 220.0)}
    assert chosen_of(monkeypatch, found) == "ocs"  # pwr serves less
    assert chosen_of(monkeypatch, found | {"ocs": (0.98, 210.0)}) == "epsilon"
    assert chosen_of(monkeypatch, {"fgd": (0.99, 250.0), "ocs": (0.98, 210.0)}) == "fgd"


def test_a_member_that_serves_less_on_the_larger_fleet_and_other_seeds_is_passed_over(monkeypatch):
    def run(self, mix, seed, part):
        lucky = mix.expression == "ocs" and seed < CHECK["fill-up"].first_seed
        watts = {"fgd": 250.0, "pwrload": 243.0, "ocs": 240.0, "random": 244.0, "kube": 300.0}
        return measured(1.0 if lucky or mix.expression != "ocs" else 0.99, watts[mix.expression])

    monkeypatch.setattr(searching.Trial, "run", run)
    found = search(fleet(), TRACE, PAPER, "fill-up", ("fgd", "pwrload", "ocs", "random"))
    assert found.expression == "pwrload"
    assert [member.grar_below for member in found.members if member.expression == "ocs"] == [pytest.approx(-0.01)]


def test_a_member_that_loses_much_on_few_seeds_is_passed_over(monkeypatch):
    """In the mean it is 0.0008 below FGD, which is allowed; but four other seeds may well find 0.002 less."""

    def run(self, mix, seed, part):
        watts = {"fgd": 250.0, "ocs": 240.0, "epsilon": 245.0, "kube": 300.0}
        unlucky = mix.expression == "ocs" and seed >= CHECK["fill-up"].first_seed and seed % 12 == 0
        return measured(0.99 if unlucky else 1.0, watts[mix.expression])

    monkeypatch.setattr(searching.Trial, "run", run)
    found = search(fleet(), TRACE, PAPER, "fill-up", ("fgd", "ocs", "epsilon"))
    assert found.expression == "epsilon"
    (passed_over,) = (member for member in found.members if member.expression == "ocs")
    assert passed_over.grar_below > -GRAR_LOSS["fill-up"]
    assert passed_over.unlucky_below < -searching.UNLUCKY_LOSS["fill-up"]


def test_ties_go_to_the_first(monkeypatch):
    assert chosen_of(monkeypatch, {"fgd": (1.0, 250.0), "epsilon": (1.0, 220.0), "ocs": (1.0, 220.0)}) == "epsilon"


def test_a_knob_that_changes_nothing_is_not_tried_further():
    found = search(fleet(), TRACE, PAPER, "fill-up", ("fgd", "ocs", "ocs@1", "ocs@0.1"))
    assert [member.expression for member in found.members] == ["fgd", "ocs"]  # no task of TRACE names a model


def test_a_knob_above_1_is_tried_even_where_no_task_names_a_model():
    found = search(fleet(), TRACE, PAPER, "fill-up", ("fgd", "ocs", "ocs@1", "ocs@4"))
    assert [member.expression for member in found.members] == ["fgd", "ocs", "ocs@4"]


def test_the_last_checks_are_of_members_that_lost_nothing_in_the_trial():
    losing = [searching.Member(str(place), -0.002, 200.0 + place, 2) for place in range(9)]
    safe = [searching.Member(f"safe {place}", 0.0, 210.0 + place, 2) for place in range(4)]
    order = [member.expression for member in searching._checks([*losing, *safe], "fill-up")]
    assert order == ["0", "1", "2", "3", "4", "safe 0", "safe 1", "safe 2"]
    assert [member.expression for member in searching._checks(losing[:5], "fill-up")] == ["0", "1", "2", "3", "4"]


def test_checks_that_are_left_go_to_members_that_lost_more_the_least_first():
    near, far = searching.Member("near", -0.004, 210.0, 2), searching.Member("far", -0.009, 200.0, 2)
    farther, hopeless = searching.Member("farther", -0.02, 190.0, 2), searching.Member("hopeless", -0.03, 180.0, 2)
    order = [member.expression for member in searching._checks([hopeless, farther, far, near], "fill-up")]
    assert order == ["near", "far", "farther"]


def test_of_two_members_that_draw_nearly_the_same_the_one_that_serves_more_is_chosen(monkeypatch):
    """A GRAR 0.0008 lower counts as 0.24 % more watts: 210 as 210.5."""
    a_little_less = 0.99 - 0.0008
    found = {"fgd": (0.99, 250.0), "ocs": (a_little_less, 210.0), "epsilon": (0.99, 210.4)}
    assert chosen_of(monkeypatch, found) == "epsilon"
    assert chosen_of(monkeypatch, found | {"epsilon": (0.99, 210.6)}) == "ocs"


def test_the_reason_says_where_a_little_more_is_drawn_to_serve_more():
    fgd, less = searching.Member("fgd", 0.0, 250.0, 2), searching.Member("ocs", -0.0008, 210.0, 2)
    safer = searching.Member("epsilon", 0.0, 210.42, 2)
    said = choices._because(searching.Found("epsilon", (fgd, less, safer)), "fill-up")
    assert "3 serve as much as FGD and it draws 0.2 % more than the least of them, to serve more: 210 W" in said
    assert "it draws least: 210 W" in choices._because(searching.Found("ocs", (fgd, less, safer)), "fill-up")


def test_the_reason_says_the_saving_against_a_stock_kube_scheduler_first_then_fgd():
    fgd, less = searching.Member("fgd", 0.0, 250.0, 2), searching.Member("ocs", 0.0, 210.0, 2)
    said = choices._because(searching.Found("ocs", (fgd, less), 280.0), "fill-up")
    assert said.endswith("it draws least: 210 W per GPU served, kube 280 (25.0 % less), FGD 250 (16.0 % less)")
    said = choices._because(searching.Found("fgd", (fgd,), 200.0), "fill-up")
    assert said.endswith("none that serves as much draws less (250 W per GPU served, kube 200 (25.0 % more))")


def test_the_stock_scheduler_is_measured_on_the_runs_of_the_trial_and_never_chosen():
    found = search(fleet(), TRACE, PAPER, "fill-up", ("fgd", "ocs"))
    assert found.stock_w > 0
    assert [member.expression for member in found.members] == ["fgd", "ocs"]


def test_the_reason_names_a_member_that_serves_a_little_less_and_draws_far_less():
    fgd, far = searching.Member("fgd", 0.0, 250.0, 2), searching.Member("pwr", -0.02, 150.0, 2)
    near = searching.Member("ocs@2", -0.002, 180.0, 9, -0.0047)
    said = choices._because(searching.Found("fgd", (fgd, near, far)), "fill-up")
    assert said.endswith(
        "; ocs@2 draws 28.0 % less than fgd, but serves up to 0.5 % less of the GPU asked for than FGD"
    )
    hardly = searching.Member("ocs@2", -0.002, 246.0, 9, -0.0047)
    assert ";" not in choices._because(searching.Found("fgd", (fgd, hardly, far)), "fill-up")
    assert ";" not in choices._because(searching.Found("fgd", (fgd, far)), "fill-up")


@pytest.mark.parametrize(
    ("nodes", "task", "why"),
    [
        (Datacenter.of(["n"], [64000], [262144], [0], [""]), TaskClass(4000, 8192, 1, 500), "no node has a GPU"),
        (fleet(), TaskClass(4000, 8192, 0, 0), "no task asks for a GPU"),
        (fleet(), TaskClass(4000, 8192, 8, 1000), "no task that asks for a GPU fits any node"),
        (fleet(), TaskClass(4000, 8192, 1, 500, "A10"), "no task that asks for a GPU fits any node"),
    ],
)
def test_where_no_policy_serves_a_gpu_the_reason_says_why(nodes, task, why):
    choice = choose(nodes, Workload.from_counts([(task, 3)], name="made"), PAPER, "fill-up")
    assert choice.text == f"auto -> fgd, because {why}: nothing to choose by"


def test_the_choice_is_the_same_in_any_order_of_nodes_and_tasks():
    own, order = fleet(), np.random.default_rng(1).permutation(24)
    again = Workload(TRACE.classes[::-1], (3 - TRACE.sequence[::-1]).astype(np.int32), None, "other")
    assert choice_digest(own, TRACE, PAPER, "steady") == choice_digest(own.ordered(order), again, PAPER, "steady")
    assert search(own, TRACE, PAPER, "steady") == search(own.ordered(order), again, PAPER, "steady")


def test_another_fleet_workload_profile_or_regime_is_another_choice():
    other = Workload.from_counts([(TaskClass(4000, 8192, 1, 500), 41)], name="made")
    digests = {
        choice_digest(fleet(), TRACE, PAPER, "fill-up"),
        choice_digest(fleet(t4=13), TRACE, PAPER, "fill-up"),
        choice_digest(fleet(), other, PAPER, "fill-up"),
        choice_digest(fleet(), TRACE, PROFILES["linear"], "fill-up"),
        choice_digest(fleet(), TRACE, PAPER, "steady"),
    }
    assert len(digests) == 5


def test_a_choice_is_kept_and_found_again(monkeypatch):
    first = choose(fleet(), TRACE, PAPER, "fill-up")
    assert len(list(kept_folder().glob("*.json"))) == 1
    choices._remembered.clear()
    monkeypatch.setattr(choices, "search", None)  # would be called
    assert choose(fleet(), TRACE, PAPER, "fill-up") == first


def test_a_kept_choice_that_was_cut_or_changed_is_made_again():
    first = choose(fleet(), TRACE, PAPER, "fill-up")
    (file,) = kept_folder().glob("*.json")
    for text in ("", "{", "[]", file.read_text().replace("fgd", "bestfit"), json.dumps({"content": {}, "crc32": 1})):
        file.write_text(text)
        choices._remembered.clear()
        assert choose(fleet(), TRACE, PAPER, "fill-up") == first


def test_a_kept_choice_outside_the_portfolio_is_not_used():
    name = choice_digest(fleet(), TRACE, PAPER, "fill-up")
    write_kept(name, {"expression": "random", "members": []})
    assert choose(fleet(), TRACE, PAPER, "fill-up").expression in PORTFOLIO


def test_a_cache_folder_that_others_could_write_to_is_not_used(tmp_path):
    folder = tmp_path / "wattpack" / "choices"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    write_kept("0" * 32, {"expression": "ocs"})
    assert list(folder.iterdir()) == []
    assert read_kept("0" * 32) is None


def test_without_a_cache_folder_it_is_chosen_all_the_same(monkeypatch):
    monkeypatch.setattr(cache, "FOLDER", None)
    assert choose(fleet(), TRACE, PAPER, "fill-up").expression in PORTFOLIO


def test_a_large_fleet_is_scaled_down_in_proportion():
    large = in_order(fleet(t4=3000, g3=7000))
    small = scaled(large, counted(TRACE), 1000)
    assert len(small) < 500
    assert (small.gpus == 2).mean() == pytest.approx(0.3, abs=0.01)
    tasks = small.gpu_milli / TRACE.gpu_request_milli().mean()
    assert 900 < tasks <= 1000
    assert len(scaled(in_order(fleet()), counted(TRACE), 1000)) == 24  # a small one stays as it is


def test_the_seeds_of_a_choice_are_none_that_runs_use():
    assert FIRST_SEED > FIRST_RUN_SEED + MAX_SEEDS


def test_auto_resolves_to_the_choice_and_says_why():
    mix, choice = resolve(" Auto ", fleet(), TRACE, PAPER, "fill-up")
    assert choice is not None
    assert choice.text.startswith(f"auto -> {mix.expression}, because of ")
    assert "expressions tried in a fill-up" in choice.text
    assert resolve("pwr:.1+fgd:.9", fleet(), TRACE, PAPER, "fill-up")[1] is None


def test_a_run_of_auto_in_python_says_what_was_chosen():
    mix, choice = resolve("auto", fleet(), TRACE, PAPER, "fill-up")
    assert choice is not None
    run = wp.simulate(fleet(), TRACE, "auto")
    assert run.chosen == choice.text
    assert repr(run).endswith(f"; {choice.text}")
    assert wp.simulate(fleet(), TRACE, mix.expression).chosen == ""
    times = [0.0] * len(TRACE)
    timed = wp.simulate(fleet(), TRACE, "auto", arrival_s=times, duration_s=[60.0] * len(TRACE), queue="fifo")
    _, steady = resolve("auto", fleet(), TRACE, PAPER, "steady")
    assert steady is not None
    assert timed.chosen == steady.text
    assert repr(timed).endswith(f"; {timed.chosen}")


def test_auto_may_name_the_regime_itself():
    _, choice = resolve("auto@steady", fleet(), TRACE, PAPER, "fill-up")
    assert choice is not None
    assert choice.regime == "steady"
    assert choice.text.startswith("auto@steady -> ")


@pytest.mark.parametrize("trace", [Workload.of([]), Workload.of([TaskClass(1000, 1024, 0, 0)])])
def test_without_demand_for_gpus_it_is_fgd_and_says_why(trace):
    choice = choose(fleet(), trace, PAPER, "steady")
    assert (choice.expression, "no task asks for a GPU" in choice.because) == ("fgd", True)


@pytest.mark.parametrize("text", ["auto+fgd", "fgd:0.5+auto:0.5", "auto:0.5", "auto@", "auto@0.4", "auto@later"])
def test_auto_in_a_mix_or_with_a_number_is_one_line(text):
    with pytest.raises(UserError, match="stands alone, expected one of auto, auto@fill-up, auto@steady") as caught:
        canonical(text)
    assert "\n" not in str(caught.value)


def test_auto_is_no_name_for_a_policy_of_ones_own():
    from dataclasses import replace

    with pytest.raises(UserError, match="taken"):
        register(replace(FGD, name="auto"))


def test_canonical_has_one_spelling_for_equal_expressions():
    assert [canonical(text) for text in (" AUTO", "PWR:.1 + FGD:.90")] == ["auto", "pwr:0.1+fgd:0.9"]
    assert is_auto("auto@fill-up")
    assert not is_auto("autos")


def test_every_member_of_the_portfolio_is_a_canonical_expression():
    assert [parse(text).expression for text in PORTFOLIO] == list(PORTFOLIO)


def test_on_the_built_in_datacenter_auto_serves_as_much_as_fgd_for_fewer_watts():
    datacenter, trace = alibaba2023.datacenter(), alibaba2023.trace("default")
    choice = choose(datacenter, trace, PAPER, "fill-up")
    by_name = {member.expression: member for member in choice.members}
    best, fgd = by_name[choice.expression], by_name["fgd"]
    assert best.grar_below >= -0.001
    assert best.w_per_gpu < 0.9 * fgd.w_per_gpu


def test_the_decisions_are_those_of_the_expression_chosen():
    from wattpack import simulate as run

    own = fleet()
    _, choice = resolve("auto", own, TRACE, PAPER, "fill-up")
    assert choice is not None
    auto, plain = run(own, TRACE, "auto"), simulate(own, TRACE, parse(choice.expression), Target.of(TRACE))
    assert (auto.node == plain.node).all()
    assert (auto.gpus == plain.gpus).all()


def test_python_makes_the_choice_alone():
    from wattpack import choose_policy

    assert choose_policy(fleet(), TRACE, steady=True) == choose(fleet(), TRACE, PAPER, "steady")
    assert choose_policy(fleet(), TRACE, profile="linear") == choose(fleet(), TRACE, PROFILES["linear"], "fill-up")


def test_a_trace_of_very_many_classes_is_sampled_in_proportion():
    tasks = [TaskClass(1000 + i, 1024, 1, 1 + i % 999) for i in range(3000)] + [TaskClass(1000, 1024, 0, 0)] * 3000
    small = counted(Workload.of(tasks))
    assert len(small.classes) <= 150
    assert len(small) == 150
    assert sum(small.classes[k].num_gpu == 0 for k in small.sequence.tolist()) == 75
    assert all(task.gpu_milli % 50 == 0 for task in small.classes)


def test_auto_with_a_learnt_target_is_one_line():
    from wattpack import simulate as run

    with pytest.raises(UserError, match="known workload"):
        run(fleet(), TRACE, "auto", target="learnt")


def test_pools_and_base_power_of_nodes_are_part_of_the_choice():
    from dataclasses import replace

    from wattpack.model.pools import OPEN, Pool

    own, order = fleet(), np.arange(24)[::-1].copy()
    pooled = own.in_pools([OPEN] * 12 + [Pool("slow")] * 12)
    based = replace(own, own_base_mw=np.full(24, 90_000))
    digests = {choice_digest(one, TRACE, PAPER, "fill-up") for one in (own, pooled, based)}
    assert len(digests) == 3
    for one in (pooled, based):
        again = choice_digest(one.ordered(order), TRACE, PAPER, "fill-up")
        assert again == choice_digest(one, TRACE, PAPER, "fill-up")


def test_members_with_a_plan_of_the_fill_up_are_tried_in_fill_ups_only(monkeypatch):
    monkeypatch.setattr(
        searching.Trial, "run", lambda self, mix, seed, part: measured(0.99, 250.0 + len(mix.expression))
    )
    tried = {regime: search(fleet(), TRACE, PAPER, regime).members for regime in ("fill-up", "steady")}
    assert {member.expression for member in tried["fill-up"]} - {member.expression for member in tried["steady"]} == {
        "ocsplan",
        "ocsplan@1",
        "ocsplan@2",
        "ocsplan@4",
        "ocsplan@8",
    }

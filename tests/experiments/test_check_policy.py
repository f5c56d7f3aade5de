"""`check_policy` finds nothing wrong with the registered policies and says in words what is wrong with bad ones."""

import math
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wattpack as wp
from wattpack.jit import kernel
from wattpack.model.policy import AFTER_CHANGE, ARRIVAL
from wattpack.policies import BUILT_IN, REGISTRY


@wp.kernel
def good(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    terms[0] = -node.gpu_total
    return wp.ANY_GPU


@wp.kernel
def divides_by_zero(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    terms[0] = 1 / (node.gpu_free - node.gpu_free)
    return wp.ANY_GPU


@wp.kernel
def misspells(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    terms[0] = node.cpu_free
    return wp.ANY_GPU


@wp.kernel
def returns_nothing(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> None:
    terms[0] = 1


@wp.kernel
def reads_memory(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    terms[0] = memory[0]  # changes with every arrival, but the score is kept until the node changes
    return wp.ANY_GPU


@wp.kernel
def counts_arrivals(event: int, node: Any, task: Any, world: Any, params: Any, memory: Any) -> None:
    if event == 0:
        memory[0] += 1


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_nothing_is_wrong_with_a_registered_policy(name: str) -> None:
    assert wp.check_policy(name) == []


def test_nothing_is_wrong_with_a_good_policy_of_ones_own() -> None:
    assert wp.check_policy(wp.Policy("good", "least GPU left", good, pick=wp.Pick.TIGHTEST)) == []


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (wp.Policy("bad", "x", divides_by_zero), "is not finite"),
        (wp.Policy("bad", "x", misspells), "no field 'cpu_free'"),
        (wp.Policy("bad", "x", returns_nothing), "returns none, expected int64"),
        (wp.Policy("bad", "x", reads_memory, remember=counts_arrivals, memory_size=1), "differ when asked again"),
        (wp.Policy("Bad Name", "x", good), "expected lower-case letters"),
        (wp.Policy("bad", "", good), "expected one line"),
        (wp.Policy("bad", "x", good, terms=2), "1 names for 2 terms"),
    ],
)
def test_a_bad_policy_is_told_what_is_wrong(policy: wp.Policy, said: str) -> None:
    (fault,) = wp.check_policy(policy)
    assert said in fault


def test_a_name_that_is_not_registered_is_said() -> None:
    assert "not registered" in wp.check_policy("nosuch")[0]


def test_a_built_in_policy_cannot_be_replaced() -> None:
    with pytest.raises(wp.UserError, match="taken by a built-in policy"):
        wp.register(wp.Policy("fgd", "x", good))


@pytest.mark.compiled
def test_a_registered_policy_is_used_by_name_in_a_mix() -> None:
    wp.register(wp.Policy("leastleft", "least GPU left", good, pick=wp.Pick.TIGHTEST))
    try:
        datacenter, trace = wp.load_datacenter("alibaba2023"), wp.load_trace("default")
        alone, mixed = (wp.simulate(datacenter, trace, p, seed=1) for p in ("leastleft", "leastleft:0.2+fgd:0.8"))
        assert not np.array_equal(alone.node, mixed.node)
    finally:
        del REGISTRY["leastleft"]


# ---- what is found, one fault at a time ------------------------------------------------------------------------------

T4, MODELS = "T4", ("G2", "T4")


def scored(write: str, gpu: str = "wp.ANY_GPU") -> Any:
    """A kernel with this body; typed in, so there is no source to look at."""
    scope: dict[str, Any] = {"wp": wp, "np": np, "math": math, "T4": T4}
    exec(f"def score(node, task, world, params, memory, terms):\n    {write}\n    return {gpu}\n", scope)
    return kernel(scope["score"])


def policy(score: Any, **choices: Any) -> wp.Policy:
    return wp.Policy("bad", "x", score, **choices)


@wp.kernel
def compares_model(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    terms[0] = 0
    if task.num_gpu > 100 and node.model == "T4":  # never comes to it
        terms[0] = 1
    return wp.ANY_GPU


@wp.kernel
def compares_models(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    terms[0] = 1 if node.model == T4 else 0
    return wp.ANY_GPU


@wp.kernel
def draws(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    terms[0] = 1 if np.random.rand() < 1e-6 else 0
    return wp.ANY_GPU


@wp.kernel
def reads_memory_of_tasks(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    terms[0] = 1 if task.memory_mib > 40_000 else 0
    return wp.ANY_GPU


def plain(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    terms[0] = 1
    return wp.ANY_GPU


@wp.kernel
def calls_plain(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    return plain(node, task, world, params, memory, terms)


@wp.kernel
def reads_notes(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    terms[0] = node.notes[0]
    return wp.ANY_GPU


@wp.kernel
def writes_notes(event: int, node: Any, task: Any, world: Any, params: Any, memory: Any) -> None:
    if event == AFTER_CHANGE:
        node.notes[0] = node.gpu_total


@wp.kernel
def writes_notes_late(event: int, node: Any, task: Any, world: Any, params: Any, memory: Any) -> None:
    if event == ARRIVAL:
        node.notes[0] += 1


@wp.kernel
def writes_beyond_memory(event: int, node: Any, task: Any, world: Any, params: Any, memory: Any) -> None:
    memory[3] = 1.0


@wp.kernel
def changes_the_node(event: int, node: Any, task: Any, world: Any, params: Any, memory: Any) -> None:
    node.tasks += 1


@wp.kernel
def two_terms(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    terms[0] = node.gpu_total
    terms[1] = node.cpu_left
    return wp.ANY_GPU


@wp.kernel
def two_prices(task: Any, world: Any, params: Any, memory: Any, prices: Any) -> None:
    prices[0] = prices[1] = 1.0


@wp.kernel
def one_price(task: Any, world: Any, params: Any, memory: Any, prices: Any) -> None:
    prices[0] = 1.0
    prices[1] = 0.0


@wp.kernel
def bad_price(task: Any, world: Any, params: Any, memory: Any, prices: Any) -> None:
    prices[0] = np.nan


TWO: dict[str, Any] = {"terms": 2, "term_names": ("a", "b"), "weigh": two_prices}

FOUND: list[tuple[Callable[[], wp.Policy], str]] = [
    # not finite, not written, too large
    (lambda: policy(scored("terms[0] = np.nan if node.tasks > 2 else 0")), "is not finite (nan)"),
    (lambda: policy(scored("terms[0] = node.gpu_total / (1000.0 * node.gpu_free)")), "is not finite ("),
    (lambda: policy(scored("terms[0] = 1e200")), "is not finite (1e+200)"),
    (lambda: policy(good, weigh=bad_price), "price of term 0 (score) is not finite"),
    (lambda: policy(scored("pass")), "write a number into every term"),
    (lambda: policy(scored("terms[0] += 1")), "depend on what stood in terms before"),
    # the GPU
    (lambda: policy(scored("terms[0] = 0", "99")), "returns GPU 99, expected 0 to"),
    (lambda: policy(scored("terms[0] = 0", "-2")), "returns GPU -2"),
    (lambda: policy(scored("terms[0] = 0", "0")), "does not hold the task"),
    (lambda: policy(scored("terms[0] = 0", "node.gpus")), "returns GPU"),
    # beyond an array
    (lambda: policy(scored("terms[0] = terms[1] = 0")), "score goes beyond an array: index 1 is out of bounds"),
    (lambda: policy(scored("terms[0] = 0; terms[10**9] = 0")), "score goes beyond an array"),
    (lambda: policy(scored("terms[0] = params[0]")), "score goes beyond an array"),
    (lambda: policy(scored("terms[0] = node.notes[8]"), notes=True, remember=writes_notes, memory_size=1), "beyond"),
    (lambda: policy(good, remember=writes_beyond_memory, memory_size=1), "remember goes beyond an array: index 3"),
    (lambda: policy(scored("terms[0] = 0; memory[0] = 1"), memory_size=1), "score writes memory"),
    (lambda: policy(scored("terms[0] = 0; node.tasks = 3")), "score changes the node"),
    (lambda: policy(good, remember=changes_the_node, memory_size=1), "remember changes a node"),
    # texts, kernels
    (lambda: policy(compares_model), "node.model is a number"),
    (lambda: policy(compares_models), "node.model is a number"),
    (lambda: policy(scored("terms[0] = 1 if node.model == 'T4' else 0")), "node.model is a number"),
    (lambda: policy(plain), "score is not a kernel: write @wp.kernel above `def plain`"),
    (lambda: policy(calls_plain), "score calls plain, which is not a kernel"),
    (lambda: policy(good, weigh=plain), "weigh is not a kernel"),
    # chance and the clock
    (lambda: policy(draws), "score uses np.random.rand: it must not depend on chance or on the clock"),
    (lambda: policy(scored("terms[0] = np.random.rand()")), "chance"),
    (lambda: policy(good, prepare=lambda *_: [random.random()]), "prepare gives other params the second time"),
    (lambda: policy(good, prepare=lambda *_: [time.perf_counter()]), "prepare gives other params the second time"),
    (lambda: policy(scored("terms[0] = world.tally[0, 0]")), "depend on earlier questions"),
    # what the policy says of itself
    (lambda: policy(reads_memory_of_tasks, amounts_only=True), "amounts_only=True, but score reads task.memory_mib"),
    (lambda: policy(scored("terms[0] = task.gpu_models & 7"), amounts_only=True), "score reads task.gpu_models"),
    (lambda: policy(reads_notes), "score reads node.notes, but notes=True is missing"),
    (lambda: policy(good, remember=writes_notes, memory_size=1), "remember writes node.notes, but notes=True"),
    (lambda: policy(good, remember=counts_arrivals, memory_size=1, notes=True), "writes no node.notes"),
    (lambda: policy(good, notes=True), "there is no remember"),
    (lambda: policy(good, remember=counts_arrivals), "remember is never called: memory_size is 0"),
    (lambda: policy(reads_notes, remember=writes_notes_late, memory_size=1, notes=True), "another event than AFTER"),
    (lambda: policy(two_terms, **TWO, used_terms=lambda params: [0]), "which used_terms does not list"),
    (lambda: policy(good, **TWO, used_terms=lambda params: [0]), "weigh gives term 1 (b) a price"),
    (lambda: policy(good, **{**TWO, "weigh": one_price}), "write a number into every term, here 1 (b)"),
    (lambda: policy(two_terms, **TWO, used_terms=lambda params: [0, 2]), "used_terms gives [0, 2]"),
    (lambda: policy(two_terms, terms=2, term_names=("a", "b")), "weigh writes no price for term 1 (b)"),
    (lambda: policy(good, prepare=lambda *_: [[1.0]]), "prepare gives 2 dimensions"),
    (lambda: policy(good, prepare=lambda *_: 1 / 0), "ZeroDivisionError: division by zero"),
]


@pytest.mark.compiled
@pytest.mark.parametrize(("bad", "said"), FOUND, ids=[said for _, said in FOUND])
def test_one_fault_is_found_and_told_in_one_line(bad: Callable[[], wp.Policy], said: str) -> None:
    (fault,) = wp.check_policy(bad())
    assert said in fault
    assert "\n" not in fault


@pytest.mark.compiled
def test_a_prepare_that_ends_the_program_is_a_fault() -> None:
    def leaves(*_: Any) -> Any:
        raise SystemExit(0)

    assert wp.check_policy(policy(good, prepare=leaves)) == [
        "prepare or used_terms: policy bad: prepare calls sys.exit"
    ]


@pytest.mark.compiled
def test_a_policy_that_is_no_kernel_is_told_without_the_check_too() -> None:
    wp.register(wp.Policy("nokernel", "x", plain))
    try:
        with pytest.raises(wp.UserError, match="policy nokernel: score is not a kernel"):
            wp.simulate(wp.load_datacenter("alibaba2023"), wp.load_trace("default"), "nokernel", seed=1)
    finally:
        del REGISTRY["nokernel"]

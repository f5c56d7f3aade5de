"""`check_policy` finds nothing wrong with the registered policies and says in words what is wrong with bad ones."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wattpack as wp
from wattpack.policies import BUILT_IN, REGISTRY

GUIDE = (Path(__file__).parents[2] / "docs" / "guide" / "write-a-policy.md").read_text(encoding="utf-8")


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


@pytest.mark.compiled
def test_the_guides_example_runs(tmp_path: Path) -> None:
    policy, use = re.findall(r"```python\n(.*?)```", GUIDE, flags=re.DOTALL)[:2]
    code = policy + use.replace("seeds=3", "seeds=1")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines()[0] == "[]"
    assert (tmp_path / "out" / "busiest" / "summary.csv").is_file()

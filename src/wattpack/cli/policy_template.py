"""The files that `wattpack new-policy` writes: a working policy, with further options in comments, and its test."""

from __future__ import annotations

POLICY = '''"""NAME, a placement policy for wattpack. Say here what it prefers, and why.

    wattpack compare --plugin NAME.py --policy NAME --seeds 1      # checks it, then runs it beside FGD
    wattpack compare --plugin NAME.py --policy NAME:0.2+fgd:0.8    # mixed with another policy
    python -m pytest test_NAME.py                                  # the test beside this file
"""

import wattpack as wp


@wp.kernel  # compiled: plain loops over numbers, no lists, no texts, no chance
def score(node, task, world, params, memory, terms):
    """How good `node` is for `task`: higher is better. Only nodes that hold the task are asked about.

    node    cpu_left, memory_left, gpu_left[g] (milli), gpu_total, gpu_free, gpus, model (a number), tasks, ...
    task    cpu_milli, memory_mib, num_gpu, gpu_milli, kind (0: a part of a GPU, s: s whole GPUs, -1: no GPU)
    world   the target workload and tables of power: see wattpack/model/power.py and fragmentation.py
    params  what `prepare` returned; empty here
    memory  not to be read here: a score is kept until its node changes
    terms   the answer: terms[0], a finite number
    """
    terms[0] = 100 - node.gpu_free  # nodes with few free GPUs first; of equal scores the first node wins
    return wp.ANY_GPU  # no wish which GPU a sharing task gets; with Pick.OWN return the number of one that holds it


# Numbers that are known when a run starts, such as the place of a model in datacenter.models (node.model is that
# place, not a text), go into params. Give the policy `prepare=prepare` and read params[0] in `score`.
#
# def prepare(datacenter, target, profile):
#     return [datacenter.models.index("T4") if "T4" in datacenter.models else -1]

# A policy that weighs its terms by the state of the whole datacenter keeps numbers in `memory`. Give the policy
# `terms=2, term_names=("first", "second"), weigh=weigh, remember=remember, memory_size=1`.
#
# from wattpack.model.policy import AFTER_CHANGE, BEFORE_CHANGE
#
# @wp.kernel
# def remember(event, node, task, world, params, memory):  # memory[0]: GPU left in the datacenter, milli
#     if event == BEFORE_CHANGE:
#         memory[0] -= node.gpu_total
#     elif event == AFTER_CHANGE:
#         memory[0] += node.gpu_total
#
# @wp.kernel
# def weigh(task, world, params, memory, prices):  # score of a node = prices[0] * terms[0] + prices[1] * terms[1]
#     prices[0] = 1.0
#     prices[1] = memory[0] / 1000

# A knob, as in `NAME@0.5`: `with_knob=with_knob` takes the number and returns a policy of that name.
#
# def with_knob(value):
#     return wp.Policy(f"NAME@{value:g}", "...", score, prepare=lambda datacenter, target, profile: [value])

wp.register(
    wp.Policy(
        "NAME",
        "fewest free GPUs",  # one line for `wattpack policies`
        score,
        pick=wp.Pick.TIGHTEST,  # the GPU of a sharing task: TIGHTEST (least left), RANDOM, or OWN (as `score` says)
        normalise=wp.Normalise.NONE,  # MIN_MAX_100 brings scores to 0..100 over the nodes of a decision, for mixes
    )
)
'''

TEST = '''"""NAME has no faults and places tasks. Run it with: python -m pytest test_NAME.py"""

import sys
from pathlib import Path

import wattpack as wp

sys.path.insert(0, str(Path(__file__).parent))
import NAME  # noqa: E402, F401  (registers the policy)


def test_nothing_is_wrong_with_NAME():
    assert wp.check_policy("NAME") == []


def test_NAME_places_tasks_beside_fgd(tmp_path):
    comparison = wp.compare(policies=["NAME"], seeds=1, out=tmp_path)
    own, fgd = comparison.results["default", "NAME"], comparison.results["default", "fgd"]
    assert comparison.outcome.failed == []
    assert own.mean("grar")[200] > 0.8  # GPU served / GPU asked for, when as much is asked for as there is: load 1.0
    print(f"saving against FGD at load 0.5: {own.saving(fgd)[100]:.1%}")  # say here what you expect of it
'''

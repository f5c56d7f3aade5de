"""Whatever a command is given, it ends with 0, 1 or 2, says at most one line of error and leaves its inputs alone.

`make test` runs the same cases every time. `make e2e` runs more, the same on every machine however fast it is, so
that a change is judged by its own faults. To look for new ones, for as long as wanted:

    WATTPACK_FUZZ_SEED=random WATTPACK_FUZZ_SECONDS=600 python -m pytest tests/fuzz -m e2e

A failure says its seed; `WATTPACK_FUZZ_SEED=N` begins with it. What is found is mended and becomes a named case in
`test_found.py`.
"""

from __future__ import annotations

import os
import random
import time
from math import inf

import pytest
from hypothesis import given, seed, settings

from fuzz.case import Case
from fuzz.commands import COMMANDS, cases
from fuzz.contract import check
from fuzz.run import Runner
from wattpack.cli import COMMANDS as ALL_COMMANDS

# Cases of a round of `make e2e`, a minute on one core in all; `make test` runs half of them. A comparison of three
# nodes takes a second, a replay 10 ms.
EXAMPLES = {
    "replay": 60,
    "explain": 40,
    "defrag": 40,
    "bound": 20,
    "derive": 40,
    "compare": 8,
    "simulate": 25,
    "run": 20,
    "tune": 6,
    "paper": 10,
    "plan": 15,
    "import": 50,
    "import-trace": 40,
    "fit": 50,
    "serve": 40,
    "ui": 25,
    "sleep status": 20,
    "sleep wake": 25,
    "sleep hold": 15,
    "calibrate gpu": 40,
    "calibrate prometheus": 40,
    "datacenters": 30,
    "traces": 15,
    "policies": 15,
    "power": 30,
    "new-policy": 40,
    "again": 10,  # on a results folder that is there
    "": 10,  # no command
}


def test_every_command_is_fuzzed() -> None:
    assert set(COMMANDS) - {"", "again"} == set(ALL_COMMANDS)


@pytest.mark.parametrize("command", sorted(EXAMPLES))
def test_a_command_keeps_its_promises_whatever_it_is_given(runner: Runner, command: str) -> None:
    @settings(max_examples=EXAMPLES[command] // 2)
    @given(cases(command))
    def whatever(case: Case) -> None:
        check(runner, case)

    whatever()


@pytest.mark.parametrize("command", ["replay", "fit", "serve", "derive"])
def test_a_process_of_its_own_keeps_them_too(runner: Runner, command: str) -> None:
    @settings(max_examples=2)
    @given(cases(command))
    def whatever(case: Case) -> None:
        check(runner, case, in_own_process=True)

    whatever()


ROUNDS = 6  # of `make e2e`, about 3,500 cases; in the last one each case has a process of its own


@pytest.mark.e2e
def test_thousands_of_random_cases_keep_them(runner: Runner, capsys: pytest.CaptureFixture[str]) -> None:
    given_seed = os.environ.get("WATTPACK_FUZZ_SEED", "1")
    first = random.SystemRandom().randrange(2**31) if given_seed == "random" else int(given_seed)
    seconds = os.environ.get("WATTPACK_FUZZ_SECONDS")
    until, rounds = (inf, ROUNDS) if seconds is None else (time.monotonic() + float(seconds), inf)
    number = 0
    ran = dict.fromkeys(EXAMPLES, 0)
    while time.monotonic() < until and number < rounds:
        with capsys.disabled():
            print(f"\nWATTPACK_FUZZ_SEED={first + number}: {sum(ran.values())} cases so far", end="", flush=True)
        for command, examples in EXAMPLES.items():
            ran[command] += explore(runner, command, examples, first + number, number % ROUNDS == ROUNDS - 1, until)
        number += 1


def explore(runner: Runner, command: str, examples: int, start: int, own: bool, until: float) -> int:
    """Random cases of one command from a seed, fewer where each has its own process. How many there were."""
    count = 0

    @seed(start)
    @settings(
        max_examples=max(1, examples // 10) if own else examples, derandomize=False, database=None, print_blob=False
    )
    @given(cases(command))
    def whatever(case: Case) -> None:
        nonlocal count
        count += 1
        check(runner, case, own)

    if time.monotonic() < until:
        try:
            whatever()
        except BaseException as fault:
            fault.add_note(f"repeat it with WATTPACK_FUZZ_SEED={start}")
            raise
    return count

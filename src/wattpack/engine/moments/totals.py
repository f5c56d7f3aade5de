"""What the datacenter draws now, and its integral over time."""

from __future__ import annotations

from wattpack.engine.core.state import ALLOCATED, BASE_POWER, CPU_POWER, GPU_POWER, State
from wattpack.engine.moments.run import (
    ALLOCATED_MILLI,
    BASE_ENERGY,
    CPU_ENERGY,
    GPU_ENERGY,
    GPU_TIME,
    INTEGRALS,
    MARKS,
    MOMENTS,
    POWER_MW,
    QUEUED,
    QUEUED_TASKS,
    RUNNING_NOW,
    RUNNING_TASKS,
    MomentRun,
)
from wattpack.jit import inner, step
from wattpack.model.power import kernel_total_power


@step
def it_power_mw(state: State) -> int:
    """Milliwatts that all nodes draw."""
    return kernel_total_power(state.totals[CPU_POWER], state.totals[GPU_POWER], state.totals[BASE_POWER])


@step
def committed_mw(state: State) -> int:
    """Milliwatts that a budget is compared with."""
    return it_power_mw(state)


@inner
def pass_time(state: State, run: MomentRun, now_s: float) -> None:
    """Integrate up to now what has held since the last moment, and fill the marks that lie between.

    A mark at this very time is filled later: its columns are what holds from the mark on.
    """
    while run.counts[MARKS] < len(run.mark_s) and run.mark_s[run.counts[MARKS]] < now_s:
        fill_mark(state, run)
    integrate(state, run, now_s)


@step
def integrate(state: State, run: MomentRun, now_s: float) -> None:
    passed_s = now_s - run.clock_s[0]
    run.integrals[GPU_ENERGY] += state.totals[GPU_POWER] * passed_s
    run.integrals[CPU_ENERGY] += state.totals[CPU_POWER] * passed_s
    run.integrals[BASE_ENERGY] += state.totals[BASE_POWER] * passed_s
    run.integrals[GPU_TIME] += state.totals[ALLOCATED] * passed_s
    run.clock_s[0] = now_s


@step
def fill_mark(state: State, run: MomentRun) -> None:
    mark = run.counts[MARKS]
    integrate(state, run, run.mark_s[mark])
    for column in range(INTEGRALS):
        run.integrals_at_mark[mark, column] = run.integrals[column]
    run.at_mark[mark, POWER_MW] = it_power_mw(state)
    run.at_mark[mark, ALLOCATED_MILLI] = state.totals[ALLOCATED]
    run.at_mark[mark, QUEUED_TASKS] = run.counts[QUEUED]
    run.at_mark[mark, RUNNING_NOW] = run.counts[RUNNING_TASKS]
    run.counts[MARKS] += 1


@step
def note_moment(state: State, run: MomentRun, now_s: float) -> None:
    """Write down the power that holds from this moment on."""
    moment = run.counts[MOMENTS]
    run.moment_s[moment], run.moment_mw[moment] = now_s, it_power_mw(state)
    run.counts[MOMENTS] += 1

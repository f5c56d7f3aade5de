"""What the datacenter draws now, and its integral over time."""

from __future__ import annotations

from wattpack.engine.core.state import ALLOCATED, BASE_POWER, COLUMNS, CPU_POWER, GPU_POWER, State
from wattpack.engine.moments.run import MomentRun
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
    now = run.now[0]
    while now.marks < len(run.marks) and run.marks[now.marks].time_s < now_s:
        fill_mark(state, run)
    integrate(state, run, now_s)


@step
def integrate(state: State, run: MomentRun, now_s: float) -> None:
    now = run.now[0]
    passed_s = now_s - now.clock_s
    for column in range(COLUMNS):
        run.integrals[column] += state.totals[column] * passed_s
    now.measured_s += passed_s
    now.clock_s = now_s


@step
def restart_integrals(run: MomentRun) -> None:
    """Measure from now on."""
    run.now[0].measured_s = 0.0
    for column in range(COLUMNS):
        run.integrals[column] = 0.0


@step
def fill_mark(state: State, run: MomentRun) -> None:
    now = run.now[0]
    mark = run.marks[now.marks]
    integrate(state, run, mark.time_s)
    for column in range(COLUMNS):
        run.integrals_at_mark[now.marks, column] = run.integrals[column]
    mark.power_mw = it_power_mw(state)
    mark.allocated_milli = state.totals[ALLOCATED]
    mark.queued = now.queued
    mark.running = now.running
    now.marks += 1


@step
def note_moment(state: State, run: MomentRun) -> None:
    """Write down the power that holds from this moment on. Python may come between two parts of a moment."""
    now = run.now[0]
    if now.moments == 0 or run.moments[now.moments - 1].time_s < now.clock_s:
        now.moments += 1
    moment = run.moments[now.moments - 1]
    moment.time_s, moment.power_mw = now.clock_s, it_power_mw(state)

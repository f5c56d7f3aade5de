"""What the datacenter draws now, and its integral over time."""

from __future__ import annotations

from wattpack.engine.core.state import ALLOCATED, BASE_POWER, COLUMNS, CPU_POWER, GPU_POWER, State
from wattpack.engine.moments.run import ASLEEP_POWER, INTEGRALS, TRANSITION_POWER, MomentRun
from wattpack.jit import inner, step
from wattpack.model.power import kernel_total_power


@step
def it_power_mw(state: State, run: MomentRun) -> int:
    """Milliwatts that all nodes draw."""
    awake_mw = kernel_total_power(
        state.totals[CPU_POWER] - run.hidden[CPU_POWER],
        state.totals[GPU_POWER] - run.hidden[GPU_POWER],
        state.totals[BASE_POWER] - run.hidden[BASE_POWER],
    )
    return awake_mw + run.sleep.now[0].asleep_mw + run.sleep.now[0].transition_mw


@step
def committed_mw(state: State, run: MomentRun) -> int:
    """Milliwatts that a budget is compared with: nodes with tasks that wait for a wake as if the tasks ran."""
    as_if_awake_mw = kernel_total_power(state.totals[CPU_POWER], state.totals[GPU_POWER], state.totals[BASE_POWER])
    return as_if_awake_mw - run.sleep.now[0].saved_mw


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
        run.integrals[column] += (state.totals[column] - run.hidden[column]) * passed_s
    sleep = run.sleep.now[0]
    run.integrals[ASLEEP_POWER] += sleep.asleep_mw * passed_s
    run.integrals[TRANSITION_POWER] += sleep.transition_mw * passed_s
    sleep.asleep_node_s += sleep.asleep_nodes * passed_s
    now.measured_s += passed_s
    now.clock_s = now_s


@step
def restart_integrals(run: MomentRun) -> None:
    """Measure from now on."""
    run.now[0].measured_s = 0.0
    for column in range(INTEGRALS):
        run.integrals[column] = 0.0


@step
def fill_mark(state: State, run: MomentRun) -> None:
    now = run.now[0]
    mark = run.marks[now.marks]
    integrate(state, run, mark.time_s)
    for column in range(INTEGRALS):
        run.integrals_at_mark[now.marks, column] = run.integrals[column]
    mark.power_mw = it_power_mw(state, run)
    mark.allocated_milli = state.totals[ALLOCATED] - run.hidden[ALLOCATED]
    mark.queued = now.queued
    mark.running = now.running
    mark.busy = run.sleep.now[0].busy_nodes
    mark.asleep = run.sleep.now[0].asleep_nodes
    mark.in_transition = run.sleep.now[0].transition_nodes
    now.marks += 1


@step
def note_moment(state: State, run: MomentRun) -> None:
    """Write down the power that holds from this moment on. Python may come between two parts of a moment."""
    now = run.now[0]
    if now.moments == 0 or run.moments[now.moments - 1].time_s < now.clock_s:
        now.moments += 1
    moment = run.moments[now.moments - 1]
    moment.time_s, moment.power_mw = now.clock_s, it_power_mw(state, run)

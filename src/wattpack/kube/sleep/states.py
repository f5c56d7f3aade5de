"""The states of a node that may sleep. `CHANGES` is the only place that says which state follows.

No clock, no network and no switch here: `keeper.py` finds out what has happened and carries out what follows.
"""

from __future__ import annotations

from enum import Enum

from wattpack.model import sleeping


class State(Enum):
    AWAKE = "awake"  # no record on the Node
    MARKED = "marked"  # tainted and cordoned; pods on their way may still arrive
    DRAINING = "draining"  # waits until no pod of a workload is left
    TURNING_OFF = "turning off"  # the switch was asked for a graceful shutdown
    ASLEEP = "asleep"  # the switch has said that the machine is off
    TURNING_ON = "turning on"  # the switch was asked for power
    WAKING = "waking"  # the machine is on; its kubelet is not Ready yet
    GIVEN_UP = "given up"  # it did not go off or did not wake in time: people are told
    LEFT_ALONE = "left alone"  # a person has changed it: nothing is done until a person says so


class Event(Enum):
    SLEEP = "the rule lets it sleep"
    SETTLED = "pods on their way have had time to arrive"
    EMPTY = "no pod of a workload is left"
    HELD = "a live look found something on it, and its machine was not ordered off"
    WAKE = "it is needed"
    OFF = "the machine is off"
    ON = "the machine is on"
    READY = "its kubelet is Ready"
    LATE = "the time allowed for it is over"
    TOUCHED = "a person has changed it"
    TOLD = "a person wants it back"


# Events that are not named change nothing: a machine that was ordered off cannot be stopped, so it wakes once it is
# asleep.
CHANGES: dict[State, dict[Event, State]] = {
    State.AWAKE: {Event.SLEEP: State.MARKED},
    State.MARKED: {
        Event.SETTLED: State.DRAINING,
        Event.WAKE: State.AWAKE,
        Event.TOLD: State.AWAKE,
        Event.TOUCHED: State.LEFT_ALONE,
    },
    State.DRAINING: {
        Event.EMPTY: State.TURNING_OFF,
        Event.HELD: State.AWAKE,
        Event.WAKE: State.AWAKE,
        Event.TOLD: State.AWAKE,
        Event.LATE: State.AWAKE,
        Event.TOUCHED: State.LEFT_ALONE,
    },
    State.TURNING_OFF: {
        Event.OFF: State.ASLEEP,
        Event.HELD: State.AWAKE,
        Event.WAKE: State.TURNING_ON,  # something is on it, and the machine has not followed the order in its time
        Event.LATE: State.GIVEN_UP,
        Event.TOUCHED: State.LEFT_ALONE,
    },
    State.ASLEEP: {
        Event.WAKE: State.TURNING_ON,
        Event.TOLD: State.TURNING_ON,
        Event.TOUCHED: State.LEFT_ALONE,
    },
    State.TURNING_ON: {
        Event.ON: State.WAKING,
        Event.READY: State.AWAKE,  # whatever the switch says, or does not say
        Event.LATE: State.GIVEN_UP,
        Event.TOUCHED: State.LEFT_ALONE,
    },
    State.WAKING: {
        Event.READY: State.AWAKE,
        Event.OFF: State.TURNING_ON,  # it was on for a moment, or its controller lied
        Event.LATE: State.GIVEN_UP,
        Event.TOUCHED: State.LEFT_ALONE,
    },
    State.GIVEN_UP: {
        Event.READY: State.AWAKE,  # it has woken after all
        Event.TOLD: State.TURNING_ON,
        Event.TOUCHED: State.LEFT_ALONE,
    },
    State.LEFT_ALONE: {Event.TOLD: State.TURNING_ON},
}

# Where pods may be placed on a node in this state: the tiers of model/sleeping.py. The others take no pods.
TIER_STATE = {
    State.AWAKE: sleeping.AWAKE,
    State.MARKED: sleeping.SHUTTING_DOWN,
    State.DRAINING: sleeping.SHUTTING_DOWN,
    State.TURNING_OFF: sleeping.SHUTTING_DOWN,
    State.ASLEEP: sleeping.ASLEEP,
    State.TURNING_ON: sleeping.WAKING,
    State.WAKING: sleeping.WAKING,
}
GOING = (State.MARKED, State.DRAINING, State.TURNING_OFF)
COMING = (State.TURNING_ON, State.WAKING)
IN_TRANSITION = (*GOING, *COMING)


def next_state(state: State, event: Event) -> State:
    return CHANGES[state].get(event, state)

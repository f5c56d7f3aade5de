"""The table of states: which state follows, and that every state has a way back to awake."""

from __future__ import annotations

import pytest

from wattpack.kube.sleep.states import CHANGES, IN_TRANSITION, TIER_STATE, Event, State, next_state
from wattpack.model.sleeping import TIERS

S, E = State, Event
# Every change, written down a second time. All others leave the state as it is.
FOLLOWS = {
    (S.AWAKE, E.SLEEP): S.MARKED,
    (S.MARKED, E.SETTLED): S.DRAINING,
    (S.MARKED, E.WAKE): S.AWAKE,
    (S.MARKED, E.TOLD): S.AWAKE,
    (S.DRAINING, E.EMPTY): S.TURNING_OFF,
    (S.DRAINING, E.HELD): S.AWAKE,
    (S.DRAINING, E.WAKE): S.AWAKE,
    (S.DRAINING, E.TOLD): S.AWAKE,
    (S.DRAINING, E.LATE): S.AWAKE,
    (S.TURNING_OFF, E.OFF): S.ASLEEP,
    (S.TURNING_OFF, E.HELD): S.AWAKE,
    (S.TURNING_OFF, E.WAKE): S.TURNING_ON,
    (S.TURNING_OFF, E.LATE): S.GIVEN_UP,
    (S.ASLEEP, E.WAKE): S.TURNING_ON,
    (S.ASLEEP, E.TOLD): S.TURNING_ON,
    (S.TURNING_ON, E.ON): S.WAKING,
    (S.TURNING_ON, E.READY): S.AWAKE,
    (S.TURNING_ON, E.LATE): S.GIVEN_UP,
    (S.WAKING, E.READY): S.AWAKE,
    (S.WAKING, E.OFF): S.TURNING_ON,
    (S.WAKING, E.LATE): S.GIVEN_UP,
    (S.GIVEN_UP, E.READY): S.AWAKE,
    (S.GIVEN_UP, E.TOLD): S.TURNING_ON,
    (S.LEFT_ALONE, E.TOLD): S.TURNING_ON,
} | {(state, E.TOUCHED): S.LEFT_ALONE for state in S if state not in (S.AWAKE, S.LEFT_ALONE)}


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("event", Event)
def test_an_event_leads_to_the_state_written_here_or_changes_nothing(state: State, event: Event) -> None:
    assert next_state(state, event) is FOLLOWS.get((state, event), state)


def test_a_person_gets_a_node_back_from_every_state() -> None:
    for state in set(State) - {S.AWAKE}:
        reached = state
        for event in (E.OFF, E.TOLD, E.ON, E.READY):
            reached = next_state(reached, event)
        assert reached is S.AWAKE, state


def test_no_state_leads_to_power_off_but_that_of_an_empty_node() -> None:
    into_off = [(state, event) for state, row in CHANGES.items() for event, to in row.items() if to is S.TURNING_OFF]
    assert into_off == [(S.DRAINING, E.EMPTY)]


def test_pods_may_be_placed_on_nodes_that_are_awake_or_will_be() -> None:
    assert set(State) - set(TIER_STATE) == {S.GIVEN_UP, S.LEFT_ALONE}
    assert {state for first, last in TIERS for state in range(first, last + 1)} == set(TIER_STATE.values())
    assert set(IN_TRANSITION) == set(TIER_STATE) - {S.AWAKE, S.ASLEEP}

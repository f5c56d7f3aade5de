"""Reservations: which state follows which event, and when the API server is asked about one."""

from __future__ import annotations

import pytest

from kube.cluster_cases import WHOLE, make_pod
from wattpack.kube.reservations import (
    TRANSITIONS,
    AlreadyReservedError,
    Event,
    NotPromisedError,
    PodSeenError,
    Reservation,
    ReservationEndedError,
    ReservationError,
    Reservations,
    State,
)

PROMISED, ASSUMED, BOUND, SEEN, ENDED = State
PROMISE, REDEEM, BREAK, ASSUME, BIND, SEE, FORGET, UNBOUND, REMOVE = Event

# Every state and every event, written down a second time, by what a scheduler needs.
FOLLOWS: list[tuple[State, Event, State | type[ReservationError]]] = [
    (PROMISED, PROMISE, AlreadyReservedError),
    (PROMISED, REDEEM, ASSUMED),
    (PROMISED, BREAK, ENDED),
    (PROMISED, ASSUME, AlreadyReservedError),
    (PROMISED, BIND, BOUND),
    (PROMISED, SEE, SEEN),
    (PROMISED, FORGET, ENDED),
    (PROMISED, UNBOUND, PROMISED),
    (PROMISED, REMOVE, ENDED),
    (ASSUMED, PROMISE, AlreadyReservedError),
    (ASSUMED, REDEEM, NotPromisedError),
    (ASSUMED, BREAK, ASSUMED),
    (BOUND, PROMISE, AlreadyReservedError),
    (BOUND, REDEEM, NotPromisedError),
    (BOUND, BREAK, BOUND),
    (SEEN, PROMISE, AlreadyReservedError),
    (SEEN, REDEEM, NotPromisedError),
    (SEEN, BREAK, SEEN),
    (ENDED, PROMISE, PROMISED),
    (ENDED, REDEEM, NotPromisedError),
    (ENDED, BREAK, ENDED),
    (ASSUMED, ASSUME, AlreadyReservedError),
    (ASSUMED, BIND, BOUND),
    (ASSUMED, SEE, SEEN),
    (ASSUMED, FORGET, ENDED),
    (ASSUMED, UNBOUND, ENDED),
    (ASSUMED, REMOVE, ENDED),
    (BOUND, ASSUME, AlreadyReservedError),
    (BOUND, BIND, BOUND),
    (BOUND, SEE, SEEN),
    (BOUND, FORGET, ENDED),
    (BOUND, UNBOUND, ENDED),
    (BOUND, REMOVE, ENDED),
    (SEEN, ASSUME, AlreadyReservedError),
    (SEEN, BIND, PodSeenError),
    (SEEN, SEE, SEEN),
    (SEEN, FORGET, SEEN),
    (SEEN, UNBOUND, PodSeenError),
    (SEEN, REMOVE, ENDED),
    (ENDED, ASSUME, ASSUMED),
    (ENDED, BIND, ReservationEndedError),
    (ENDED, SEE, SEEN),
    (ENDED, FORGET, ENDED),
    (ENDED, UNBOUND, ENDED),
    (ENDED, REMOVE, ENDED),
]
POD = make_pod("a", WHOLE)
ON_NODE = make_pod("a", WHOLE, "n0", (0,))


def in_state(state: State) -> tuple[Reservations, Reservation]:
    """The reservation of pod `a` on GPU 0 of node n0, brought to the state by events."""
    reservations = Reservations()
    if state is PROMISED:
        return reservations, reservations.promise(POD, "n0", 1, 0.0)
    reservation = reservations.assume(POD, "n0", 1, 0.0)
    if state is BOUND:
        reservations.bind(reservation)
    elif state is SEEN:
        reservations.see(ON_NODE)
    elif state is ENDED:
        reservations.end("a", FORGET)
    assert reservation.state is state
    return reservations, reservation


def happens(reservations: Reservations, reservation: Reservation, event: Event) -> State:
    """The state of pod `a` after the event, through the method that the cluster calls."""
    if event is ASSUME:
        reservations.assume(POD, "n0", 1, 0.0)
    elif event is PROMISE:
        reservations.promise(POD, "n0", 1, 0.0)
    elif event is REDEEM:
        reservations.redeem(reservation, 0.0)
    elif event is BIND:
        reservations.bind(reservation)
    elif event is SEE:
        reservations.see(ON_NODE)
    else:
        reservations.end("a", event)
    found = reservations.get("a")
    return ENDED if found is None else found.state


def test_the_table_has_every_state_and_every_event() -> None:
    assert {(state, event) for state, row in TRANSITIONS.items() for event in row} == {
        (state, event) for state in State for event in Event
    }
    assert len(FOLLOWS) == len(State) * len(Event)


@pytest.mark.parametrize(("state", "event", "following"), FOLLOWS, ids=lambda value: getattr(value, "value", ""))
def test_a_state_and_an_event_lead_to_the_next_state_or_a_named_error(
    state: State, event: Event, following: State | type[ReservationError]
) -> None:
    reservations, reservation = in_state(state)
    if isinstance(following, State):
        assert happens(reservations, reservation, event) is following
        return
    with pytest.raises(following, match=f"{event.value} of a pod whose reservation is {state.value}"):
        happens(reservations, reservation, event)
    assert reservation.state is state  # an error changes nothing


def test_a_pod_seen_on_another_gpu_has_a_new_reservation_and_the_old_one_has_ended() -> None:
    reservations, old = in_state(BOUND)
    new = reservations.see(make_pod("a", WHOLE, "n0", (1,)))
    assert (old.state, new.state, new.gpus) == (ENDED, SEEN, 0b10)
    assert list(reservations) == [new]


@pytest.mark.parametrize(
    ("state", "now_s", "due"),
    [
        (PROMISED, 1e6, []),  # its node may take long to wake
        (ASSUMED, 60.0, []),
        (ASSUMED, 60.1, ["a"]),
        (BOUND, 60.0, []),
        (BOUND, 60.1, ["a"]),
        (SEEN, 1e6, []),
        (ENDED, 1e6, []),
    ],
)
def test_the_api_server_is_asked_about_assumed_and_bound_reservations_and_no_time_ends_them(
    state: State, now_s: float, due: list[str]
) -> None:
    reservations, reservation = in_state(state)
    before = reservation.state
    assert [one.pod.uid for one in reservations.due(now_s)] == due
    assert reservation.state is before


def test_the_api_server_is_asked_again_after_a_while_and_anew_after_another_binding() -> None:
    reservations, reservation = in_state(BOUND)
    reservation.asked_s = 61.0
    assert [reservations.due(now_s) for now_s in (90.9, 91.0)] == [[], [reservation]]
    reservation.sent_s = 80.0
    assert [reservations.due(now_s) for now_s in (140.0, 140.1)] == [[], [reservation]]


def test_only_reservations_that_the_cluster_does_not_show_are_unseen() -> None:
    unseen = {state: len(in_state(state)[0].unseen()) for state in State}
    assert unseen == {PROMISED: 1, ASSUMED: 1, BOUND: 1, SEEN: 0, ENDED: 0}


def test_a_reservation_is_taken_over_in_its_state_and_never_in_the_place_of_another() -> None:
    _, reservation = in_state(BOUND)
    reservations = Reservations()
    reservations.adopt(reservation)
    assert reservations.get("a") is reservation
    assert reservation.state is BOUND
    with pytest.raises(AlreadyReservedError):
        reservations.adopt(reservation)

"""Reservations: which state follows which event, and when one expires."""

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
    ReservationError,
    ReservationExpiredError,
    Reservations,
    State,
)

PROMISED, ASSUMED, BOUND, SEEN, EXPIRED = State
PROMISE, REDEEM, BREAK, ASSUME, BIND, SEE, FORGET, EXPIRE, REMOVE = Event

# Every state and every event, written down a second time, by what a scheduler needs.
FOLLOWS: list[tuple[State, Event, State | type[ReservationError]]] = [
    (PROMISED, PROMISE, AlreadyReservedError),
    (PROMISED, REDEEM, ASSUMED),
    (PROMISED, BREAK, EXPIRED),
    (PROMISED, ASSUME, AlreadyReservedError),
    (PROMISED, BIND, BOUND),
    (PROMISED, SEE, SEEN),
    (PROMISED, FORGET, EXPIRED),
    (PROMISED, EXPIRE, PROMISED),
    (PROMISED, REMOVE, EXPIRED),
    (ASSUMED, PROMISE, AlreadyReservedError),
    (ASSUMED, REDEEM, NotPromisedError),
    (ASSUMED, BREAK, ASSUMED),
    (BOUND, PROMISE, AlreadyReservedError),
    (BOUND, REDEEM, NotPromisedError),
    (BOUND, BREAK, BOUND),
    (SEEN, PROMISE, AlreadyReservedError),
    (SEEN, REDEEM, NotPromisedError),
    (SEEN, BREAK, SEEN),
    (EXPIRED, PROMISE, PROMISED),
    (EXPIRED, REDEEM, NotPromisedError),
    (EXPIRED, BREAK, EXPIRED),
    (ASSUMED, ASSUME, AlreadyReservedError),
    (ASSUMED, BIND, BOUND),
    (ASSUMED, SEE, SEEN),
    (ASSUMED, FORGET, EXPIRED),
    (ASSUMED, EXPIRE, EXPIRED),
    (ASSUMED, REMOVE, EXPIRED),
    (BOUND, ASSUME, AlreadyReservedError),
    (BOUND, BIND, BOUND),
    (BOUND, SEE, SEEN),
    (BOUND, FORGET, EXPIRED),
    (BOUND, EXPIRE, EXPIRED),
    (BOUND, REMOVE, EXPIRED),
    (SEEN, ASSUME, AlreadyReservedError),
    (SEEN, BIND, PodSeenError),
    (SEEN, SEE, SEEN),
    (SEEN, FORGET, SEEN),
    (SEEN, EXPIRE, PodSeenError),
    (SEEN, REMOVE, EXPIRED),
    (EXPIRED, ASSUME, ASSUMED),
    (EXPIRED, BIND, ReservationExpiredError),
    (EXPIRED, SEE, SEEN),
    (EXPIRED, FORGET, EXPIRED),
    (EXPIRED, EXPIRE, EXPIRED),
    (EXPIRED, REMOVE, EXPIRED),
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
    elif state is EXPIRED:
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
    return EXPIRED if found is None else found.state


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


def test_a_pod_seen_on_another_gpu_has_a_new_reservation_and_the_old_one_has_expired() -> None:
    reservations, old = in_state(BOUND)
    new = reservations.see(make_pod("a", WHOLE, "n0", (1,)))
    assert (old.state, new.state, new.gpus) == (EXPIRED, SEEN, 0b10)
    assert list(reservations) == [new]


@pytest.mark.parametrize(
    ("state", "now_s", "in_sync", "due"),
    [
        (PROMISED, 1e6, True, []),  # its node may take long to wake
        (ASSUMED, 60.0, True, []),
        (ASSUMED, 60.1, True, ["a"]),
        (ASSUMED, 60.1, False, ["a"]),  # no Binding was sent: no need of the watch
        (BOUND, 180.0, True, []),
        (BOUND, 180.1, True, ["a"]),
        (BOUND, 1e6, False, []),  # a cache that is out of sync may have missed the pod
        (SEEN, 1e6, True, []),
        (EXPIRED, 1e6, True, []),
    ],
)
def test_assumed_and_bound_reservations_expire_and_seen_ones_do_not(
    state: State, now_s: float, in_sync: bool, due: list[str]
) -> None:
    reservations, _ = in_state(state)
    assert reservations.due(now_s, in_sync) == due


def test_only_reservations_that_the_cluster_does_not_show_are_unseen() -> None:
    unseen = {state: len(in_state(state)[0].unseen()) for state in State}
    assert unseen == {PROMISED: 1, ASSUMED: 1, BOUND: 1, SEEN: 0, EXPIRED: 0}


def test_a_reservation_is_taken_over_in_its_state_and_never_in_the_place_of_another() -> None:
    _, reservation = in_state(BOUND)
    reservations = Reservations()
    reservations.adopt(reservation)
    assert reservations.get("a") is reservation
    assert reservation.state is BOUND
    with pytest.raises(AlreadyReservedError):
        reservations.adopt(reservation)

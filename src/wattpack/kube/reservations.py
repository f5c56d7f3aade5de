"""Capacity held for pods, as in the cache of the Kubernetes scheduler: assumed, bound, seen, expired; and promised.

A pod's reservation is made when a node is chosen for it (assume), when a node that sleeps is to wake for it (promise),
or when the cluster shows it on a node (see). It ends when it is forgotten, when it expires, or when the pod is gone.
`TRANSITIONS` is the only place that says which state follows. No clock and no engine here: `cluster.py` counts what
reservations take.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from wattpack.kube.facts import PodFacts
from wattpack.kube.gpus import bits
from wattpack.model.tasks import TaskClass

ASSUMED_S = 60.0  # an assumed reservation without a Binding expires after this long
BOUND_S = 180.0  # a Binding without an answer may still be made; the API server drops a request after 60 s


class ReservationError(Exception):
    """An event that must not happen in the reservation's state: a fault of wattpack's own."""


class AlreadyReservedError(ReservationError):
    """A pod with a reservation cannot be assumed: forget the reservation first."""


class PodSeenError(ReservationError):
    """The cluster shows the pod on its node: it is not bound again and does not expire."""


class NotPromisedError(ReservationError):
    """Only a promise can be redeemed."""


class ReservationExpiredError(ReservationError):
    """The capacity was given back: a pod without a reservation is not bound."""


class State(Enum):
    PROMISED = "promised"  # a node that is not awake was chosen; it does not expire while that node wakes
    ASSUMED = "assumed"  # a node was chosen; no Binding has been sent
    BOUND = "bound"  # a Binding has been sent: it was made, or may still be made
    SEEN = "seen"  # the cluster shows the pod on its node
    EXPIRED = "expired"  # no reservation: it was forgotten, timed out, or the pod is gone


class Event(Enum):
    PROMISE = "promise"  # a node that is not awake is chosen for the pod
    REDEEM = "redeem"  # that node is awake, and the scheduler offers it
    BREAK = "break"  # that node does not wake, or the pod does not come
    ASSUME = "assume"  # a node is chosen for the pod
    BIND = "bind"  # a Binding is sent to the API server
    SEE = "see"  # the cluster shows the pod on a node
    FORGET = "forget"  # the scheduler asks again, or the Binding was refused
    EXPIRE = "expire"  # too long without a Binding, or without being seen
    REMOVE = "remove"  # the pod was deleted or has finished


TRANSITIONS: dict[State, dict[Event, State | type[ReservationError]]] = {
    State.PROMISED: {
        Event.PROMISE: AlreadyReservedError,
        Event.BREAK: State.EXPIRED,
        Event.REDEEM: State.ASSUMED,
        Event.ASSUME: AlreadyReservedError,
        Event.BIND: State.BOUND,
        Event.SEE: State.SEEN,
        Event.FORGET: State.EXPIRED,
        Event.EXPIRE: State.PROMISED,
        Event.REMOVE: State.EXPIRED,
    },
    State.ASSUMED: {
        Event.PROMISE: AlreadyReservedError,
        Event.REDEEM: NotPromisedError,
        Event.BREAK: State.ASSUMED,  # no promise any more
        Event.ASSUME: AlreadyReservedError,
        Event.BIND: State.BOUND,
        Event.SEE: State.SEEN,
        Event.FORGET: State.EXPIRED,
        Event.EXPIRE: State.EXPIRED,
        Event.REMOVE: State.EXPIRED,
    },
    State.BOUND: {
        Event.PROMISE: AlreadyReservedError,
        Event.REDEEM: NotPromisedError,
        Event.BREAK: State.BOUND,
        Event.ASSUME: AlreadyReservedError,
        Event.BIND: State.BOUND,  # again, after one without an answer
        Event.SEE: State.SEEN,
        Event.FORGET: State.EXPIRED,
        Event.EXPIRE: State.EXPIRED,
        Event.REMOVE: State.EXPIRED,
    },
    State.SEEN: {
        Event.PROMISE: AlreadyReservedError,
        Event.REDEEM: NotPromisedError,
        Event.BREAK: State.SEEN,
        Event.ASSUME: AlreadyReservedError,
        Event.BIND: PodSeenError,
        Event.SEE: State.SEEN,
        Event.FORGET: State.SEEN,  # only the cluster takes back what it shows
        Event.EXPIRE: PodSeenError,
        Event.REMOVE: State.EXPIRED,
    },
    State.EXPIRED: {
        Event.PROMISE: State.PROMISED,
        Event.REDEEM: NotPromisedError,
        Event.BREAK: State.EXPIRED,
        Event.ASSUME: State.ASSUMED,
        Event.BIND: ReservationExpiredError,
        Event.SEE: State.SEEN,
        Event.FORGET: State.EXPIRED,
        Event.EXPIRE: State.EXPIRED,
        Event.REMOVE: State.EXPIRED,
    },
}


def next_state(state: State, event: Event) -> State:
    """The state after the event; raises the error that the table names."""
    following = TRANSITIONS[state][event]
    if isinstance(following, State):
        return following
    raise following(f"{event.value} of a pod whose reservation is {state.value}")


@dataclass(slots=True, eq=False)
class Reservation:
    """What one pod holds on one node. `state` changes only in this file."""

    pod: PodFacts
    node: str
    gpus: int  # bit set
    task: TaskClass  # what is counted: without the pod's GPUs where they are not free
    assumed_s: float = 0.0  # when it was assumed, monotonic
    state: State = State.EXPIRED

    def shows(self, pod: PodFacts) -> bool:
        """Whether the pod, as the cluster shows it, is where this reservation has it."""
        same_gpus = pod.gpus is None or bits(pod.gpus) == self.gpus
        return self.node == pod.node and same_gpus and self.pod.task == pod.task


class Reservations:
    """The reservations of a cluster by pod uid. A pod that is not in it has the state EXPIRED."""

    def __init__(self) -> None:
        self._by_uid: dict[str, Reservation] = {}

    def __iter__(self) -> Iterator[Reservation]:
        return iter(self._by_uid.values())

    def __len__(self) -> int:
        return len(self._by_uid)

    def get(self, uid: str) -> Reservation | None:
        return self._by_uid.get(uid)

    def uids(self) -> set[str]:
        return set(self._by_uid)

    def unseen(self) -> list[Reservation]:
        """Assumed or bound, and not shown by the cluster yet."""
        return [reservation for reservation in self if reservation.state is not State.SEEN]

    def assume(self, pod: PodFacts, node: str, gpus: int, now_s: float) -> Reservation:
        """A new reservation for a pod that has none."""
        return self._start(Event.ASSUME, Reservation(pod, node, gpus, pod.task, now_s))

    def promise(self, pod: PodFacts, node: str, gpus: int, now_s: float) -> Reservation:
        """A new reservation on a node that is not awake, for a pod that has none."""
        return self._start(Event.PROMISE, Reservation(pod, node, gpus, pod.task, now_s))

    def redeem(self, reservation: Reservation, now_s: float) -> None:
        """The scheduler offers the node that was promised: the reservation is assumed from now on."""
        reservation.state = next_state(reservation.state, Event.REDEEM)
        reservation.assumed_s = now_s

    def promises(self) -> list[Reservation]:
        return [reservation for reservation in self if reservation.state is State.PROMISED]

    def see(self, pod: PodFacts) -> Reservation:
        """The pod's reservation where the cluster shows it: the one it has, or a new one if it is elsewhere."""
        known = self._by_uid.get(pod.uid)
        if known is None or not known.shows(pod):
            return self._start(Event.SEE, Reservation(pod, pod.node, bits(pod.gpus or ()), pod.task))
        known.pod = pod
        known.state = next_state(known.state, Event.SEE)
        return known

    def bind(self, reservation: Reservation) -> None:
        """A Binding is about to be sent: from now on it may be made, whatever is answered."""
        reservation.state = next_state(reservation.state, Event.BIND)

    def end(self, uid: str, event: Event) -> Reservation | None:
        """Forget, expire, break or remove. The reservation if it ended, None if there was none or it stays."""
        reservation = self._by_uid.get(uid)
        if reservation is None:
            return None
        reservation.state = next_state(reservation.state, event)
        return self._by_uid.pop(uid) if reservation.state is State.EXPIRED else None

    def withdraw(self, uid: str) -> Reservation | None:
        """Take a reservation out of the table without ending it; `adopt` puts it back."""
        return self._by_uid.pop(uid, None)

    def adopt(self, reservation: Reservation) -> None:
        """Put in a reservation, in its state: one that was withdrawn, or that of a cluster that is given up."""
        if reservation.pod.uid in self._by_uid:
            raise AlreadyReservedError(f"{reservation.pod.uid} has a reservation")
        self._by_uid[reservation.pod.uid] = reservation

    def due(self, now_s: float, in_sync: bool) -> list[str]:
        """Uids of pods whose reservation expires. Bound ones only where a watch in sync would have shown the pod."""
        patience_s = {State.ASSUMED: ASSUMED_S} | ({State.BOUND: BOUND_S} if in_sync else {})
        return [
            reservation.pod.uid
            for reservation in self.unseen()
            if now_s - reservation.assumed_s > patience_s.get(reservation.state, float("inf"))
        ]

    def _start(self, event: Event, reservation: Reservation) -> Reservation:
        known = self._by_uid.get(reservation.pod.uid)
        reservation.state = next_state(known.state if known else State.EXPIRED, event)
        if known is not None:
            known.state = State.EXPIRED
        self._by_uid[reservation.pod.uid] = reservation
        return reservation

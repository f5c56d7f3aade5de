"""Capacity held for pods, as in the cache of the Kubernetes scheduler: assumed, bound, seen, ended; and promised.

A pod's reservation is made when a node is chosen for it (assume), when a node that sleeps is to wake for it (promise),
or when the cluster shows it on a node (see). It ends when it is forgotten, when the API server says that the pod has no
node, or when the pod is gone; never because time has passed. `TRANSITIONS` is the only place that says which state
follows. No clock and no engine here: `cluster.py` counts what reservations take.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from wattpack.kube.facts import PodFacts
from wattpack.kube.gpus import bits
from wattpack.model.tasks import TaskClass

ASK_AFTER_S = 60.0  # the API server is asked about a pod that the watch has not shown on its node for this long
ASK_AGAIN_S = 30.0  # and again, while the reservation stays
LATE_S = 180.0  # a Binding without an answer may still be made for this long; the API server drops a request after 60 s


class ReservationError(Exception):
    """An event that must not happen in the reservation's state: a fault of wattpack's own."""


class AlreadyReservedError(ReservationError):
    """A pod with a reservation cannot be assumed: forget the reservation first."""


class PodSeenError(ReservationError):
    """The cluster shows the pod on its node: it is not bound again, and it has a node."""


class NotPromisedError(ReservationError):
    """Only a promise can be redeemed."""


class ReservationEndedError(ReservationError):
    """The capacity was given back: a pod without a reservation is not bound."""


class State(Enum):
    PROMISED = "promised"  # a node that is not awake was chosen; it stays while that node wakes
    ASSUMED = "assumed"  # a node was chosen; no Binding has been sent
    BOUND = "bound"  # its claims are being written, or a Binding was sent; its outcome may be unknown
    SEEN = "seen"  # the cluster shows the pod on its node
    ENDED = "ended"  # no reservation: it was forgotten, the pod was not bound, or it is gone


class Event(Enum):
    PROMISE = "promise"  # a node that is not awake is chosen for the pod
    REDEEM = "redeem"  # that node is awake, and the scheduler offers it
    BREAK = "break"  # that node does not wake, or the pod does not come
    ASSUME = "assume"  # a node is chosen for the pod
    BIND = "bind"  # a Binding is sent to the API server
    SEE = "see"  # the cluster shows the pod on a node
    FORGET = "forget"  # the scheduler asks again or gave up, or the Binding was refused
    UNBOUND = "unbound"  # the API server says that it has no node, and no Binding of it can still be made
    REMOVE = "remove"  # the pod was deleted or has finished


TRANSITIONS: dict[State, dict[Event, State | type[ReservationError]]] = {
    State.PROMISED: {
        Event.PROMISE: AlreadyReservedError,
        Event.BREAK: State.ENDED,
        Event.REDEEM: State.ASSUMED,
        Event.ASSUME: AlreadyReservedError,
        Event.BIND: State.BOUND,
        Event.SEE: State.SEEN,
        Event.FORGET: State.ENDED,
        Event.UNBOUND: State.PROMISED,
        Event.REMOVE: State.ENDED,
    },
    State.ASSUMED: {
        Event.PROMISE: AlreadyReservedError,
        Event.REDEEM: NotPromisedError,
        Event.BREAK: State.ASSUMED,  # no promise any more
        Event.ASSUME: AlreadyReservedError,
        Event.BIND: State.BOUND,
        Event.SEE: State.SEEN,
        Event.FORGET: State.ENDED,
        Event.UNBOUND: State.ENDED,
        Event.REMOVE: State.ENDED,
    },
    State.BOUND: {
        Event.PROMISE: AlreadyReservedError,
        Event.REDEEM: NotPromisedError,
        Event.BREAK: State.BOUND,
        Event.ASSUME: AlreadyReservedError,
        Event.BIND: State.BOUND,  # again, after one without an answer
        Event.SEE: State.SEEN,
        Event.FORGET: State.ENDED,
        Event.UNBOUND: State.ENDED,
        Event.REMOVE: State.ENDED,
    },
    State.SEEN: {
        Event.PROMISE: AlreadyReservedError,
        Event.REDEEM: NotPromisedError,
        Event.BREAK: State.SEEN,
        Event.ASSUME: AlreadyReservedError,
        Event.BIND: PodSeenError,
        Event.SEE: State.SEEN,
        Event.FORGET: State.SEEN,  # only the cluster takes back what it shows
        Event.UNBOUND: PodSeenError,
        Event.REMOVE: State.ENDED,
    },
    State.ENDED: {
        Event.PROMISE: State.PROMISED,
        Event.REDEEM: NotPromisedError,
        Event.BREAK: State.ENDED,
        Event.ASSUME: State.ASSUMED,
        Event.BIND: ReservationEndedError,
        Event.SEE: State.SEEN,
        Event.FORGET: State.ENDED,
        Event.UNBOUND: State.ENDED,
        Event.REMOVE: State.ENDED,
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
    """What one pod holds on one node. `state` changes only in this file.

    `gpus` are those of the decision or of the pod's annotation, and never change: a Binding under way carries them.
    What is counted of them, while the node shows fewer GPUs or others hold them, is in `task` and `counted`.
    """

    pod: PodFacts
    node: str
    gpus: int  # bit set; 0: none are known
    task: TaskClass  # what is counted: without the pod's GPUs where they are not free
    assumed_s: float = 0.0  # when it was assumed, monotonic
    state: State = State.ENDED
    counted: int = 0  # bit set: the GPUs that are counted, some that are free where none are known
    parts: tuple[tuple[int, int], ...] = ()  # (GPU, milli) counted beside the task: see `gpus.Counted`
    named: dict[str, int] = field(default_factory=dict)  # numbers of the GPUs that the pod names otherwise
    sent_s: float | None = None  # when its latest Binding was sent; a pod with claims is BOUND while they are written
    made: bool = False  # the API server answered that the Binding was made
    refusal: str = ""  # the scheduler's latest refusal of the pod when it was assumed
    asked_s: float = float("-inf")  # when the API server was last asked about the pod

    @property
    def changed_s(self) -> float:
        """When it was assumed or a Binding was last sent."""
        return self.assumed_s if self.sent_s is None else max(self.assumed_s, self.sent_s)

    @property
    def unsure(self) -> bool:
        """Whether a Binding may be made of which the API server's answer is not known."""
        return self.state is State.BOUND and not self.made

    def shows(self, pod: PodFacts) -> bool:
        """Whether the pod, as the cluster shows it, is where this reservation has it."""
        same_gpus = pod.gpus is None or bits(pod.gpus) == self.gpus
        same_holds = self.pod.holds == pod.holds or not self.pod.node
        return self.node == pod.node and same_gpus and same_holds and self.pod.task == pod.task


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
        """Forget, unbound, break or remove. The reservation if it ended, None if there was none or it stays."""
        reservation = self._by_uid.get(uid)
        if reservation is None:
            return None
        reservation.state = next_state(reservation.state, event)
        return self._by_uid.pop(uid) if reservation.state is State.ENDED else None

    def withdraw(self, uid: str) -> Reservation | None:
        """Take a reservation out of the table without ending it; `adopt` puts it back."""
        return self._by_uid.pop(uid, None)

    def adopt(self, reservation: Reservation) -> None:
        """Put in a reservation, in its state: one that was withdrawn, or that of a cluster that is given up."""
        if reservation.pod.uid in self._by_uid:
            raise AlreadyReservedError(f"{reservation.pod.uid} has a reservation")
        self._by_uid[reservation.pod.uid] = reservation

    def due(self, now_s: float) -> list[Reservation]:
        """Those about which the API server is to be asked now: they end by its word, not by themselves."""
        return [
            reservation
            for reservation in self
            if reservation.state in (State.ASSUMED, State.BOUND)
            and now_s - reservation.changed_s > ASK_AFTER_S
            and now_s - reservation.asked_s >= ASK_AGAIN_S
        ]

    def _start(self, event: Event, reservation: Reservation) -> Reservation:
        known = self._by_uid.get(reservation.pod.uid)
        reservation.state = next_state(known.state if known else State.ENDED, event)
        if known is not None:
            known.state = State.ENDED
        self._by_uid[reservation.pod.uid] = reservation
        return reservation

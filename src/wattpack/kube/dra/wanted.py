"""What claims ask for: their requests with the selectors of their classes, and all alternatives in order.

A request with `firstAvailable` has alternatives. A pod's claims together have one alternative for each combination of
them; the first that fits anywhere is taken. What is not understood is refused here, with the claim and the request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice, product
from typing import NamedTuple

from wattpack.kube.constraints import Tolerated
from wattpack.kube.dra.objects import (
    ALL_DEVICES,
    EXACT_COUNT,
    ClaimSpec,
    DeviceClass,
    DeviceRequest,
    ExactRequest,
    Selector,
)
from wattpack.kube.dra.slice_objects import DeviceTaint
from wattpack.kube.objects import Unreadable
from wattpack.kube.quantity import nano

MAX_DEVICES = 32  # that one claim can hold, as in Kubernetes
MAX_ALTERNATIVES = 64  # of all claims of a pod together; a request has at most 8


class Ask(NamedTuple):
    """One request, or one alternative of it. `kind` is equal for requests that the same devices serve."""

    claim: str
    request: str  # its name in the claim
    name: str  # its name in the allocation: `request`, or `request/alternative`
    device_class: str
    selectors: tuple[str, ...]  # of the class, then its own: all must hold
    number: int  # of devices; 0: all that match
    admin: bool  # it looks at devices without taking them
    tolerations: tuple[Tolerated, ...]
    capacity: tuple[tuple[str, int], ...]  # amounts in billionths

    @property
    def kind(self) -> Ask:
        return self._replace(claim="", request="", name="")

    @property
    def words(self) -> str:
        """For messages."""
        return f"claim {self.claim}, request {self.name}"

    def tolerates(self, taint: DeviceTaint) -> bool:
        """Taints of other effects than these two keep nobody away."""
        if taint.effect not in ("NoSchedule", "NoExecute"):
            return True
        return any(
            one.effect in ("", taint.effect)
            and one.key in ("", taint.key)
            and (one.operator == "Exists" or one.value == taint.value)
            for one in self.tolerations
        )


class Rule(NamedTuple):
    """A constraint of a claim: an attribute is the same on all devices of these requests, or different on each."""

    claim: str
    requests: tuple[str, ...]  # empty: all
    attribute: str
    same: bool

    def about(self, ask: Ask) -> bool:
        return self.claim == ask.claim and (
            not self.requests or ask.request in self.requests or ask.name in self.requests
        )


class Wanted(NamedTuple):
    """One alternative of all claims of a pod."""

    asks: tuple[Ask, ...] = ()
    rules: tuple[Rule, ...] = ()

    @property
    def kind(self) -> Wanted:
        """Equal for pods that differ in the names of their claims only."""
        numbers = {claim: str(n) for n, claim in enumerate(dict.fromkeys(ask.claim for ask in self.asks))}
        return Wanted(
            tuple(ask._replace(claim=numbers[ask.claim]) for ask in self.asks),
            tuple(rule._replace(claim=numbers.get(rule.claim, "")) for rule in self.rules),
        )


def alternatives_of(claims: Mapping[str, ClaimSpec], classes: Mapping[str, DeviceClass]) -> tuple[Wanted, ...]:
    """The alternatives of these claims (by name), the preferred first; raises Unreadable."""
    rules = tuple(rule for name, spec in claims.items() for rule in _rules(name, spec))
    requests = [_asks(name, request, classes) for name, spec in claims.items() for request in spec.devices.requests]
    found = tuple(Wanted(asks, rules) for asks in islice(product(*requests), MAX_ALTERNATIVES))
    for name in claims:
        least = min((sum(max(1, ask.number) for ask in one.asks if ask.claim == name) for one in found), default=0)
        if least > MAX_DEVICES:
            raise Unreadable(f"claim {name}: asks for {least} devices, expected at most {MAX_DEVICES}")
    return found


def _asks(claim: str, request: DeviceRequest, classes: Mapping[str, DeviceClass]) -> list[Ask]:
    where = f"claim {claim}, request {request.name}"
    if request.exactly is not None:
        return [_ask(claim, request.name, request.name, request.exactly, classes)]
    if not request.first_available:
        raise Unreadable(f"{where}: neither exactly nor firstAvailable, a kind of request that we do not know")
    return [_ask(claim, request.name, f"{request.name}/{one.name}", one, classes) for one in request.first_available]


def _ask(claim: str, request: str, name: str, said: ExactRequest, classes: Mapping[str, DeviceClass]) -> Ask:
    where = f"claim {claim}, request {name}"
    if said.device_class_name not in classes:
        raise Unreadable(f"{where}: device class {said.device_class_name!r} is not known")
    if said.allocation_mode not in (EXACT_COUNT, ALL_DEVICES):
        raise Unreadable(f"{where}: allocation mode {said.allocation_mode!r}, expected {EXACT_COUNT} or {ALL_DEVICES}")
    if said.allocation_mode == EXACT_COUNT and said.count < 1:
        raise Unreadable(f"{where}: count {said.count}, expected at least 1")
    of_class = classes[said.device_class_name].spec.selectors
    try:
        capacity = {one: nano(amount) for one, amount in (said.capacity.requests if said.capacity else {}).items()}
    except Unreadable as fault:
        raise Unreadable(f"{where}: {fault}") from None
    return Ask(
        claim,
        request,
        name,
        said.device_class_name,
        (*_expressions(of_class, f"class {said.device_class_name}"), *_expressions(said.selectors, where)),
        0 if said.allocation_mode == ALL_DEVICES else said.count,
        said.admin_access is True,
        tuple(Tolerated(t.key, t.operator or "Equal", t.value, t.effect) for t in said.tolerations),
        tuple(sorted(capacity.items())),
    )


def _expressions(selectors: Iterable[Selector], where: str) -> list[str]:
    found = []
    for selector in selectors:
        if selector.cel is None:
            raise Unreadable(f"{where}: a selector without CEL, a kind that we do not know")
        found.append(selector.cel.expression)
    return found


def _rules(claim: str, spec: ClaimSpec) -> list[Rule]:
    found = []
    for one in spec.devices.constraints:
        attribute = one.match_attribute or one.distinct_attribute
        if attribute is None:
            raise Unreadable(f"claim {claim}: a constraint that is neither matchAttribute nor distinctAttribute")
        found.append(Rule(claim, tuple(one.requests), attribute, one.match_attribute is not None))
    return found

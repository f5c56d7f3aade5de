"""What a request consumes of a device's capacity, by the policies of the device. Amounts in billionths.

The rules are those of kube-scheduler: an amount that is not asked for is the policy's default, or all there is; an
amount that is asked for is rounded up to the range's minimum, to a step, or to the next valid value.
"""

from __future__ import annotations

from collections.abc import Mapping

from wattpack.kube.dra.slice_objects import Capacity, RequestPolicy
from wattpack.kube.quantity import NANO, nano

AmountsNano = dict[str, int]


def consumed(asked: Mapping[str, int], capacity: Mapping[str, Capacity]) -> AmountsNano | None:
    """By capacity; None: the device lacks a capacity that is asked for, or a policy forbids the amount."""
    if any(name not in capacity for name in asked):
        return None
    taken = {}
    for name, offered in capacity.items():
        amount = _consumed_of(asked.get(name), offered)
        if _forbids(amount, offered.request_policy):
            return None
        taken[name] = amount
    return taken


def fits(taken: Mapping[str, int], used: Mapping[str, int], capacity: Mapping[str, Capacity]) -> bool:
    """Whether `taken` fits beside what is `used` already."""
    return all(used.get(name, 0) + amount <= nano(capacity[name].value) for name, amount in taken.items())


def _consumed_of(asked: int | None, offered: Capacity) -> int:
    policy = offered.request_policy
    if asked is None:
        return nano(offered.value if policy is None or policy.default is None else policy.default)
    if policy is None:
        return asked
    limits = policy.valid_range
    if limits is not None and limits.min is not None:
        least = nano(limits.min)
        if asked < least:
            return least
        if limits.step is None:
            return asked
        step = max(1, _units(nano(limits.step)))
        return NANO * (_units(least) + -(-(_units(asked) - _units(least)) // step) * step)
    return next((value for value in map(nano, policy.valid_values) if asked <= value), asked)


def _forbids(amount: int, policy: RequestPolicy | None) -> bool:
    if policy is None or (policy.default is not None and amount == nano(policy.default)):
        return False
    limits = policy.valid_range
    if limits is not None:
        if limits.max is not None and amount > nano(limits.max):
            return True
        least = _units(nano(limits.min or 0))
        return limits.step is not None and (_units(amount) - least) % max(1, _units(nano(limits.step))) != 0
    return bool(policy.valid_values) and amount not in map(nano, policy.valid_values)


def _units(amount_nano: int) -> int:
    """Whole units, rounded up: steps are counted in them, as in Kubernetes."""
    return -(-amount_nano // NANO)


def amount_text(amount_nano: int) -> str:
    """An amount as a quantity: whole units, or thousandths, millionths or billionths with their suffix."""
    for suffix, size in (("", NANO), ("m", 10**6), ("u", 10**3)):
        if amount_nano % size == 0:
            return f"{amount_nano // size}{suffix}"
    return f"{amount_nano}n"

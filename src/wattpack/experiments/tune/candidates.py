"""The expressions that are tried: every policy, its knob where it has one, and mixes of two."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from itertools import combinations

from wattpack.errors import UserError
from wattpack.experiments.lineup import BASELINE
from wattpack.model.policy import Normalise, Policy
from wattpack.policies import REGISTRY, SCHEDULERS
from wattpack.policies.expression import parse

# The paper's own mix is searched finely: its best weight is small and differs from trace to trace.
FINE_PAIR = ("pwr", "fgd")
FINE = tuple(Decimal(text) for text in ("0.02", "0.05", "0.1", "0.15", "0.2", "0.3", "0.4", "0.5", "0.7", "0.9"))
COARSE = tuple(Decimal(text) for text in ("0.1", "0.3", "0.5", "0.7", "0.9"))
KNOBS = tuple(Decimal(text) for text in ("0", "0.1", "0.2", "0.3", "0.6", "0.8", "1"))


def all_candidates(registry: Mapping[str, Policy] | None = None) -> tuple[str, ...]:
    """Canonical expressions, the baseline first. Policies that the user has registered take part like any other.

    Schedulers that people run do not: wattpack has no service that runs one of them in place of the original.
    """
    known = {name: policy for name, policy in (registry or REGISTRY).items() if name not in SCHEDULERS}
    texts = [BASELINE, *known]
    for name, policy in known.items():
        if policy.with_knob is not None:
            texts += [f"{name}@{knob}" for knob in KNOBS if _has(policy, float(knob))]
    for one, other in combinations([name for name, policy in known.items() if _mixes(policy)], 2):
        pair = FINE_PAIR if {one, other} == set(FINE_PAIR) else (one, other)
        weights = FINE if pair == FINE_PAIR else COARSE
        texts += [f"{pair[0]}:{weight}+{pair[1]}:{1 - weight}" for weight in weights]
    return tuple(dict.fromkeys(parse(text, known).expression for text in texts))


def _has(policy: Policy, knob: float) -> bool:
    try:
        return policy.with_knob is not None and bool(policy.with_knob(knob))
    except UserError:  # beyond the knob's range
        return False


def _mixes(policy: Policy) -> bool:
    """Whether the policy can be mixed: scores in watts, random draws and rules of whole schedulers cannot be."""
    return policy.terms == 1 and policy.normalise != Normalise.DRAW and policy.plain_choice

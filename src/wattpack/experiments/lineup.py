"""The policies that comparisons, reports and the paper know by name. Each list stands here, once."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

BASELINE = "fgd"  # savings are against it
PWR = "pwr"
MIXES = ("pwr:0.05+fgd:0.95", "pwr:0.1+fgd:0.9", "pwr:0.2+fgd:0.8")  # the paper's combinations
COMPETITORS = ("bestfit", "dotprod", "gpupacking", "gpuclustering")
OWN_BEST = "ocs"
RANDOM = "random"
DEFAULT_POLICIES = (BASELINE, PWR, *MIXES, OWN_BEST, *COMPETITORS, RANDOM)
BOUND = "bound"  # a limit, not a policy: drawn like one, never called the best


def expression_parts(policy: str) -> list[tuple[str, Decimal | None]]:
    """`pwr:0.1+fgd:0.9` as [("pwr", 0.1), ("fgd", 0.9)]; None for a part without a readable weight.

    Works on any text: a bound, or a policy that is not registered here.
    """
    found: list[tuple[str, Decimal | None]] = []
    for part in policy.split("+"):
        name, _, text = part.strip().partition(":")
        try:
            weight = Decimal(text) if text else None
        except InvalidOperation:
            weight = None
        found.append((name.strip(), weight if weight is not None and weight.is_finite() else None))
    return found


def pwr_share(policy: str) -> float | None:
    """Alpha of alpha * PWR + (1 - alpha) * FGD; None for any other policy."""
    weights = {name.lower(): weight for name, weight in expression_parts(policy)}
    pwr, fgd = weights.get(PWR), weights.get(BASELINE)
    if len(weights) != 2 or pwr is None or fgd is None or pwr <= 0 or fgd <= 0:
        return None
    return float(pwr / (pwr + fgd))

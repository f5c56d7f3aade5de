"""The policies that comparisons, reports and the paper know by name. Each list stands here, once."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

from wattpack.policies import REGISTRY

BASELINE = "fgd"  # savings are against it
PWR = "pwr"
MIXES = ("pwr:0.05+fgd:0.95", "pwr:0.1+fgd:0.9", "pwr:0.2+fgd:0.8")  # the paper's combinations
COMPETITORS = ("bestfit", "dotprod", "gpupacking", "gpuclustering")
OWN_BEST = "ocs"
RANDOM = "random"
DEFAULT_POLICIES = (BASELINE, PWR, *MIXES, OWN_BEST, *COMPETITORS, RANDOM)
BOUND = "bound"  # a limit, not a policy: drawn like one, never called the best


# What reports say of the policies that most tables have; of others the registry's line.
LINES = {
    BASELINE: "Fragmentation Gradient Descent (Weng et al. 2023): the node on which free GPUs that future tasks cannot "
    "use grow least.",
    PWR: "the node whose power grows least; PWR a + FGD b: a weighted mix of the two (Lettich et al. 2025).",
    OWN_BEST: "opportunity-cost scheduling, wattpack's own: the node that costs least, in watts drawn and in future "
    "tasks that it could no longer serve.",
    BOUND: "no policy: the least power of any placement that serves the most.",
}


def policy_lines(policies: Iterable[str]) -> list[tuple[str, str]]:
    """The policies that these expressions name, each once, and a line on each; none of those that nobody knows."""
    names = dict.fromkeys(
        name.lower().partition("@")[0]
        for policy in policies
        for name, _ in expression_parts(policy.partition(" batch ")[0])
    )
    return [
        (name, LINES[name] if name in LINES else REGISTRY[name].summary)
        for name in names
        if name in {**LINES, **REGISTRY}
    ]


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

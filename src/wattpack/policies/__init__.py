"""What to PREFER: one file per policy, and this registry. A new policy is one file, one line here and one test."""

from __future__ import annotations

from wattpack.errors import UserError
from wattpack.model.policy import Policy
from wattpack.policies.bestfit import BESTFIT
from wattpack.policies.dotprod import DOTPROD
from wattpack.policies.epsilon import EPSILON
from wattpack.policies.fgd import FGD
from wattpack.policies.gpuclustering import GPUCLUSTERING
from wattpack.policies.gpupacking import GPUPACKING
from wattpack.policies.ocs.policy import OCS, OCSPLAN
from wattpack.policies.pwr import PWR
from wattpack.policies.pwrexpected import PWREXPECTED
from wattpack.policies.pwrfeedback import PWRFEEDBACK
from wattpack.policies.pwrload import PWRLOAD
from wattpack.policies.random import RANDOM

# The order matters once: in a mix with equal weights, the policy that comes first here picks the GPU.
REGISTRY: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        *(FGD, PWR, BESTFIT, DOTPROD, GPUPACKING, GPUCLUSTERING, RANDOM, OCS),
        *(PWRLOAD, PWRFEEDBACK, PWREXPECTED, EPSILON, OCSPLAN),
    )
}
BUILT_IN = frozenset(REGISTRY)


def register(policy: Policy) -> Policy:
    """Make your own policy usable by name in expressions; built-in policies cannot be replaced."""
    name = policy.name
    if not (name.isidentifier() and name == name.lower()):
        raise UserError(f"policy name {name!r}: expected lower-case letters, digits and underscores")
    if name in BUILT_IN or name == "auto":
        raise UserError(f"policy name {name!r}: taken by a built-in policy, expected a new one")
    REGISTRY[name] = policy
    return policy

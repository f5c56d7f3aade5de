"""What to PREFER: one file per policy, and this registry. A new policy is one file, one line here and one test."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

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
from wattpack.policies.schedulers.hami import HAMI, HAMISPREAD
from wattpack.policies.schedulers.kai import KAI, KAISPREAD
from wattpack.policies.schedulers.kube import KUBE, KUBEALL
from wattpack.policies.schedulers.kubepack import KUBEPACK, KUBERATIO
from wattpack.policies.schedulers.slurm import SLURM, SLURMLLN
from wattpack.policies.schedulers.volcano import VOLCANO, VOLCANOPACK
from wattpack.policies.schedulers.yunikorn import YUNIKORN, YUNIKORNPACK

if TYPE_CHECKING:
    from wattpack.policies.listing import PolicyList

OF_WATTPACK = "of wattpack"
RUN_BY_PEOPLE = "of schedulers that people run"
GROUPS = {
    "of the papers": (FGD, PWR, BESTFIT, DOTPROD, GPUPACKING, GPUCLUSTERING, RANDOM),
    OF_WATTPACK: (OCS, PWRLOAD, PWRFEEDBACK, PWREXPECTED, EPSILON, OCSPLAN),
    RUN_BY_PEOPLE: (
        *(KUBE, KUBEALL, KUBEPACK, KUBERATIO, VOLCANO, VOLCANOPACK, KAI, KAISPREAD),
        *(HAMI, HAMISPREAD, YUNIKORN, YUNIKORNPACK, SLURM, SLURMLLN),
    ),
}
YOUR_OWN = "your own"

# The order matters once: in a mix with equal weights, the policy that comes first here picks the GPU.
REGISTRY: dict[str, Policy] = {policy.name: policy for group in GROUPS.values() for policy in group}
BUILT_IN = frozenset(REGISTRY)
SCHEDULERS = frozenset(policy.name for policy in GROUPS[RUN_BY_PEOPLE])


def register(policy: Policy) -> Policy:
    """Make your own policy usable by name in expressions; built-in policies cannot be replaced."""
    name = policy.name
    if not (name.isidentifier() and name == name.lower()):
        raise UserError(f"policy name {name!r}: expected lower-case letters, digits and underscores")
    if name in BUILT_IN or name == "auto":
        raise UserError(f"policy name {name!r}: taken by a built-in policy, expected a new one")
    REGISTRY[name] = policy
    return policy


def groups() -> dict[str, list[Policy]]:
    """All policies under the headings by which they are listed; those registered by the user come last."""
    own = [policy for name, policy in REGISTRY.items() if name not in BUILT_IN]
    return {heading: list(group) for heading, group in GROUPS.items()} | ({YOUR_OWN: own} if own else {})


class _Callable(ModuleType):
    """`wattpack.policies` is this package as soon as anything imports it: called, it lists the policies."""

    def __call__(self) -> PolicyList:
        from wattpack.policies.listing import listed

        return listed()


sys.modules[__name__].__class__ = _Callable

"""An allocation as it is written to a claim: its devices, the parameters for their drivers, and the node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wattpack.kube.constraints import NAME_FIELD
from wattpack.kube.dra.objects import (
    AllocatedConfig,
    Allocation,
    ClaimSpec,
    DeviceClass,
    DeviceRequest,
    Result,
    Results,
)
from wattpack.kube.objects import Expression, NodeSelector, NodeSelectorTerm

FROM_CLASS, FROM_CLAIM = "FromClass", "FromClaim"


def written(spec: ClaimSpec, results: Sequence[Result], node: str, classes: Mapping[str, DeviceClass]) -> Allocation:
    """The allocation of these devices on this node. Parameters of classes come before those of the claim, which win."""
    served = dict.fromkeys(result.request for result in results)
    config = [
        AllocatedConfig(FROM_CLASS, [name], one.opaque)
        for name in served
        for one in classes[_class_of(spec.devices.requests, name)].spec.config
    ]
    for one in spec.devices.config:
        about = [name for name in served if name in one.requests or name.partition("/")[0] in one.requests]
        if about or not one.requests:
            config.append(AllocatedConfig(FROM_CLAIM, one.requests, one.opaque))
    field = Expression(NAME_FIELD, "In", [node])
    return Allocation(Results(list(results), config), NodeSelector([NodeSelectorTerm(match_fields=[field])]))


def _class_of(requests: Sequence[DeviceRequest], name: str) -> str:
    """The device class of a request, or of its alternative `request/alternative`."""
    outer, _, inner = name.partition("/")
    request = next(one for one in requests if one.name == outer)
    if request.exactly is not None:
        return request.exactly.device_class_name
    return next(one.device_class_name for one in request.first_available if one.name == inner)

"""The allocation of a claim as it is written to its status: devices, parameters for their drivers, and the node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wattpack.kube.constraints import NAME_FIELD
from wattpack.kube.dra.claims import device_of
from wattpack.kube.dra.inventory import Inventory
from wattpack.kube.dra.objects import AllocatedConfig, Allocation, ClaimSpec, DeviceClass, ExactRequest, Result, Results
from wattpack.kube.objects import Expression, NodeSelector, NodeSelectorTerm


def allocation_of(spec: ClaimSpec, results: Sequence[Result], node: str, inventory: Inventory) -> Allocation:
    """`results`: of this claim, on this node."""
    devices = Results(list(results), _config(spec, results, inventory.classes))
    return Allocation(devices, _node_selector(results, node, inventory))


def _config(spec: ClaimSpec, results: Sequence[Result], classes: Mapping[str, DeviceClass]) -> list[AllocatedConfig]:
    """Parameters of the classes that were used, then those of the claim; one that is for all requests names none."""
    chosen = _chosen(spec, results)
    by_class: dict[str, list[str]] = {}
    for name, request in chosen.items():
        by_class.setdefault(request.device_class_name, []).append(name)
    found = [
        AllocatedConfig("FromClass", names, config.opaque)
        for class_name, names in by_class.items()
        if class_name in classes
        for config in classes[class_name].spec.config
    ]
    for config in spec.devices.config:
        if not config.requests or any(_names(config.requests, name) for name in chosen):
            found.append(AllocatedConfig("FromClaim", list(config.requests), config.opaque))
    for one in found:
        if all(_names(one.requests, name) for name in chosen):
            one.requests = []
    return found


def _chosen(spec: ClaimSpec, results: Sequence[Result]) -> dict[str, ExactRequest]:
    """The requests by the names that results have; of alternatives the one that was taken."""
    used = {result.request for result in results}
    found: dict[str, ExactRequest] = {}
    for request in spec.devices.requests:
        if request.exactly is not None:
            found[request.name] = request.exactly
        for alternative in request.first_available:
            if f"{request.name}/{alternative.name}" in used:
                found[f"{request.name}/{alternative.name}"] = alternative
    return found


def _names(requests: Sequence[str], name: str) -> bool:
    """Whether a list of requests names this one, or the request that it is an alternative of."""
    return name in requests or name.partition("/")[0] in requests


def _node_selector(results: Sequence[Result], node: str, inventory: Inventory) -> NodeSelector | None:
    """The node alone if one of the devices is tied to it; None: all devices can be reached from everywhere."""
    devices = [inventory.pools.devices[device_of(result)] for result in results]
    by_name = NodeSelectorTerm(match_fields=[Expression(NAME_FIELD, "In", [node])])
    if any(one.node or one.device.binds_to_node for one in devices):
        return NodeSelector([by_name])
    terms = [term for one in devices if one.selector is not None for term in one.selector.node_selector_terms]
    if not terms:
        return None
    joined = NodeSelectorTerm()
    for term in terms:
        joined.match_expressions += [one for one in term.match_expressions if one not in joined.match_expressions]
        joined.match_fields += [one for one in term.match_fields if one not in joined.match_fields]
    return NodeSelector([joined])

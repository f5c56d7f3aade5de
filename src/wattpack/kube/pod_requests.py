"""What a pod requests as a whole, by the rules of Kubernetes for containers, init containers, sidecars and overhead."""

from __future__ import annotations

from collections.abc import Mapping

from wattpack.kube.objects import Amounts, Pod, Resources
from wattpack.kube.quantity import nano


def pod_requests(pod: Pod) -> tuple[dict[str, int], list[dict[str, int]]]:
    """Requests of the pod as a whole and of each container (init containers too), by resource in billionths.

    Per resource, the larger of: containers and sidecars together; the largest init container together with the
    sidecars started before it. Requests of the pod itself replace that sum. Overhead is added at the end.
    """
    spec = pod.spec
    containers = [_requests(container.resources) for container in spec.containers]
    if len(containers) == 1 and not spec.init_containers and not spec.overhead and spec.resources is None:
        return containers[0], containers
    total: dict[str, int] = {}
    for container in containers:
        _add(total, container)
    sidecars: dict[str, int] = {}
    most: dict[str, int] = {}
    for init in spec.init_containers:
        asked = _requests(init.resources)
        containers.append(asked)
        if init.restart_policy == "Always":
            _add(total, asked)
            _add(sidecars, asked)
            _raise_to(most, sidecars)
        else:
            together = dict(sidecars)
            _add(together, asked)
            _raise_to(most, together)
    _raise_to(total, most)
    if spec.resources is not None:
        total |= _requests(spec.resources)
    _add(total, {name: nano(amount) for name, amount in spec.overhead.items()})
    return total, containers


def _requests(resources: Resources) -> dict[str, int]:
    """Requests; the limit of a resource without a request."""
    amounts: Amounts = resources.limits | resources.requests if resources.limits else resources.requests
    return {name: nano(amount) for name, amount in amounts.items()}


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: dict[str, int], least: Mapping[str, int]) -> None:
    for name, amount in least.items():
        total[name] = max(total.get(name, 0), amount)

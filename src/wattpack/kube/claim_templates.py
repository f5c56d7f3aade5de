"""Templates of claims, read when somebody asks whether a pod would fit that does not exist yet.

A pod that exists has claims: kube-controller-manager makes them from the templates, and the service waits for them. So
templates are not watched.
"""

from __future__ import annotations

from wattpack.kube.claim_watches import RESOURCES
from wattpack.kube.client import NOT_FOUND, ApiError, Client
from wattpack.kube.dra.objects import TEMPLATE, ResourceClaimTemplate
from wattpack.kube.objects import Pod, Unreadable
from wattpack.kube.wire import wrong_name

NAMESPACE = "default"  # of a pod in a file that names none, as for kubectl


async def read_templates(client: Client, pod: Pod) -> dict[tuple[str, str], ResourceClaimTemplate]:
    """The templates that the pod names, as far as they are there; raises Unreadable."""
    found: dict[tuple[str, str], ResourceClaimTemplate] = {}
    if pod.spec.resource_claims:
        pod.metadata.namespace = pod.metadata.namespace or NAMESPACE
    namespace = pod.metadata.namespace
    for name in sorted({one.resource_claim_template_name or "" for one in pod.spec.resource_claims} - {""}):
        if wrong := wrong_name(namespace=namespace, template=name):  # they become part of a path
            raise Unreadable(f"resource claim template: {wrong}")
        path = f"{RESOURCES}/namespaces/{namespace}/resourceclaimtemplates/{name}"
        try:
            found[namespace, name] = TEMPLATE.decode(await client.call("GET", path))
        except ApiError as fault:
            if fault.status != NOT_FOUND:  # one that is not there is named with the claim
                raise Unreadable(f"resource claim template {name}: {fault}") from None
    return found

"""The watches of slices, device classes and claims, for a service that allocates claims or shadows who does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from wattpack.errors import UserError
from wattpack.kube.claim_pods import ClaimPods
from wattpack.kube.client import NOT_FOUND, ApiError, Client
from wattpack.kube.dra.objects import CLAIM, CLAIM_LIST, CLASS, CLASS_LIST
from wattpack.kube.dra.slice_objects import SLICE, SLICE_LIST
from wattpack.kube.watch import Watch

if TYPE_CHECKING:
    from wattpack.kube.service import Service

RESOURCES = "/apis/resource.k8s.io/v1"


async def check_claims(client: Client) -> None:
    """Raise a clear error if the API server has no resource claims. One that does not answer may have them."""
    try:
        await client.call("GET", RESOURCES)
    except ApiError as fault:
        if fault.status == NOT_FOUND:
            raise UserError(
                "allocate_claims: the API server has no resource.k8s.io/v1, expected Kubernetes 1.34 or newer"
            ) from None


def claim_watches(service: Service) -> list[Watch[Any]]:
    """Slices and classes first: what claims ask for and hold is read by them."""
    client = service.client

    def watch(name: str, decoder: Any, lists: Any, replace: Callable[[Any], None], change: Any) -> Watch[Any]:
        path = f"{RESOURCES}/{name}"

        def replace_all(objects: list[Any]) -> None:
            replace(objects)
            service.start_shadow()

        return Watch(name, path, lambda: client.list_all(path, lists), decoder, replace_all, change)

    # Looked up each time: a new configuration replaces the view.
    return [
        watch(
            *("resourceslices", SLICE, SLICE_LIST),
            lambda slices: pods(service).replace_slices(slices),
            lambda event, one: pods(service).change_slice(event, one),
        ),
        watch(
            *("deviceclasses", CLASS, CLASS_LIST),
            lambda classes: pods(service).claims.replace_classes(classes),
            lambda event, one: pods(service).claims.change_class(event, one),
        ),
        watch(
            *("resourceclaims", CLAIM, CLAIM_LIST),
            lambda claims: pods(service).replace_claims(claims),
            lambda event, one: pods(service).change_claim(event, one),
        ),
    ]


def pods(service: Service) -> ClaimPods:
    assert service.view.claim_pods is not None
    return service.view.claim_pods

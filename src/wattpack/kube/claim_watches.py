"""The watches of slices, device classes and claims, for a service that allocates claims or shadows who does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wattpack.errors import UserError
from wattpack.kube.claim_pods import ClaimPods
from wattpack.kube.client import NOT_FOUND, ApiError, Client
from wattpack.kube.decode import NODE_NAME, Skipped
from wattpack.kube.dra.objects import CLAIM, CLASS
from wattpack.kube.dra.slice_objects import SLICE
from wattpack.kube.informer import Kind

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


def claim_watches(service: Service) -> list[Kind[Any]]:
    """Slices and classes first: what claims ask for and hold is read by them."""

    def kind(name: str, decoder: Any, replace: Any, change: Any, skip: Any, naming: tuple[str, ...] = ()) -> Kind[Any]:
        path = f"{RESOURCES}/{name}"

        def note(event: str, one: Skipped) -> None:
            skip(event, one)
            service.note_skipped(name, event, one)

        return Kind(
            service.client,
            path,
            decoder,
            change,
            note,
            replace,
            lambda asked_s: service.start_shadow(),
            naming,
        )

    # Looked up each time: a new configuration replaces the view. Without a slice or class that cannot be decoded its
    # devices are not there; a claim is kept as it was known, and the pools that it names are closed.
    return [
        kind(
            *("resourceslices", SLICE),
            lambda slices: pods(service).replace_slices(slices),
            lambda event, one: pods(service).change_slice(event, one),
            lambda event, one: pods(service).change_slice("DELETED", one),
        ),
        kind(
            *("deviceclasses", CLASS),
            lambda classes: pods(service).claims.replace_classes(classes),
            lambda event, one: pods(service).claims.change_class(event, one),
            lambda event, one: pods(service).claims.change_class("DELETED", one),
        ),
        kind(
            *("resourceclaims", CLAIM),
            lambda claims: pods(service).replace_claims(claims),
            lambda event, one: pods(service).change_claim(event, one),
            lambda event, one: skip_claim(service, event, one),
            ("pool", *NODE_NAME),
        ),
    ]


def skip_claim(service: Service, event: str, one: Skipped) -> None:
    if event == "DELETED" and (known := pods(service).claims.claims.get(one.key)) is not None:
        pods(service).change_claim(event, known)
    service.view.skip_holder(event, one)


def pods(service: Service) -> ClaimPods:
    assert service.view.claim_pods is not None
    return service.view.claim_pods

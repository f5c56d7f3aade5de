"""`fit` of a pod that does not exist yet: what it asks for is in templates of claims."""

from __future__ import annotations

import pytest

from kube.api_in_memory import in_a_loop
from kube.claims_in_memory import serving, two_nodes_with_slices
from wattpack.kube.claim_templates import read_templates
from wattpack.kube.decision import Decision
from wattpack.kube.objects import Unreadable
from wattpack.kube.questions import fit


async def fitted(template: str, namespace: str = "") -> Decision | None:
    """A pod of a file: it has no uid, and here no namespace. The template is there as `half`."""
    client = two_nodes_with_slices()
    client.add_template("half")
    service = await serving(client)
    pod = client.add_claiming_pod("p", template=template)
    pod.metadata.uid, pod.metadata.namespace = "", namespace
    assert service.view.claim_pods is not None
    service.view.claim_pods.claims.templates = await read_templates(client, pod)
    return fit(service.view, pod)


@in_a_loop
async def test_a_pod_that_names_a_template_is_told_where_it_would_go_and_on_which_device() -> None:
    decision = await fitted("half")
    assert decision is not None
    assert (decision.node, decision.gpus, decision.task.gpu_milli) == ("a", (0,), 500)
    assert "devices: a/gpu-0" in decision.note


@in_a_loop
async def test_a_template_that_is_not_there_is_named() -> None:
    with pytest.raises(Unreadable, match="resource claim gpu: neither the claim nor its template is known"):
        await fitted("other")


@in_a_loop
async def test_names_that_would_change_the_path_of_the_request_are_refused() -> None:
    for template, namespace in (("../../../api/v1/secrets", ""), ("half", "a/b"), ("half?x=1", "")):
        with pytest.raises(Unreadable, match="expected the name of a Kubernetes object"):
            await fitted(template, namespace)

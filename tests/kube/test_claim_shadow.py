"""Shadow mode with claims: pods and claims are watched apart, and either may be shown first."""

from __future__ import annotations

from kube.api_in_memory import asked, gpu_left, in_a_loop
from kube.claims_in_memory import ClaimsInMemory, serving, two_nodes_with_slices
from wattpack.kube.cluster import Cluster
from wattpack.kube.config import Config, LeaseConfig
from wattpack.kube.service import Service


def gpus_free(cluster: Cluster) -> dict[str, list[int]]:
    engine = cluster.engine()
    assert engine is not None
    return {name: engine.state.nodes[n].gpu_left[:2].tolist() for name, n in cluster.index.items()}


def bind(client: ClaimsInMemory, pod: str, node: str, device: str) -> None:
    """Another scheduler allocates and binds; no watch has shown it yet."""
    client.allocate(pod, node, device, pod=pod, milli=500)
    client.pods[pod]["spec"]["nodeName"] = node


@in_a_loop
async def test_shadow_mode_reads_claims_and_writes_none() -> None:
    """A pod that another scheduler binds, seen before its claim is; then the claim."""
    client = two_nodes_with_slices("p", "q")
    service = await serving(client, mode="shadow")
    assert service.shadow is not None
    client.pods["p"]["spec"]["nodeName"] = "b"
    service.change_pod("MODIFIED", client.pod("p"))
    client.allocate("p", "b", "gpu-0", pod="p", milli=500)
    assert gpu_left(service, "b") == [500, 1000]
    client.allocate("q", "b", "gpu-1", pod="q", milli=500)
    client.pods["q"]["spec"]["nodeName"] = "b"
    service.change_pod("MODIFIED", client.pod("q"))
    assert gpu_left(service, "b") == [500, 500]
    rows = {row["pod"]: row for row in service.shadow.table()["pods"]}
    assert rows["default/q"]["policy_node"] == "b"  # beside p, on its GPU
    assert client.written == []
    assert "shadow mode" in (await service.filter(asked(client.pod("q"), "a", "b"))).error


@in_a_loop
async def test_a_pod_is_judged_when_its_claim_is_shown_and_then_counts_in_both_clusters() -> None:
    client = two_nodes_with_slices("p")
    service = await serving(client, mode="shadow")
    assert service.shadow is not None
    client.pods["p"]["spec"]["nodeName"] = "b"
    service.change_pod("MODIFIED", client.pod("p"))
    assert service.shadow.table()["pods_placed_since_start"] == 0
    client.allocate("p", "b", "gpu-0", pod="p", milli=500)
    table = service.shadow.table()
    assert (table["pods_placed_since_start"], table["other_node"]) == (1, 1)  # FGD takes the first of equal nodes
    assert gpus_free(service.view.cluster) == {"a": [1000, 1000], "b": [500, 1000]}
    assert gpus_free(service.shadow.own) == {"a": [500, 1000], "b": [1000, 1000]}
    service.change_pod("DELETED", client.pod("p"))
    del client.claims["p"]["status"]
    client.put(client.claims["p"])
    assert gpus_free(service.view.cluster) == gpus_free(service.shadow.own)


@in_a_loop
async def test_after_a_restart_pods_that_hold_devices_are_the_same_in_both_clusters() -> None:
    """As for pods without claims: the policy's cluster begins as a copy of the real one, whatever is listed last."""
    client = two_nodes_with_slices("p", "q")
    client.shown = lambda claim: None
    bind(client, "p", "b", "gpu-0")
    bind(client, "q", "a", "gpu-1")
    for last in range(5):
        config = Config(
            target="default", policy="fgd", mode="shadow", allocate_claims=True, lease=LeaseConfig(enabled=False)
        )
        service = Service(config, client, "one")
        assert service.shadow is not None
        watches = service.watches()
        for watch in (*watches[:last], *watches[last + 1 :], watches[last]):
            assert not service.shadow.started
            await watch.relist()
        assert service.shadow.started
        assert service.shadow.table()["pods_placed_since_start"] == 0
        assert gpus_free(service.shadow.own) == {"a": [1000, 500], "b": [500, 1000]}
        assert gpus_free(service.view.cluster) == gpus_free(service.shadow.own)

"""The faults of test_live_faults.py with claims: each ends with all pods bound, no device above its capacity, no claim
allocated without a pod, none bound twice.

A pod with a claim takes three writes: the claim's finalizer, its allocation with the pod, and the Binding. When a scene
ends its pods are deleted, and every claim must then be freed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.api import wait_until
from e2e.audit import pending, placements
from e2e.chaos import Rule
from e2e.claim_audit import claims_of, newly_taken, shares_of, still_allocated
from e2e.claim_objects import CLAIMS, SLICES, bare_node, slice_object
from e2e.claim_scene import FREED_S, ClaimScene
from e2e.cluster import Cluster
from e2e.pod_watch import PODS
from e2e.scene import LEASE_S, MODELS, SETTLE_S

pytestmark = pytest.mark.e2e

FINALIZER, ALLOCATION, BINDING = r"/resourceclaims/[^/]+$", r"/resourceclaims/[^/]+/status$", r"/pods/[^/]+/binding\?"
WATCH_S = 0.5  # a change of a slice is shown by then; nothing orders it before the write of a claim
WRITES = {"finalizer": ("PATCH", FINALIZER), "allocation": ("PATCH", ALLOCATION), "binding": ("POST", BINDING)}


@pytest.fixture(scope="module")
def cluster(binaries_with_controllers: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(binaries_with_controllers, tmp_path_factory.mktemp("claim-faults")) as started:
        started.start_controller_manager()
        yield started


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("write", WRITES)
def test_a_service_killed_around_any_of_its_writes_loses_and_doubles_nothing(
    cluster: Cluster, write: str, moment: str
) -> None:
    """`before`: the write never comes. `after`: it is made, and the service does not live to hear so."""
    with ClaimScene(cluster, f"{write}-{moment}") as scene:
        scene.start_scheduler()
        flow = scene.flow()
        scene.kill_service(scene.behind, *WRITES[write], moment, times=2)
        scene.settle(flow)


def test_answers_that_get_lost_give_no_device_away_twice(cluster: Cluster) -> None:
    """Every write is made and its answer lost, a few times each; the service lives on."""
    with ClaimScene(cluster, "claim-lost") as scene:
        for method, path in WRITES.values():
            scene.behind.add(Rule(method, path, times=5, skip=5, lose_answer=True))
        scene.start_scheduler()
        scene.settle(scene.flow())


def test_the_apiserver_may_be_killed_and_come_back(cluster: Cluster) -> None:
    with ClaimScene(cluster, "claim-api") as scene:
        scene.survive_apiserver()


def test_a_claim_that_somebody_changes_in_between_is_read_again(cluster: Cluster) -> None:
    """A label is written to the claim just before our write: the API server answers 409, for real."""
    with ClaimScene(cluster, "claim-conflict") as scene:

        def touch(path: str) -> None:
            name = path.removesuffix("/status").rpartition("/")[2]
            cluster.admin.patch(f"{CLAIMS}/{name}", {"metadata": {"labels": {"touched": str(time.monotonic_ns())}}})

        for path in (FINALIZER, ALLOCATION):
            scene.behind.add(Rule("PATCH", path, times=10, skip=10, before=touch))
        scene.start_scheduler()
        scene.settle(scene.flow())


def test_devices_that_another_allocator_takes_at_the_same_moment_are_left_to_it(cluster: Cluster) -> None:
    """A rival allocates the whole device just before our write. The API server takes both; we look again, give back,
    and the pod goes elsewhere. The rival's claims are for a pod of its own.
    """
    with ClaimScene(cluster, "claim-rival") as scene:
        taken: list[tuple[str, str]] = []
        rivals = scene.rival_claims(8)

        def take_first(path: str, body: bytes) -> None:
            device = newly_taken(cluster.admin, body)
            if device is not None:
                taken.append(device)
                scene.allocate_for_rival(rivals.pop(), *device)

        scene.behind.add(Rule("PATCH", ALLOCATION, times=8, skip=10, before_with_body=take_first))
        scene.start_scheduler()
        flow = scene.flow()
        flow.join(SETTLE_S)
        wait_until(lambda: pending(cluster.admin) == ["rival"], SETTLE_S, "all pods but the rival's are bound")
        assert scene.faults() == []
        assert len(taken) >= 3
        assert scene.service.metrics()['wattpack_claims_total{outcome="taken_by_others"}'] >= len(taken)
        cluster.admin.delete(f"{PODS}/rival")
        wait_until(
            lambda: rival_gpus(cluster) == 0,
            FREED_S,
            lambda: f"the rival's claims are freed; still allocated:\n{still_allocated(cluster.admin)}",
        )
        scene.settle(flow)


def test_a_slice_that_changes_and_a_node_that_goes_in_between_take_nothing_with_them(cluster: Cluster) -> None:
    """Devices leave their slice, and a node goes with its slice, each just before an allocation on them is written."""
    with ClaimScene(cluster, "claim-slice") as scene:
        withdrawn: list[tuple[str, str]] = []
        gone: list[str] = []

        def withdraw(path: str, body: bytes) -> None:
            device = newly_taken(cluster.admin, body, whole=True)  # nobody else can get a part of it at the same moment
            if device is not None and len(withdrawn) < 5:
                withdrawn.append(device)
                scene.withdraw_device(*device)
                time.sleep(WATCH_S)

        def end_node(path: str, body: bytes) -> None:
            device = newly_taken(cluster.admin, body)
            if device is not None and not gone:
                gone.append(device[0])
                cluster.admin.delete(f"/api/v1/nodes/{gone[0]}")
                cluster.admin.delete(f"{SLICES}/{gone[0]}-gpus")
                time.sleep(WATCH_S)

        scene.behind.add(Rule("PATCH", ALLOCATION, skip=10, before_with_body=withdraw))
        scene.behind.add(Rule("PATCH", ALLOCATION, skip=50, before_with_body=end_node))
        scene.start_scheduler()
        flow = scene.flow()
        flow.join(SETTLE_S)
        assert len(gone) == 1
        wait_until(
            lambda: scene.nobody_on(gone[0]) and pending(cluster.admin) == [],
            SETTLE_S,
            lambda: f"{gone} is empty and all pods are bound, {pending(cluster.admin)} are not\n{scene.logs()}",
        )
        cluster.admin.create("/api/v1/nodes", bare_node(gone[0], 64000, 262144))
        cluster.admin.create(SLICES, slice_object(gone[0], 4, MODELS[int(gone[0][1:]) % 2], generation=20))
        scene.settle(flow)
        assert len(withdrawn) >= 3


def test_pods_deleted_between_the_writes_give_their_devices_back(cluster: Cluster) -> None:
    with ClaimScene(cluster, "claim-deleted") as scene:

        def delete(path: str) -> None:
            claim = cluster.admin.get(f"{CLAIMS}/{path.removesuffix('/status').rpartition('/')[2]}")
            owners = [one["name"] for one in claim["metadata"].get("ownerReferences") or []]
            name = owners[0] if owners else claim["metadata"]["name"]
            scene.deleted.add(name)
            cluster.admin.request("DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 0})

        def delete_pod(path: str) -> None:
            name = path.split("/")[-2]
            scene.deleted.add(name)
            cluster.admin.request("DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 0})

        scene.behind.add(Rule("PATCH", FINALIZER, times=5, skip=10, before=delete))
        scene.behind.add(Rule("PATCH", ALLOCATION, times=5, skip=20, before=delete))
        scene.behind.add(Rule("POST", BINDING, times=5, skip=30, before=delete_pod))
        scene.start_scheduler()
        flow = scene.flow()
        scene.settle(flow)
        assert len(scene.deleted) >= 10


def test_claims_deleted_between_filter_and_bind_are_not_written(cluster: Cluster) -> None:
    """The claim is deleted and made again under its name just before the write: the pod waits, and gets the new one."""
    with ClaimScene(cluster, "claim-gone") as scene:

        def replace(path: str) -> None:
            where = f"{CLAIMS}/{path.rpartition('/')[2]}"
            claim = cluster.admin.get(where)
            if claim["metadata"].get("ownerReferences"):
                return
            cluster.admin.delete(where)
            kept = {key: claim["metadata"][key] for key in ("name", "namespace")}
            cluster.admin.create(CLAIMS, {**{k: claim[k] for k in ("apiVersion", "kind", "spec")}, "metadata": kept})

        scene.behind.add(Rule("PATCH", FINALIZER, times=10, skip=10, before=replace))
        scene.start_scheduler()
        scene.settle(scene.flow())


def test_when_the_leader_dies_or_is_cut_off_the_other_replica_goes_on(cluster: Cluster) -> None:
    with ClaimScene(cluster, "claim-leader") as scene:
        first, other = scene.two_replicas()
        flow = scene.flow()
        scene.wait_bound(40)
        scene.behind.cut = True  # first cut off, then dead
        scene.behind.drop_streams()
        time.sleep(LEASE_S + 1)
        scene.processes.kill(first)
        scene.service.kill()
        scene.settle(flow, service=other)
        assert other.metrics()["wattpack_leader"] == 1


def test_pods_that_share_a_claim_are_on_one_node_and_hold_it_together(cluster: Cluster) -> None:
    """The claim is counted once, stays while any of its pods is there, and is freed after the last."""
    with ClaimScene(cluster, "claim-shared") as scene:
        scene.start_scheduler()
        names = scene.sharing_pods("shared", 5)
        scene.created += names
        still = threading.Thread(target=lambda: None)
        still.start()
        scene.settle(still)
        assert len({placements(cluster.admin)[name].node for name in names}) == 1
        assert scene.gpus_held() == 0.5
        for name in names[:-1]:
            cluster.admin.delete(f"{PODS}/{name}")
        scene.deleted |= set(names[:-1])
        wait_until(lambda: len(claims_of(cluster.admin)["shared"]["status"]["reservedFor"]) == 1, 30, "one pod is left")
        scene.settle(still)
        assert len(shares_of(claims_of(cluster.admin)["shared"])) == 1


def rival_gpus(cluster: Cluster) -> int:
    return sum(len(shares_of(claim)) for name, claim in claims_of(cluster.admin).items() if name.startswith("rival"))

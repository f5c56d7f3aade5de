"""Writes to claims: what is sent, and that nothing of others is overwritten."""

from __future__ import annotations

import json

import pytest

from kube.api_in_memory import in_a_loop
from kube.claims_in_memory import ClaimsInMemory
from wattpack.kube.claim_writes import allocate, get_claim, give_back, protect, reserve
from wattpack.kube.client import ApiError
from wattpack.kube.dra.objects import CLAIM, DELETE_PROTECTION, Allocation, Consumer, ResourceClaim, Result, Results

POD, OTHER = Consumer(resource="pods", name="p", uid="uid-p"), Consumer(resource="pods", name="q", uid="uid-q")
HALF = Result("gpu", "gpu.nvidia.com", "a", "gpu-0", share="s", consumed_capacity={"milli": "500"})
ON_GPU_0 = Allocation(Results([HALF]))


def known(api: ClaimsInMemory, name: str = "c") -> ResourceClaim:
    return CLAIM.decode(json.dumps(api.claims[name]))


@in_a_loop
async def test_an_allocated_claim_has_the_finalizer_the_devices_and_its_pod() -> None:
    api = ClaimsInMemory()
    api.add_claim("c")
    claim = await protect(api, known(api), 1)
    await allocate(api, claim, ON_GPU_0, POD, 1)
    written = api.claims["c"]
    assert written["metadata"]["finalizers"] == [DELETE_PROTECTION]
    assert written["status"] == {
        "allocation": {
            "devices": {
                "results": [
                    {
                        "request": "gpu",
                        "driver": "gpu.nvidia.com",
                        "pool": "a",
                        "device": "gpu-0",
                        "shareID": "s",
                        "consumedCapacity": {"milli": "500"},
                    }
                ]
            }
        },
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "uid-p"}],
    }
    assert api.written == ["c", "c/status"]


@in_a_loop
async def test_a_finalizer_that_is_there_and_a_pod_that_is_there_are_not_written_again() -> None:
    api = ClaimsInMemory()
    api.add_claim("c")
    claim = await allocate(api, await protect(api, known(api), 1), ON_GPU_0, POD, 1)
    assert await protect(api, claim, 1) is claim
    assert await reserve(api, claim, POD, 1) is claim
    assert api.written == ["c", "c/status"]


@in_a_loop
async def test_a_claim_that_others_changed_is_refused_with_409_and_stays_as_it_is() -> None:
    api = ClaimsInMemory()
    api.add_claim("c")
    before = known(api)
    api.put({**api.claims["c"], "status": {"reservedFor": [{"resource": "pods", "name": "q", "uid": "uid-q"}]}})
    for write in (protect(api, before, 1), allocate(api, before, ON_GPU_0, POD, 1), reserve(api, before, POD, 1)):
        with pytest.raises(ApiError, match="409"):
            await write
    assert api.claims["c"]["status"] == {"reservedFor": [{"resource": "pods", "name": "q", "uid": "uid-q"}]}


@in_a_loop
async def test_a_claim_of_the_same_name_and_another_uid_is_refused() -> None:
    api = ClaimsInMemory()
    api.add_claim("c")
    before = known(api)
    before.metadata.uid = "uid-of-one-that-was-deleted"
    with pytest.raises(ApiError, match="409"):
        await protect(api, before, 1)


@in_a_loop
async def test_the_last_pod_takes_the_allocation_and_the_finalizer_with_it() -> None:
    api = ClaimsInMemory()
    api.add_claim("c")
    claim = await allocate(api, await protect(api, known(api), 1), ON_GPU_0, POD, 1)
    claim = await reserve(api, claim, OTHER, 1)
    claim = await give_back(api, claim, POD.uid, 1)
    assert [one["name"] for one in api.claims["c"]["status"]["reservedFor"]] == ["q"]
    assert "allocation" in api.claims["c"]["status"]
    await give_back(api, claim, OTHER.uid, 1)
    assert api.claims["c"]["status"] == {}
    assert api.claims["c"]["metadata"]["finalizers"] == []


@in_a_loop
async def test_a_claim_that_is_not_the_pod_s_is_not_given_back() -> None:
    api = ClaimsInMemory()
    api.add_claim("c")
    claim = await allocate(api, await protect(api, known(api), 1), ON_GPU_0, OTHER, 1)
    written = list(api.written)
    assert await give_back(api, claim, POD.uid, 1) is claim
    assert api.written == written
    assert (await get_claim(api, claim)).status.allocation is not None

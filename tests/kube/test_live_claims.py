"""Claims by version: what is newest counts, whoever showed it first."""

from __future__ import annotations

import asyncio

import pytest

from kube.api_in_memory import in_a_loop
from wattpack.kube.dra.objects import ResourceClaim
from wattpack.kube.live_claims import LiveClaims
from wattpack.kube.objects import Metadata

KEY = ("default", "c")


def claim(version: int, uid: str = "u") -> ResourceClaim:
    return ResourceClaim(Metadata(name="c", namespace="default", uid=uid, resource_version=str(version)))


def version_of(claims: LiveClaims) -> str:
    found = claims.get(KEY)
    assert found is not None
    return found.metadata.resource_version


def test_an_older_event_does_not_undo_our_own_write() -> None:
    claims = LiveClaims()
    claims.change("ADDED", claim(3))
    assert claims.take(claim(7))  # the answer to our write
    assert not claims.change("MODIFIED", claim(5))
    assert version_of(claims) == "7"
    assert claims.change("MODIFIED", claim(9))
    assert version_of(claims) == "9"


def test_a_list_names_what_changed_and_what_has_gone() -> None:
    claims = LiveClaims()
    claims.replace([claim(3)])
    assert claims.replace([claim(3)]) == []
    assert claims.replace([claim(4)]) == [KEY]
    assert claims.replace([]) == [KEY]
    assert len(claims) == 0


def test_a_deleted_claim_is_gone() -> None:
    claims = LiveClaims()
    claims.change("ADDED", claim(3))
    assert claims.change("DELETED", claim(4))
    assert not claims.change("DELETED", claim(4))
    assert claims.get(KEY) is None


@in_a_loop
async def test_a_write_counts_as_seen_when_the_watch_has_reached_its_version() -> None:
    claims = LiveClaims()
    claims.change("ADDED", claim(3))
    written = claim(7)
    claims.take(written)
    waiting = asyncio.ensure_future(claims.seen([written], 5))
    await asyncio.sleep(0)
    claims.change("MODIFIED", claim(6))
    await asyncio.sleep(0)
    assert not waiting.done()
    claims.change("MODIFIED", claim(7))
    await waiting
    await claims.seen([written], 0)  # and from then on at once
    with pytest.raises(TimeoutError):
        await claims.seen([claim(8)], 0.01)

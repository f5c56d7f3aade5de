"""A new configuration while the service runs: reservations are taken over."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from kube.api_in_memory import asked, bindings_wait, gpu_left, in_a_loop, reservation_of, started, to_bind, two_nodes
from wattpack.errors import UserError
from wattpack.kube.config import LeaseConfig, read_config
from wattpack.kube.reservations import State
from wattpack.kube.run import contents, take_config


@in_a_loop
async def test_a_new_configuration_takes_over_reservations_in_their_state() -> None:
    client = two_nodes("p", "q")
    service = await started(client)
    for pod in ("p", "q"):
        await service.filter(asked(client.pod(pod), "a", "b"))
    client.late = True
    await service.bind(to_bind("q", "a"))  # without an answer
    old = service.view
    await take_config(service, msgspec.structs.replace(service.config, policy="ocs"))
    assert service.view is not old
    assert gpu_left(service, "a") == [0, 1000]
    assert reservation_of(service, "uid-p").state is State.ASSUMED
    assert reservation_of(service, "uid-q").state is State.BOUND


@in_a_loop
async def test_a_binding_that_is_refused_after_a_new_configuration_ends_its_reservation() -> None:
    client = two_nodes("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    answered = bindings_wait(client)
    binding = asyncio.ensure_future(service.bind(to_bind("p", "a")))
    await asyncio.sleep(0.01)
    await take_config(service, msgspec.structs.replace(service.config, policy="ocs"))
    assert gpu_left(service, "a") == [500, 1000]
    client.refused = True
    answered.set()
    assert "refused" in (await binding).error
    assert gpu_left(service, "a") == [1000, 1000]


@in_a_loop
async def test_a_configuration_that_needs_a_restart_is_rejected() -> None:
    service = await started(two_nodes())
    with pytest.raises(UserError, match="cannot be changed without a restart"):
        await take_config(service, msgspec.structs.replace(service.config, lease=LeaseConfig(duration_s=3)))


def test_a_power_file_is_taken_over_and_its_change_is_noticed(tmp_path: Path) -> None:
    asyncio.run(a_power_file_is_taken_over(tmp_path))


async def a_power_file_is_taken_over(tmp_path: Path) -> None:
    """Two nodes of 100 W base power each."""
    power, file = tmp_path / "own.toml", tmp_path / "wattpack.toml"
    power.write_text("[node]\nbase_w = 100\n")
    file.write_text('power_file = "own.toml"\n')
    service = await started(two_nodes())
    before_w = service.view.cluster.power_w()
    config = msgspec.structs.replace(service.config, power_file=read_config(file).power_file)
    await take_config(service, config)
    assert service.view.cluster.power_w() == before_w + 200
    before = contents(file, config)
    power.write_text("[node]\nbase_w = 120\n")
    assert contents(file, config) != before

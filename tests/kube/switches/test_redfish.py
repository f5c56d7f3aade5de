"""Redfish against BMCs that are slow, refuse, lie or vanish. Against the real emulator: tests/e2e/test_redfish.py."""

from __future__ import annotations

import logging
import ssl
import traceback
from pathlib import Path

import pytest
from aiohttp import web

from kube.api_in_memory import InMemory
from kube.switches.bmc import PASSWORD, SYSTEM, USER, Bmc, in_a_loop, sure, switch_of
from kube.switches.certificate import self_signed
from wattpack.kube.switches.config import RedfishConfig
from wattpack.kube.switches.credentials import Credential
from wattpack.kube.switches.redfish import Redfish
from wattpack.kube.switches.switch import Machine, Power, SwitchError


def shows_no_credential(fault: BaseException) -> None:
    """Neither in the message nor in anything that a traceback would print."""
    told = "".join(traceback.format_exception(fault))
    header = Credential(USER, PASSWORD).header().removeprefix("Basic ")
    assert PASSWORD not in told
    assert header not in told
    assert len(str(fault).splitlines()) == 1


@in_a_loop
async def test_the_power_state_is_read_from_the_only_system_of_the_bmc(folder: Path) -> None:
    bmc = Bmc()
    async with switch_of(bmc, folder) as (switch, machine):
        for said, power in {
            "On": Power.ON,
            "Off": Power.OFF,
            "PoweringOn": Power.CHANGING,
            "PoweringOff": Power.CHANGING,
            "Paused": Power.UNKNOWN,
        }.items():
            bmc.power = said
            assert await switch.read(machine) is power
    # The collection is asked for once.
    assert [path for _, path, _ in bmc.asked] == ["/redfish/v1/Systems", *[SYSTEM] * 5]


@in_a_loop
async def test_a_machine_is_shut_down_gracefully_never_cut_off(folder: Path) -> None:
    bmc = Bmc()
    async with switch_of(bmc, folder) as (switch, machine):
        await switch.turn_off(machine, sure)
        assert await switch.read(machine) is Power.OFF
        await switch.turn_on(machine)
        assert await switch.read(machine) is Power.ON
        bmc.allowed = ["On", "ForceOff"]
        with pytest.raises(SwitchError, match="does not offer GracefulShutdown, only On, ForceOff"):
            await switch.turn_off(machine, sure)
    assert bmc.resets == ["GracefulShutdown", "On"]


@in_a_loop
async def test_an_order_that_is_carried_out_already_is_not_sent_again(folder: Path) -> None:
    bmc = Bmc()
    async with switch_of(bmc, folder) as (switch, machine):
        for state in ("On", "PoweringOn"):
            bmc.power = state
            await switch.turn_on(machine)
        for state in ("Off", "PoweringOff"):
            bmc.power = state
            await switch.turn_off(machine, sure)
    assert bmc.resets == []


@in_a_loop
async def test_a_bmc_that_names_no_reset_types_or_no_target_is_asked_at_the_usual_place(folder: Path) -> None:
    bmc = Bmc()
    bmc.allowed, bmc.target = None, ""
    async with switch_of(bmc, folder, SYSTEM) as (switch, machine):
        await switch.turn_off(machine, sure)
    assert bmc.asked[-1] == ("POST", f"{SYSTEM}/Actions/ComputerSystem.Reset", {"ResetType": "GracefulShutdown"})


@in_a_loop
async def test_a_slow_bmc_is_given_up_after_the_time_limit(folder: Path) -> None:
    bmc = Bmc()
    bmc.delay_s = 5
    async with switch_of(bmc, folder, SYSTEM, timeout_s=0.2) as (switch, machine):
        for order in (switch.read, lambda one: switch.turn_off(one, sure), switch.turn_on):
            with pytest.raises(SwitchError, match=r"no answer within 0\.2 s") as caught:
                await order(machine)
            shows_no_credential(caught.value)


@in_a_loop
async def test_a_bmc_that_refuses_is_told_with_its_message_identifier_only(folder: Path) -> None:
    bmc = Bmc()
    async with switch_of(bmc, folder, SYSTEM) as (switch, machine):
        said = {"error": {"@Message.ExtendedInfo": [{"MessageId": "Base.1.8.InsufficientPrivilege"}]}}
        bmc.answer = web.json_response(said, status=403)
        with pytest.raises(SwitchError, match=r"node-1: GET .* answered 403 \(Base\.1\.8\.InsufficientPrivilege\)"):
            await switch.read(machine)
        for echo in (PASSWORD, f"no\nuser {USER}"):
            bmc.answer = web.json_response({"error": {"@Message.ExtendedInfo": [{"MessageId": echo}]}}, status=503)
            with pytest.raises(SwitchError, match=r"answered 503$") as caught:
                await switch.turn_off(machine, sure)
            shows_no_credential(caught.value)


@in_a_loop
async def test_a_refused_password_is_not_sent_again_until_it_changes_since_bmcs_lock_accounts(folder: Path) -> None:
    bmc = Bmc()
    bmc.password = "another-password"
    async with switch_of(bmc, folder, SYSTEM) as (switch, machine):
        with pytest.raises(SwitchError, match=r"refused the user or the password \(401\)") as caught:
            await switch.read(machine)
        shows_no_credential(caught.value)
        for _ in range(3):
            with pytest.raises(SwitchError, match="not sent again for 300 s"):
                await switch.read(machine)
        assert len(bmc.asked) == 1
        (folder / "password").write_text("another-password")
        assert await switch.read(machine) is Power.ON


@in_a_loop
async def test_a_bmc_that_accepts_and_stays_as_it_was_is_seen_by_reading_again(folder: Path) -> None:
    """It is the reader's part to give up: the switch says what the BMC says, and may be told as often as needed."""
    bmc = Bmc()
    bmc.obeys, bmc.power = False, "Off"
    async with switch_of(bmc, folder) as (switch, machine):
        for _ in range(3):
            await switch.turn_on(machine)
            assert await switch.read(machine) is Power.OFF
    assert bmc.resets == ["On"] * 3


@in_a_loop
async def test_a_bmc_that_has_vanished_is_an_error_of_one_line(folder: Path) -> None:
    bmc = Bmc()
    async with switch_of(bmc, folder, SYSTEM) as (switch, machine):
        pass
    async with switch_of(bmc, folder, addresses={"node-1": switch.config.addresses["node-1"]}) as (switch, machine):
        with pytest.raises(SwitchError, match="no answer") as caught:
            await switch.read(machine)
        shows_no_credential(caught.value)


@in_a_loop
async def test_what_is_no_redfish_is_an_error_of_one_line(folder: Path) -> None:
    bmc = Bmc()
    async with switch_of(bmc, folder, SYSTEM) as (switch, machine):
        for body in (b"<html>", b"[1]", b'{"PowerState": 7}', b"\xff\xfe"):
            bmc.answer = web.Response(body=body)
            with pytest.raises(SwitchError, match="no answer of Redfish"):
                await switch.read(machine)
        bmc.answer = web.Response(body=b"x" * (2 << 20))
        with pytest.raises(SwitchError, match="more than 1048576 bytes"):
            await switch.read(machine)


@in_a_loop
async def test_several_systems_and_none_ask_for_the_path_of_the_right_one(folder: Path) -> None:
    bmc = Bmc()
    async with switch_of(bmc, folder) as (switch, machine):
        for systems in ([], [SYSTEM, "/redfish/v1/Systems/HGX"]):
            bmc.systems = systems
            with pytest.raises(SwitchError, match=f"has {len(systems)} systems, expected one"):
                await switch.read(machine)


@in_a_loop
async def test_a_bmc_cannot_send_the_password_elsewhere(folder: Path) -> None:
    """Neither by a redirect nor by a link."""
    bmc, thief = Bmc(), Bmc()
    async with switch_of(thief, folder) as (other, _), switch_of(bmc, folder) as (switch, machine):
        elsewhere = other.config.addresses["node-1"]
        bmc.target = f"{elsewhere}/reset"
        with pytest.raises(SwitchError, match="points to another host, which was not called"):
            await switch.turn_off(machine, sure)
        bmc.answer = web.Response(status=307, headers={"Location": elsewhere})
        with pytest.raises(SwitchError, match="answered 307"):
            await switch.read(machine)
        assert thief.asked == []


@in_a_loop
async def test_an_annotation_may_name_the_bmc_only_within_the_hosts_that_are_allowed(folder: Path) -> None:
    bmc = Bmc()
    hosts = ["127.0.0.0/30", ".bmc.example"]
    async with switch_of(bmc, folder, annotation="example.com/bmc", hosts=hosts) as (switch, _):
        address = switch.config.addresses["node-1"]
        assert await switch.read(Machine("other", {"example.com/bmc": address}, "")) is Power.ON
        for wrong in ("https://10.0.0.1", "https://bmc.example.org", "https://127.0.0.9"):
            with pytest.raises(SwitchError, match="not in hosts"):
                await switch.read(Machine("other", {"example.com/bmc": wrong}, ""))
        with pytest.raises(SwitchError, match="holds a user or a password") as caught:
            await switch.read(Machine("other", {"example.com/bmc": f"https://me:{PASSWORD}@127.0.0.1"}, ""))
        shows_no_credential(caught.value)
        with pytest.raises(SwitchError, match="other: no BMC address"):
            await switch.read(Machine("other", {}, ""))


@in_a_loop
async def test_tls_is_verified_unless_told(folder: Path) -> None:
    """The certificate of the test's own making is not one of the system's authorities."""
    certificate, key = self_signed(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    bmc = Bmc()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", bmc.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    address = f"https://127.0.0.1:{runner.addresses[0][1]}"
    (folder / "username").write_text(USER)
    (folder / "password").write_text(PASSWORD)
    machine = Machine("node-1", {}, "")
    try:
        for more, works in (({}, False), ({"ca_file": str(certificate)}, True), ({"verify": False}, True)):
            config = RedfishConfig(addresses={"node-1": address}, credentials=str(folder), **more)
            switch = Redfish(config, InMemory())
            try:
                if works:
                    assert await switch.read(machine) is Power.ON
                else:
                    with pytest.raises(SwitchError, match="its certificate is not accepted"):
                        await switch.read(machine)
                    assert bmc.asked == []
            finally:
                await switch.close()
    finally:
        await runner.cleanup()


def test_nothing_that_is_logged_holds_a_credential(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    @in_a_loop
    async def work(folder: Path) -> None:
        bmc = Bmc()
        async with switch_of(bmc, folder, SYSTEM) as (switch, machine):
            await switch.turn_off(machine, sure)
            bmc.answer = web.Response(status=500, text="broken")
            with pytest.raises(SwitchError):
                await switch.turn_on(machine)
            assert PASSWORD not in repr(await switch.credentials.of("node-1"))
            assert all(header == Credential(USER, PASSWORD).header() for header in bmc.sent_headers)

    work(tmp_path)
    assert PASSWORD not in caplog.text

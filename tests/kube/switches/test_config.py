"""The keys of the switch in use are checked; those of the others are not looked at."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from wattpack.kube.switches.config import SwitchConfig, host_allowed, problems_of_switch

PASSWORD = "hunter2"


def problems(power: str, **keys: Any) -> list[str]:
    return problems_of_switch(msgspec.convert({"power": power, power: keys}, SwitchConfig))


def test_what_is_usual_has_no_problem() -> None:
    assert problems("redfish", address="https://{node}.bmc.example", secret="bmc/{node}") == []
    assert problems("redfish", annotation="example.com/bmc", hosts=["10.1.0.0/16"], credentials="/etc/bmc") == []
    assert problems("metal3") == problems("metal3", host="metal3/{node}") == []
    assert problems("webhook", url="https://power.example/switch", token_file="/etc/token") == []
    assert problems("command", argv=["/usr/local/bin/power", "--quick"]) == []


@pytest.mark.parametrize(
    ("power", "keys", "expected"),
    [
        ("redfish", {"secret": "a/b"}, ["address: none, expected address, addresses or annotation"]),
        (
            "redfish",
            {"address": "https://bmc.example", "secret": "a/b"},
            ["address: without {node}, expected one that differs from node to node"],
        ),
        (
            "redfish",
            {"annotation": "a", "secret": "a/b"},
            ["hosts: none, expected the networks or domains of your BMCs, since annotation lets Nodes name theirs"],
        ),
        (
            "redfish",
            {"addresses": {"n": "ftp://x"}, "timeout_s": 0},
            [
                "addresses.n: no address, expected one like https://HOST",
                "secret: expected either secret (NAMESPACE/NAME) or credentials (a folder)",
                "timeout_s: 0, expected more than 0 and at most 120",
            ],
        ),
        (
            "redfish",
            {"address": f"https://me:{PASSWORD}@{{node}}", "secret": "b"},
            [
                "address: holds a user or a password, expected those in a Secret or a file",
                "secret: 'b', expected NAMESPACE/NAME",
            ],
        ),
        ("metal3", {"host": "all"}, ["host: 'all', expected NAMESPACE/NAME with {node}"]),
        (
            "webhook",
            {"url": "http://power.example", "token_file": "t"},
            ["url: http, expected https, since the token must not travel in clear text"],
        ),
        ("webhook", {"url": "https://x:70000"}, ["url: no address, expected one like https://HOST"]),
        ("command", {}, ["argv: none, expected a program and its arguments"]),
    ],
)
def test_every_problem_is_a_line_with_its_key_and_no_password(
    power: str, keys: dict[str, Any], expected: list[str]
) -> None:
    assert problems(power, **keys) == [f"sleep.{power}.{line}" for line in expected]
    assert PASSWORD not in str(problems(power, **keys))


def test_an_unknown_key_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field `passwort`"):
        problems("redfish", passwort=PASSWORD)


def test_hosts_are_networks_names_and_domains() -> None:
    hosts = ["10.1.0.0/16", "one.example", ".bmc.example", "fd00::/8"]
    for address in ("https://10.1.2.3", "https://one.example:8443", "https://n7.bmc.example", "https://[fd00::7]"):
        assert host_allowed(address, hosts), address
    for address in ("https://10.2.2.3", "https://two.example", "https://bmc.example", "https://xbmc.example"):
        assert not host_allowed(address, hosts), address

"""The keys of a power switch in the `[sleep]` section: which one, and how it reaches the machines."""

from __future__ import annotations

import ipaddress
import string
from collections.abc import Iterator
from typing import Literal
from urllib.parse import urlsplit

import msgspec

LONGEST_TIMEOUT_S = 120.0


class RedfishConfig(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Machines with a Redfish controller (BMC). `{node}` in a text stands for the name of the Node."""

    address: str = ""  # https://{node}.bmc.example or with the path of the system, .../redfish/v1/Systems/1
    addresses: dict[str, str] = {}  # by node; goes before `address`
    annotation: str = ""  # a Node's annotation that holds the address; goes before both
    hosts: list[str] = []  # where an address from an annotation may lead: networks, names, .domains
    secret: str = ""  # NAMESPACE/NAME with the keys username and password
    credentials: str = ""  # a folder with the files username and password, such as a mounted Secret
    ca_file: str = ""
    verify: bool = True
    timeout_s: float = 10


class Metal3Config(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Machines that Metal3 runs: `spec.online` of the BareMetalHost."""

    host: str = ""  # NAMESPACE/NAME, may hold {node}; empty: from the Node's providerID
    namespace: str = "metal3"  # where to look for a host that the providerID names by its uid


class WebhookConfig(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A service of your own, asked by POST with JSON."""

    url: str = ""
    token_file: str = ""
    ca_file: str = ""
    verify: bool = True
    timeout_s: float = 10


class CommandConfig(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A program of your own: ARGV... read|on|off NODE. No shell is involved."""

    argv: list[str] = []
    timeout_s: float = 30


class SwitchConfig(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The part of `[sleep]` that is about power. Tables of switches that `power` does not name are not used."""

    power: Literal["redfish", "metal3", "webhook", "command"] = "redfish"
    redfish: RedfishConfig = RedfishConfig()
    metal3: Metal3Config = Metal3Config()
    webhook: WebhookConfig = WebhookConfig()
    command: CommandConfig = CommandConfig()


def problems_of_switch(config: SwitchConfig) -> list[str]:
    """All errors in the values of the switch in use, one line each."""
    problems = {
        "redfish": lambda: _redfish(config.redfish),
        "metal3": lambda: _metal3(config.metal3),
        "webhook": lambda: _webhook(config.webhook),
        "command": lambda: _command(config.command),
    }
    return [f"sleep.{config.power}.{line}" for line in problems[config.power]()]


def _redfish(config: RedfishConfig) -> Iterator[str]:
    if not (config.address or config.addresses or config.annotation):
        yield "address: none, expected address, addresses or annotation"
    if config.address and "{node}" not in config.address:
        yield "address: without {node}, expected one that differs from node to node"
    given = {"address": config.address} if config.address else {}
    given |= {f"addresses.{node}": address for node, address in config.addresses.items()}
    for key, address in given.items():
        if fault := address_fault(filled(address, "node")):
            yield f"{key}: {fault}"
    # Whoever may annotate a Node, its own kubelet included, would otherwise choose who is sent the password.
    if config.annotation and not config.hosts:
        yield "hosts: none, expected the networks or domains of your BMCs, since annotation lets Nodes name theirs"
    for host in config.hosts:
        if not _is_network(host) and not host.strip("."):
            yield f"hosts: {host!r}, expected a network, a name or a .domain"
    if bool(config.secret) == bool(config.credentials):
        yield "secret: expected either secret (NAMESPACE/NAME) or credentials (a folder)"
    if config.secret and config.secret.count("/") != 1:
        yield f"secret: {config.secret!r}, expected NAMESPACE/NAME"
    yield from _timeout(config.timeout_s)


def _metal3(config: Metal3Config) -> Iterator[str]:
    if config.host and (config.host.count("/") != 1 or "{node}" not in config.host):
        yield f"host: {config.host!r}, expected NAMESPACE/NAME with {{node}}"


def _webhook(config: WebhookConfig) -> Iterator[str]:
    if fault := address_fault(config.url):
        yield f"url: {fault}"
    elif config.token_file and config.url.startswith("http:"):
        yield "url: http, expected https, since the token must not travel in clear text"
    yield from _timeout(config.timeout_s)


def _command(config: CommandConfig) -> Iterator[str]:
    if not config.argv or not config.argv[0]:
        yield "argv: none, expected a program and its arguments"
    yield from _timeout(config.timeout_s)


def _timeout(timeout_s: float) -> Iterator[str]:
    if not 0 < timeout_s <= LONGEST_TIMEOUT_S:
        yield f"timeout_s: {timeout_s:g}, expected more than 0 and at most {LONGEST_TIMEOUT_S:g}"


def filled(pattern: str, node: str) -> str:
    """The pattern with the node's name in it. Not str.format: braces of others stay as they are."""
    return pattern.replace("{node}", node)


def address_fault(address: str) -> str:
    """What is wrong with an address, or "". The text never holds the address: it may hold a password."""
    try:
        parts = urlsplit(address)
        port = parts.port  # parsed only when it is read
    except ValueError:
        return "no address, expected one like https://HOST"
    if parts.username is not None or parts.password is not None:
        return "holds a user or a password, expected those in a Secret or a file"
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        return "no address, expected one like https://HOST"
    if parts.query or parts.fragment or any(letter in string.whitespace for letter in address):
        return "expected an address without ? and #"
    return ""


def host_allowed(address: str, hosts: list[str]) -> bool:
    """Whether an address leads to one of the hosts: a network (10.1.0.0/16), a name, or a .domain and all below it."""
    name = urlsplit(address).hostname or ""
    for host in hosts:
        if _is_network(host):
            try:
                if ipaddress.ip_address(name) in ipaddress.ip_network(host, strict=False):
                    return True
            except ValueError:  # a name is in no network: what it resolves to may change after this look
                continue
        elif name == host.lower() or (host.startswith(".") and name.endswith(host.lower())):
            return True
    return False


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True

"""Every power switch by its name in the configuration. Needs aiohttp, which reading a configuration must not."""

from __future__ import annotations

from collections.abc import Callable

from wattpack.kube.client import Client
from wattpack.kube.switches.command import Command
from wattpack.kube.switches.config import SwitchConfig
from wattpack.kube.switches.metal3 import Metal3
from wattpack.kube.switches.redfish import Redfish
from wattpack.kube.switches.switch import Switch
from wattpack.kube.switches.webhook import Webhook

SWITCHES: dict[str, Callable[[SwitchConfig, Client], Switch]] = {
    "redfish": lambda config, client: Redfish(config.redfish, client),
    "metal3": lambda config, client: Metal3(config.metal3, client),
    "webhook": lambda config, _: Webhook(config.webhook),
    "command": lambda config, _: Command(config.command),
}


def new_switch(config: SwitchConfig, client: Client) -> Switch:
    """The switch that the configuration names. Called in a running loop, since some hold connections."""
    return SWITCHES[config.power](config, client)

"""The `[sleep]` section of the service's configuration. Without it, no node is looked at."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from wattpack.errors import UserError
from wattpack.kube.constraints import Wish
from wattpack.kube.sleep.selector import parse_selector
from wattpack.kube.switches.config import SwitchConfig, problems_of_switch
from wattpack.model.durations import seconds_of
from wattpack.model.sleeping import RESERVE_PERCENT, reserve_of, reserve_text

AUTO = "auto"
LEAST_BINDING_S = 5.0  # a scheduler needs that long to see the taint at all
SHUTDOWN_AND_WAKE_S = 360.0  # of a machine, for `idle = "auto"`: the defaults of `simulate --sleep`


class SleepConfig(SwitchConfig, forbid_unknown_fields=True, frozen=True, dict=True):
    """What a user may set; docs/guide/serve.md describes each key."""

    mode: Literal["advise", "act"] = "advise"
    nodes: str = ""  # label selector: no other node is ever touched
    reserve: str | int = f"{RESERVE_PERCENT}%"  # GPUs of these nodes that stay free and awake
    idle: str = "10m"  # a node sleeps when it has been empty for this long; "auto": ski rental, by node
    at_most: int = 5  # nodes in transition at once
    floor: int = 1  # nodes that stay awake, whatever the reserve
    per_hour: int = 60  # machines switched off within an hour
    # A scheduler may still bind a pod that it assumed before it saw the taint. kube-scheduler waits that long for the
    # volumes of a pod, and does not bind it afterwards (bindTimeoutSeconds, 600).
    binding_timeout: str = "10m"
    schedulers: tuple[str, ...] = ("wattpack",)  # only their waiting pods wake nodes
    wake_timeout: str = "15m"  # a node that is not Ready by then is given up, and another one is woken
    shutdown_timeout: str = "15m"  # a machine that is not off by then is given up
    drain_timeout: str = "1h"  # a node that is not empty by then stays awake
    wake_for_reserve: bool = True  # also wake nodes when the reserve is short
    consolidate: bool = False  # evict pods that may move, so that nodes become empty
    sleep_w: float = 10.0  # of a machine that is off

    @property
    def acts(self) -> bool:
        return self.mode == "act"

    @cached_property
    def selector(self) -> tuple[Wish, ...]:
        return parse_selector(self.nodes)

    @cached_property
    def idle_s(self) -> float | None:
        """None: ski rental, by node."""
        return None if self.idle == AUTO else seconds_of(self.idle, "sleep.idle:")

    @cached_property
    def binding_timeout_s(self) -> float:
        return seconds_of(self.binding_timeout, "sleep.binding_timeout:")

    @cached_property
    def wake_timeout_s(self) -> float:
        return seconds_of(self.wake_timeout, "sleep.wake_timeout:")

    @cached_property
    def shutdown_timeout_s(self) -> float:
        return seconds_of(self.shutdown_timeout, "sleep.shutdown_timeout:")

    @cached_property
    def drain_timeout_s(self) -> float:
        return seconds_of(self.drain_timeout, "sleep.drain_timeout:")

    @cached_property
    def reserve_text(self) -> str:
        return reserve_text(str(self.reserve), "sleep")

    def reserve_gpus(self, gpus: int) -> int:
        """The reserve of so many GPUs."""
        return reserve_of(self.reserve_text, gpus)


def problems_of_sleep(config: SleepConfig, service_mode: str) -> list[str]:
    """All errors in the values, one line each."""
    found = []
    for name in (
        "selector",
        "idle_s",
        "binding_timeout_s",
        "wake_timeout_s",
        "shutdown_timeout_s",
        "drain_timeout_s",
        "reserve_text",
    ):
        try:
            getattr(config, name)
        except UserError as fault:
            found.append(f"sleep.nodes: {fault}" if name == "selector" else str(fault))
    for name in ("at_most", "per_hour"):
        if getattr(config, name) < 1:
            found.append(f"sleep.{name}: {getattr(config, name)}, expected 1 or more")
    if not any("binding_timeout" in one for one in found) and config.binding_timeout_s < LEAST_BINDING_S:
        found.append(f"sleep.binding_timeout: {config.binding_timeout}, expected {LEAST_BINDING_S:g}s or more")
    if not config.schedulers or not all(config.schedulers):
        found.append("sleep.schedulers: expected one name or more, as in spec.schedulerName of pods")
    if config.floor < 0:
        found.append(f"sleep.floor: {config.floor}, expected 0 or more")
    if not 0 <= config.sleep_w <= 1e6:
        found.append(f"sleep.sleep_w: {config.sleep_w:g}, expected watts, 0 to 1,000,000")
    if config.acts:
        found += problems_of_switch(config)
        if service_mode == "shadow":
            found.append("sleep.mode: act, expected advise in shadow mode, in which nothing is changed")
    return found

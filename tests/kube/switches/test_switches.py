"""The registry of switches holds every switch that a configuration can name."""

from __future__ import annotations

import inspect
from typing import Any, get_args, get_type_hints

from kube.api_in_memory import InMemory, in_a_loop
from wattpack.kube.switches.config import SwitchConfig
from wattpack.kube.switches.registry import SWITCHES, new_switch
from wattpack.kube.switches.switch import Switch

NAMES = get_args(get_type_hints(SwitchConfig)["power"])


@in_a_loop
async def test_every_name_of_the_configuration_is_a_switch_that_keeps_the_contract() -> None:
    assert set(NAMES) == set(SWITCHES)
    for name in NAMES:
        made: Any = new_switch(SwitchConfig(power=name), InMemory())
        try:
            for call in ("read", "turn_off", "turn_on", "close"):
                expected = list(inspect.signature(getattr(Switch, call)).parameters)[1:]
                assert list(inspect.signature(getattr(made, call)).parameters) == expected, (name, call)
        finally:
            await made.close()

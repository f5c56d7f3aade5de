"""What people ask of nodes that sleep, straight at the cluster: it works while the service is dead.

A wish is an annotation on the Node, which the service fulfils. `wake_directly` needs no service: it carries out the
same transitions itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from wattpack.kube.client import ApiError, Client
from wattpack.kube.constraints import is_ready
from wattpack.kube.objects import NODE, Node
from wattpack.kube.sleep.record import (
    KILL_LABEL,
    KILLED,
    Record,
    ask,
    changed_record,
    erase,
    has_woken,
    machine_of,
    record_of,
    write,
)
from wattpack.kube.sleep.states import COMING, Event, State, next_state
from wattpack.kube.switches.switch import Power, Switch, SwitchError

ATTEMPTS = 5  # to patch a Node that changes meanwhile
LOOK_S = 1.0
ORDER_AGAIN_S = 30.0
CONFLICT = 409
Say = Callable[[str], None]


async def get_node(client: Client, name: str) -> Node:
    return NODE.decode(await client.call("GET", f"/api/v1/nodes/{name}"))


async def ask_for(client: Client, name: str, wish: str | None) -> Node:
    """Write the wish on the Node; None takes it back."""
    return await _patch(client, name, lambda node: ask(node, wish))


async def stop_sleep(client: Client, namespace: str) -> None:
    """Set the label that stops the service of this namespace."""
    body = {"metadata": {"labels": {KILL_LABEL: KILLED}}}
    await client.call("PATCH", f"/api/v1/namespaces/{namespace}", body)


async def _patch(client: Client, name: str, body: Callable[[Node], object]) -> Node:
    for attempt in range(ATTEMPTS):
        node = await get_node(client, name)
        try:
            return NODE.decode(await client.call("PATCH", f"/api/v1/nodes/{name}", body(node)))
        except ApiError as fault:
            if fault.status != CONFLICT or attempt == ATTEMPTS - 1:
                raise
    raise AssertionError


async def wake_directly(client: Client, switch: Switch | None, name: str, limit_s: float, say: Say) -> str:
    """Wake the node and take our marks off it. "" if it is awake, else what stands in the way."""
    until_s, ordered_s, trouble = time.monotonic() + limit_s, float("-inf"), "it is not Ready yet"
    not_ready_seen = False
    while True:
        try:
            node = await get_node(client, name)
            record = record_of(node)
            if record is None:
                return ""
            not_ready_seen = not_ready_seen or not is_ready(node)
            event = await _happened(node, record, switch, not_ready_seen)
            following = record.state if event is None else next_state(record.state, event)
            if following is State.AWAKE:
                await client.call("PATCH", f"/api/v1/nodes/{name}", erase(node))
                say(f"{name}: awake")
                return ""
            if following is not record.state:
                changed = changed_record(node, record, following, "asked for by a person")
                await client.call("PATCH", f"/api/v1/nodes/{name}", write(node, changed))
                say(f"{name}: {following.value}")
                ordered_s = float("-inf")
            elif record.state in COMING and switch is None:
                return "it is off, and without --config its switch is not known"
            if switch is not None and following in COMING and time.monotonic() - ordered_s > ORDER_AGAIN_S:
                ordered_s = time.monotonic()
                await switch.turn_on(machine_of(node))
        except SwitchError as fault:
            trouble = str(fault)
        except ApiError as fault:
            if fault.status != CONFLICT:
                trouble = str(fault)
        if time.monotonic() > until_s:
            return trouble
        await asyncio.sleep(LOOK_S)


async def _happened(node: Node, record: Record, switch: Switch | None, not_ready_seen: bool) -> Event | None:
    if record.state is State.TURNING_OFF:
        power = await switch.read(machine_of(node)) if switch is not None else Power.UNKNOWN
        return Event.OFF if power is Power.OFF else None
    if record.state in COMING:
        return Event.READY if has_woken(node, record, not_ready_seen) else None
    return Event.TOLD

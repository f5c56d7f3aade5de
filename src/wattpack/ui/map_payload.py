"""Every node and GPU at every moment, as the map draws it: the changes of each frame, in one binary answer.

The states come from the engine's own `place` and `release`, so watts and fragmentation are those of the run.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.engine import Engine
from wattpack.engine.core.state import ALLOCATED, BASE_POWER, CPU_POWER, FRAGMENTATION, GPU_POWER, MICRO
from wattpack.engine.live.one_decision import place_one, release_one
from wattpack.engine.moments.options import Sleep
from wattpack.engine.moments.sleep_run import NODE_STATES, asleep_power_mw
from wattpack.model.fragmentation import REASONS
from wattpack.model.nodes import Datacenter
from wattpack.model.power import GPU_MILLI, PowerProfile, nodes_power_mw, total_power
from wattpack.model.sleeping import ASLEEP, AWAKE
from wattpack.model.tasks import TaskClass
from wattpack.policies.expression import parse
from wattpack.report.style import REASONS as REASON_LOOKS
from wattpack.ui.map_events import Events

CHEAPEST = "random"  # no decision is made: any policy will do
OWNERS = ("free", "shared by tasks", "a task of 1 GPU", "a task of several GPUs")  # of a GPU
GIB_MIB = 1024


def map_payload(events: Events) -> bytes:
    """Length of the header (4 bytes, little-endian), the header as JSON, the arrays it describes one after another."""
    datacenter = events.datacenter
    width = max(1, int(datacenter.gpus.max()))
    engine = Engine(datacenter, events.workload.classes, parse(CHEAPEST), events.target, events.profile)
    changes = Changes(engine, len(events.node) + len(events.state_node), width, events.sleep)
    first = changes.read(np.arange(len(datacenter)))
    totals = np.zeros((len(events.ends) + 1, 4), dtype=np.float64)
    totals[0] = changes.totals()
    states = np.zeros((len(events.ends) + 1, len(NODE_STATES)), dtype=np.uint32)
    states[0] = changes.in_state
    starts, failed, event, changed_state = [0], [0], 0, 0
    state_ends = events.state_ends.tolist() or [0] * len(events.ends)
    sequence = events.workload.sequence
    owners = [_owner(task) for task in events.workload.classes]
    rows = zip(
        sequence[events.task].tolist(), events.node.tolist(), events.gpus.tolist(), events.sign.tolist(), strict=True
    )
    for frame, end in enumerate(events.ends.tolist(), 1):
        missed = failed[-1]
        for _ in range(end - event):
            k, node, gpus, sign = next(rows)
            if node < 0:
                missed += 1
            elif sign > 0:
                place_one(engine.state, engine.plan, k, node, gpus)
                changes.own(node, gpus, owners[k])
            else:
                release_one(engine.state, engine.plan, k, node, gpus)
                changes.own(node, gpus, 0)
        changed = events.node[event:end]
        changed = changed[changed >= 0]
        event = end
        if (state_end := state_ends[frame - 1]) > changed_state:
            turned = slice(changed_state, state_end)
            changes.turn(events.state_node[turned], events.state[turned])
            changed, changed_state = np.concatenate([changed, events.state_node[turned]]), state_end
        changes.note(np.unique(changed) if len(changed) > 1 else changed)
        totals[frame], states[frame] = changes.totals(), changes.in_state
        starts.append(changes.count)
        failed.append(missed)
    arrays: dict[str, NDArray[Any]] = {
        "type": _groups(datacenter)[1].astype(np.uint16),
        "frameStart": np.array(starts, dtype=np.uint32),
        "at": np.concatenate([[0.0], events.at]),
        "totals": totals,
        "inState": states,
        "failed": np.array(failed, dtype=np.uint32),
        "ends": np.concatenate([[0], events.ends]).astype(np.uint32),
        "draw": _draw(datacenter, events.profile),
        "eventTask": events.task.astype(np.uint32),
        "eventNode": events.node.astype(np.int32),
        "eventSign": events.sign.astype(np.int8),
        "taskClass": sequence.astype(np.uint16),
        **{f"first{name}": values for name, values in first.items()},
        **changes.taken(),
    }
    return packed(_header(events, width), arrays)


class Changes:
    """The state of nodes after they changed, row after row."""

    def __init__(self, engine: Engine, most: int, width: int, sleep: Sleep | None) -> None:
        self.engine, self.width, self.count = engine, width, 0
        self.nodes: Any = engine.state.nodes
        self.state = np.full(len(engine.datacenter), AWAKE, dtype=np.uint8)
        idle_mw = nodes_power_mw(self.nodes)
        self.asleep_mw = idle_mw if sleep is None else asleep_power_mw(idle_mw, sleep)
        self.saved_mw = idle_mw - self.asleep_mw  # by a node asleep, against idle
        self.in_state = np.bincount(self.state, minlength=len(NODE_STATES))
        self.capacity = np.minimum(np.arange(width)[None, :], engine.datacenter.gpus[:, None] - 1) == np.arange(width)
        self.owner = np.zeros((len(engine.datacenter), width), dtype=np.uint8)
        self.rows: dict[str, NDArray[Any]] = {
            "Node": np.zeros(most, dtype=np.uint32),
            "Used": np.zeros((most, width), dtype=np.uint16),
            "Cpu": np.zeros(most, dtype=np.uint32),
            "Watts": np.zeros(most, dtype=np.float32),
            "Lost": np.zeros((most, len(REASONS)), dtype=np.uint16),
            "State": np.zeros(most, dtype=np.uint8),
            "Owner": np.zeros((most, width), dtype=np.uint8),
        }

    def read(self, nodes: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Use of each GPU and of the CPU, watts, and GPU lost to fragmentation by reason, of these nodes."""
        found = self.nodes[nodes]
        used = np.where(self.capacity[nodes], GPU_MILLI - found.gpu_left[:, : self.width], 0)
        return {
            "Used": used.astype(np.uint16),
            "Cpu": (found.cpu_milli - found.cpu_left).astype(np.uint32),
            "Watts": (self.power_mw(nodes) / 1000).astype(np.float32),
            "Lost": np.rint(found.fragmentation_micro / MICRO).astype(np.uint16),
            "State": self.state[nodes],
            "Owner": self.owner[nodes],
        }

    def power_mw(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Nodes that wake or shut down draw their idle watts: they have no task that runs."""
        drawn: NDArray[np.int64] = nodes_power_mw(self.nodes[nodes])
        return np.where(self.state[nodes] == ASLEEP, self.asleep_mw[nodes], drawn)

    def turn(self, nodes: NDArray[np.int64], states: NDArray[np.int64]) -> None:
        """Nodes come into these states, one after another."""
        for node, state in zip(nodes.tolist(), states.tolist(), strict=True):
            self.in_state[self.state[node]] -= 1
            self.in_state[state] += 1
            self.state[node] = state

    def own(self, node: int, gpus: int, owner: int) -> None:
        """A task came to these GPUs, or left them (0): one that others still share keeps its owner."""
        for g in range(gpus.bit_length()):
            if gpus >> g & 1 and (owner or self.nodes.gpu_left[node, g] == GPU_MILLI):
                self.owner[node, g] = owner

    def note(self, nodes: NDArray[np.int64]) -> None:
        end = self.count + len(nodes)
        if end > self.count:
            self.rows["Node"][self.count : end] = nodes
            for name, values in self.read(nodes).items():
                self.rows[name][self.count : end] = values
        self.count = end

    def totals(self) -> tuple[float, float, float, float]:
        """Watts, GPUs allocated, GPUs lost to fragmentation, tasks running."""
        totals = self.engine.state.totals
        watts = float(nodes_total_mw(totals) - int(self.saved_mw[self.state == ASLEEP].sum())) / 1000
        lost = float(totals[FRAGMENTATION : FRAGMENTATION + len(REASONS)].sum()) / MICRO / GPU_MILLI
        return watts, float(totals[ALLOCATED]) / GPU_MILLI, lost, float(self.nodes.tasks.sum())

    def taken(self) -> dict[str, NDArray[Any]]:
        return {f"change{name}": values[: self.count] for name, values in self.rows.items()}


def _owner(task: TaskClass) -> int:
    """The place in `OWNERS` of a GPU that such a task takes."""
    return 1 if task.gpu_milli < GPU_MILLI else 2 if task.num_gpu == 1 else 3


def nodes_total_mw(totals: NDArray[np.int64]) -> int:
    return int(total_power(totals[CPU_POWER], totals[GPU_POWER], totals[BASE_POWER]))


def _groups(datacenter: Datacenter) -> tuple[list[dict[str, Any]], NDArray[np.int64]]:
    """Groups of equal nodes, those with the most GPUs first, and the group of every node."""
    _, first, kind = np.unique(datacenter.types, return_index=True, return_inverse=True)
    rows = []
    for n in first.tolist():
        model = datacenter.models[datacenter.model[n]]
        gpus, vcpu = int(datacenter.gpus[n]), int(datacenter.cpu_milli[n]) / 1000
        gib = int(datacenter.memory_mib[n]) // GIB_MIB
        rows.append(
            {
                "model": model,
                "gpus": gpus,
                "cpuMilli": int(datacenter.cpu_milli[n]),
                "label": f"{gpus} x {model}" if gpus else "no GPU",
                "more": f"{vcpu:g} vCPU, {gib:,} GiB",
            }
        )
    order = sorted(range(len(rows)), key=lambda g: (rows[g]["model"] == "", rows[g]["model"], -rows[g]["gpus"], g))
    place = np.argsort(order)
    return [rows[g] for g in order], place[kind.reshape(-1)]


def _draw(datacenter: Datacenter, profile: PowerProfile) -> NDArray[np.float32]:
    """Watts of a GPU by milli-GPU in use, for each group."""
    groups, _ = _groups(datacenter)
    idle = np.zeros(GPU_MILLI + 1)
    return np.array(
        [profile.gpu(group["model"]).draw_mw() / 1000 if group["gpus"] else idle for group in groups], dtype=np.float32
    )


def _header(events: Events, width: int) -> dict[str, Any]:
    datacenter, workload = events.datacenter, events.workload
    names = workload.task_names
    return {
        "datacenter": datacenter.name,
        "names": list(datacenter.names),
        "groups": _groups(datacenter)[0],
        "width": width,
        "gpus": int(datacenter.gpus.sum()),
        "frames": len(events.ends),
        "classes": [task.text for task in workload.classes],
        "taskNames": list(names) if names is not None and len(names) == len(workload) else None,
        "reasons": [
            {"name": REASON_LOOKS[name][0], "light": REASON_LOOKS[name][1], "dark": REASON_LOOKS[name][2]}
            for name in REASONS
        ],
        "states": list(NODE_STATES),
        "sleeps": events.sleep is not None,
        "owners": list(OWNERS),
        "chosen": events.chosen,
    }


def packed(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    """Each array starts at a multiple of 8 bytes from the end of the header, which is padded too."""
    described, parts, place = {}, [], 0
    for name, values in arrays.items():
        data = np.ascontiguousarray(values).tobytes()
        described[name] = {"kind": values.dtype.name, "at": place, "count": values.size}
        parts.append(data + b"\0" * (-len(data) % 8))
        place += len(parts[-1])
    head = json.dumps({**header, "arrays": described}, separators=(",", ":")).encode()
    head += b" " * (-(len(head) + 4) % 8)
    return b"".join([len(head).to_bytes(4, "little"), head, *parts])

"""A decision as it is kept and answered: why this node, what it costs, or what the nearest nodes are short of."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from wattpack.engine.core.engine import Engine
from wattpack.engine.core.state import NOWHERE
from wattpack.engine.live.one_decision import FITTING, GPUS, OFFERED, TOLD, Choice
from wattpack.kube.facts import PodFacts
from wattpack.kube.gpus import gpu_numbers
from wattpack.model.counted import counted
from wattpack.model.fit import VERDICT_WORDS
from wattpack.model.tasks import TaskClass, models_mask

SHOWN = 5  # nearest nodes in a decision that found none


class Row(msgspec.Struct, gc=False):
    """One of the best nodes of a decision."""

    node: str
    total: float
    scores: dict[str, tuple[float, float]]  # component -> raw, normalised
    watts: float | None = None  # that the pod would add there; computed only for questions
    fragmentation_gpus: float | None = None


class Lack(msgspec.Struct, gc=False):
    """What a node that does not fit is short of."""

    node: str
    missing: str


class Decision(msgspec.Struct, gc=False):
    """What `explain` and `fit` answer."""

    namespace: str
    pod: str
    uid: str
    at: str  # UTC; filled in by the caller, as there is no clock here
    policy: str
    task: TaskClass
    node: str  # "": no node fits
    gpus: tuple[int, ...]
    offered: int  # nodes that the scheduler asked about
    fitting: int
    watts: float  # added by the pod, modelled; filled in when it is placed
    fragmentation_gpus: float  # likewise
    best: list[Row]  # the chosen node first
    refused: dict[str, int]  # reason -> number of nodes
    nearest: list[Lack]  # only if no node fits
    note: str = ""
    promised: str = ""  # the state of the node where it is not awake: the pod goes there when it is

    def words(self) -> str:
        """The reason in one sentence, as in the event on the pod."""
        if not self.node:
            reasons = ", ".join(f"{count} {reason}" for reason, count in self.refused.items()) or "none is open to it"
            nearest = f"; nearest: {self.nearest[0].node} lacks {self.nearest[0].missing}" if self.nearest else ""
            return f"{self.policy}: fits none of {counted(self.offered, 'node')} ({reasons}){nearest}"
        gpus = f" GPU {'-'.join(map(str, self.gpus))}" if self.gpus else ""
        if self.promised:
            return (
                f"{self.policy}: promised {self.node}{gpus}, which is {self.promised}, as no node awake has room; "
                f"the pod is bound when the node is Ready"
            )
        second = f", next best {self.best[1].node}" if len(self.best) > 1 else ""
        fitting = "1 node that fits" if self.fitting == 1 else f"{self.fitting} nodes that fit"
        return (
            f"{self.policy}: {self.node}{gpus} chosen among {fitting} of {self.offered}: "
            f"{self.watts:+.1f} W, {self.fragmentation_gpus:+.2f} GPU fragmented{second}"
        )


class DecisionLine(msgspec.Struct, gc=False):
    """A decision in a line, for a list."""

    at: str
    pod: str  # NAMESPACE/POD
    node: str  # "": no node fits
    watts: float
    fragmentation_gpus: float
    reason: str


def line_of(decision: Decision) -> DecisionLine:
    pod = f"{decision.namespace}/{decision.pod}"
    return DecisionLine(decision.at, pod, decision.node, decision.watts, decision.fragmentation_gpus, decision.words())


def new_decision(pod: PodFacts, engine: Engine, chosen: int, choice: Choice) -> Decision:
    """The decision for node number `chosen`, or NOWHERE, from the arrays that the engine filled."""
    names, failed = engine.datacenter.names, chosen == NOWHERE
    counts = choice.counts.tolist()
    refused = choice.refused.tolist()
    return Decision(
        namespace=pod.namespace,
        pod=pod.name,
        uid=pod.uid,
        at="",
        policy=engine.mix.expression,
        task=pod.task,
        node="" if failed else names[chosen],
        gpus=gpu_numbers(counts[GPUS]),
        offered=counts[OFFERED],
        fitting=counts[FITTING],
        watts=0.0,
        fragmentation_gpus=0.0,
        best=[] if failed else best_rows(engine, choice),
        refused={VERDICT_WORDS[code]: refused[code] for code in range(1, len(refused)) if refused[code]},
        nearest=nearest_nodes(pod.task, engine, choice) if failed else [],
    )


def best_rows(engine: Engine, choice: Choice) -> list[Row]:
    """The chosen node and the next best ones, best first."""
    names = engine.datacenter.names
    rows = int(choice.counts[TOLD])
    if rows == 1:  # the only node that fits is taken without scores
        return [Row(names[int(choice.best[0])], 0.0, {})]
    total, raw, normal = choice.total.tolist(), choice.raw.tolist(), choice.normal.tolist()
    components = [component.policy.name for component in engine.mix.components]
    return [
        Row(names[n], total[i], {name: (raw[c][i], normal[c][i]) for c, name in enumerate(components)})
        for i, n in enumerate(choice.best.tolist()[:rows])
    ]


def nearest_nodes(task: TaskClass, engine: Engine, choice: Choice) -> list[Lack]:
    """The offered nodes that come nearest to fitting, with what each is short of."""
    nodes: Any = engine.state.nodes
    cpu = np.maximum(0, task.cpu_milli - nodes.cpu_left)
    memory = np.maximum(0, task.memory_mib - nodes.memory_left)
    shares = task.num_gpu == 1 and task.gpu_milli < 1000
    if shares:
        gpu = np.maximum(0, task.gpu_milli - nodes.gpu_most)
    else:
        gpu = 1000 * np.maximum(0, task.num_gpu - nodes.gpu_free)
    allowed = models_mask(task.gpu_spec, engine.datacenter.models)
    model = np.array([(allowed >> int(m)) & 1 == 0 for m in range(len(engine.datacenter.models))])[nodes.model]
    # Fewest kinds of resources short first, then the smallest part of the request that is missing.
    short = (cpu > 0).astype(float) + (memory > 0) + (gpu > 0) + 2 * model
    part = cpu / max(1, task.cpu_milli) + memory / max(1, task.memory_mib) + gpu / max(1, task.num_gpu * task.gpu_milli)
    distance = np.where(choice.offered, short + part / 4, np.inf)
    found = []
    for n in np.argsort(distance, kind="stable")[:SHOWN].tolist():
        if not np.isfinite(distance[n]):
            break
        words = [f"GPU model {task.gpu_spec}"] if model[n] else []
        words += [f"{cpu[n]} milli-vCPU"] if cpu[n] else []
        words += [f"{memory[n]} MiB of memory"] if memory[n] else []
        if gpu[n]:
            words += [f"{gpu[n]} milli on any one GPU" if shares else f"{gpu[n] // 1000} whole free GPUs"]
        found.append(Lack(engine.datacenter.names[n], ", ".join(words) or "a free place for one more task"))
    return found

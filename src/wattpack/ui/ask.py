"""Ask: would these tasks fit a datacenter that a policy has filled, where, at what cost, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec
import numpy as np

from wattpack.datasets.edits import edited
from wattpack.engine.core.engine import Engine
from wattpack.engine.core.explain import explain
from wattpack.engine.core.state import COLUMNS
from wattpack.engine.core.take import place_many
from wattpack.engine.runs.arrivals import run_arrivals
from wattpack.engine.runs.record import Run, gpu_index_text
from wattpack.errors import UserError
from wattpack.kube.facts import PodFacts
from wattpack.kube.objects import Pod, Unreadable
from wattpack.kube.pod_file import as_json, read_pod_text
from wattpack.kube.read_node import gpu_memories
from wattpack.kube.read_pod import read_pod
from wattpack.kube.reading import Reading
from wattpack.model.fit import VERDICT_WORDS
from wattpack.model.gpu_names import model_of, possible_models
from wattpack.model.nodes import Datacenter
from wattpack.model.power import GPU_MILLI, PowerProfile
from wattpack.model.tasks import TaskClass, Workload, check_class
from wattpack.ui.answers import Answered, AskAnswer, Cost, NotOpen, Placed
from wattpack.ui.costs import lost_gpus, power_w, type_text
from wattpack.ui.moves import moves_for, nearest
from wattpack.ui.open_nodes import Labels, divided, in_words, refusals
from wattpack.ui.scene import Played, play
from wattpack.ui.sources import Sources
from wattpack.ui.wire import AskRequest, TaskFields

MOST_TASKS = 50_000
SHOWN = 200
NODES_THAT_MAY_COME = 200_000
NO_LABELS = Labels({})


@dataclass(frozen=True)
class Wanted:
    """The tasks asked about, in order."""

    workload: Workload
    line: str
    pod: tuple[Pod, PodFacts] | None = None
    labels: Labels = NO_LABELS


def ask(request: AskRequest, sources: Sources) -> AskAnswer:
    wanted = wanted_of(request, sources)
    played = play(request, sources)
    arrived = int(np.searchsorted(played.run.load, request.load, side="right"))
    load = float(played.run.load[arrived - 1]) if arrived else 0.0
    now = answer(played, played.datacenter, arrived, wanted)
    then = None
    if request.come:
        larger = edited(played.datacenter, request.come, (), played.profile)
        if len(larger) > NODES_THAT_MAY_COME:
            raise UserError(f"come: {len(larger):,} nodes in all, expected at most {NODES_THAT_MAY_COME:,}")
        then = answer(played, larger, arrived, wanted)
    return AskAnswer(wanted.line, load, arrived, now, then)


def wanted_of(request: AskRequest, sources: Sources) -> Wanted:
    given = [name for name in ("task", "pod", "tasks") if getattr(request, name)]
    if len(given) != 1:
        raise UserError(f"{len(given)} of task, pod and tasks are given, expected one")
    if request.task is not None:
        task = typed(request.task, sources.profile(request.profile))
        return Wanted(Workload.of([task], ["the task"]), task.text)
    if request.pod:
        labels = sources.labels(request)
        reading = Reading(profile=sources.profile(request.profile))
        pod, facts = read_asked(request.pod, replace(reading, memories=gpu_memories(labels.nodes.values(), reading)))
        name, task = pod.metadata.name or "without a name", facts.task
        return Wanted(Workload.of([task], [name]), f"pod {name}: {task.text}", (pod, facts), labels)
    found = sources.trace(request.tasks)
    if not 0 < len(found) <= MOST_TASKS:
        raise UserError(f"{request.tasks}: {len(found):,} tasks, expected 1 to {MOST_TASKS:,}")
    return Wanted(found, f"{len(found):,} tasks of {request.tasks.rpartition('/')[2]}")


def typed(fields: TaskFields, profile: PowerProfile) -> TaskClass:
    """A share of one GPU, or whole GPUs; models by any name that the catalog knows."""
    if 0 < fields.gpus < 1:
        gpus, milli = 1, max(1, round(fields.gpus * GPU_MILLI))
    else:
        gpus, milli = int(fields.gpus), GPU_MILLI if fields.gpus else 0
        if gpus != fields.gpus:
            raise UserError(f"gpus {fields.gpus:g}, expected a share below 1 or a whole number")
    models = []
    for name in filter(None, (part.strip() for part in fields.model.split("|"))):
        found = name if name in profile.known_gpus else model_of(name, profile.known_gpus)
        several = [found] if found else [model for model in possible_models(name) if model in profile.known_gpus]
        if not several:
            raise UserError(f"GPU model {name!r}, expected one with known watts: {', '.join(profile.known_gpus)}")
        models += several  # `H100` is any H100
    task = TaskClass(round(fields.vcpu * 1000), round(fields.memory_gib * 1024), gpus, milli, "|".join(models))
    check_class(task)
    return task


def read_asked(text: str, reading: Reading) -> tuple[Pod, PodFacts]:
    try:
        pod = msgspec.json.decode(as_json(read_pod_text(text.encode(), "the pod"), "the pod"), type=Pod)
        if not pod.spec.containers:
            raise Unreadable("no containers, expected a pod")
        return pod, read_pod(pod, reading)
    except (Unreadable, msgspec.ValidationError) as fault:
        raise UserError(f"the pod: {fault}") from None


def answer(played: Played, datacenter: Datacenter, arrived: int, asked: Wanted) -> Answered:
    """Let the tasks come one after another to `datacenter`, whose first nodes are those of the run."""
    run, own = played.run, len(played.run.workload.classes)
    wanted, classes = asked.workload, list(run.workload.classes)
    closed, not_open = asked.labels.why_unknown, list[NotOpen]()
    if asked.pod is not None and asked.labels.nodes:
        why = refusals(*asked.pod, asked.labels.nodes, datacenter)
        closed, not_open = in_words(datacenter.names, why)
        datacenter, classes, spec = divided(datacenter, classes, why)
        pod_class = asked.pod[1].task._replace(pool_spec=spec)
        wanted = replace(wanted, classes=(pod_class,))
    engine = Engine(datacenter, (*classes, *wanted.classes), played.mix, played.target, played.profile)
    columns = (run.workload.sequence[:arrived], run.node[:arrived], run.gpus[:arrived])
    if arrived:
        place_many(engine.state, engine.plan, *(column.astype(np.int64) for column in columns))
    before = engine.state.totals[:COLUMNS].copy()
    reasons: dict[str, int] = {}
    luck = np.random.default_rng(0).random((len(wanted), 2))
    found = run_arrivals(
        engine, Workload(engine.classes, (wanted.sequence + own).astype(np.int32), wanted.task_names, wanted.name), luck
    )
    failed = np.flatnonzero(found.node < 0)
    near, moving = [], []
    if len(failed):
        # What is missing is told of the datacenter with all the others in their places.
        k = int(wanted.sequence[failed[0]]) + own
        verdict = explain(engine, k, luck[failed[0]]).verdict
        counts = {words: int((verdict == code).sum()) for code, words in enumerate(VERDICT_WORDS) if code}
        reasons = {words: count for words, count in counts.items() if count}
        near = nearest(engine, k)
        moving = moves_for(engine, k, _there(played, arrived))
    after = found.series[-1]
    series = np.vstack([before, found.series])
    rows = [_row(found, wanted, i, series) for i in range(min(SHOWN, len(wanted)))]
    cost = Cost(power_w(after) - power_w(before), lost_gpus(after) - lost_gpus(before))
    placed = int((found.node >= 0).sum())
    gpus = int(datacenter.gpus.sum())
    return Answered(len(datacenter), gpus, len(wanted), placed, cost, rows, reasons, near, moving, closed, not_open)


def _row(found: Run, wanted: Workload, i: int, series: np.ndarray) -> Placed:
    node, datacenter = int(found.node[i]), found.datacenter
    cost = Cost(power_w(series[i + 1]) - power_w(series[i]), lost_gpus(series[i + 1]) - lost_gpus(series[i]))
    return Placed(
        task=wanted.task_name(i),
        text=wanted.classes[int(wanted.sequence[i])].text,
        node=datacenter.names[node] if node >= 0 else "",
        type=type_text(datacenter, node) if node >= 0 else "",
        gpus=gpu_index_text(int(found.gpus[i])),
        cost=cost if node >= 0 else None,
        missing="" if node >= 0 else VERDICT_WORDS[int(found.reason[i])],
    )


def _there(played: Played, arrived: int) -> list[tuple[int, int, int, int]]:
    """Tasks in place: number, class, node, GPUs."""
    run = played.run
    columns = (run.workload.sequence[:arrived], run.node[:arrived], run.gpus[:arrived])
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [(i, k, n, gpus) for i, (k, n, gpus) in enumerate(rows) if n >= 0]

"""The datacenter that a question is about: the tasks that came, where the policy put them, the engine then."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from wattpack.choose.choice import resolve
from wattpack.datasets.inflation import seeded
from wattpack.engine.core.engine import Engine
from wattpack.engine.core.take import place_many
from wattpack.engine.runs.arrivals import draw_luck, simulate
from wattpack.engine.runs.record import Run
from wattpack.errors import UserError
from wattpack.experiments.fill_up import run_seed
from wattpack.experiments.needs import need_gpus
from wattpack.experiments.recent import Recent
from wattpack.experiments.spec.chosen import check_models
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Mix
from wattpack.model.power import PowerProfile
from wattpack.model.target import Target
from wattpack.model.tasks import TaskClass
from wattpack.policies.expression import FILL_UP, canonical
from wattpack.ui.sources import Sources
from wattpack.ui.wire import Scene

MOST_TASKS = 2_000_000
_played = Recent(4)


@dataclass(frozen=True, eq=False)
class Played:
    """A run of a scene, with what it was run on."""

    run: Run
    mix: Mix
    target: Target
    profile: PowerProfile
    luck: NDArray[np.float64]
    policy: str
    chosen: str  # what `auto` chose and why; "" without

    @property
    def datacenter(self) -> Datacenter:
        return self.run.datacenter

    def engine_after(self, tasks: int, mix: Mix | None = None, spare: tuple[TaskClass, ...] = ()) -> Engine:
        """The engine when the first `tasks` tasks have come, each where the run put it; under another `mix` if given.

        `spare`: classes that are asked about beside those of the run.
        """
        workload = self.run.workload
        engine = Engine(self.datacenter, (*workload.classes, *spare), mix or self.mix, self.target, self.profile)
        columns = (workload.sequence[:tasks], self.run.node[:tasks], self.run.gpus[:tasks])
        if tasks:
            place_many(engine.state, engine.plan, *(column.astype(np.int64) for column in columns))
            engine.stop_if_faulty(workload)
        return engine


def play(scene: Scene, sources: Sources) -> Played:
    """The run of a scene; the latest few are kept."""
    policy = canonical(scene.policy)
    datacenter, trace = sources.datacenter(scene), sources.trace(scene.trace)
    key = (id(datacenter), tuple(scene.add), tuple(scene.remove), tuple(scene.replace), id(trace))
    return _played.get((*key, policy, scene.seed, scene.up_to, scene.profile), partial(_play, scene, sources, policy))


def _play(scene: Scene, sources: Sources, policy: str) -> Played:
    datacenter, trace, profile = sources.datacenter(scene), sources.trace(scene.trace), sources.profile(scene.profile)
    check_models(datacenter, profile)
    mix, choice = resolve(policy, datacenter, trace, profile, FILL_UP)
    if scene.seed is None:
        if len(trace) > MOST_TASKS:
            raise UserError(f"{scene.trace}: {len(trace):,} tasks, expected at most {MOST_TASKS:,}")
        run = simulate(datacenter, trace, mix, Target.of(trace), seeded(0).policy, profile)
    else:
        need_gpus(scene.datacenter, datacenter)
        run = run_seed(datacenter, trace, mix, scene.seed, profile, scene.up_to)
    luck = draw_luck(run.workload, seeded(scene.seed or 0).policy)
    return Played(run, mix, Target.of(trace), profile, luck, policy, "" if choice is None else choice.text)

"""Running tasks that keep their speed: each may go only to GPU models that suit the one it runs on.

The models become part of what the task asks for, so that every search and every policy keeps to them by itself.
"""

from __future__ import annotations

from collections.abc import Callable

from wattpack.datasets.placements import Placements
from wattpack.model.nodes import Datacenter
from wattpack.model.speed import may_replace, speed_of
from wattpack.model.tasks import TaskClass, Workload

Rule = Callable[[str, str], bool]  # (model, model that the task runs on): may the task go there?


def is_same_model(model: str, running_on: str) -> bool:
    return model == running_on


NO_SLOWER: Rule = may_replace
SAME_MODEL: Rule = is_same_model


def kept_from_slower(workload: Workload, placed: Placements, datacenter: Datacenter, rule: Rule) -> Workload:
    """The same tasks; those on GPUs ask for the models of the datacenter that `rule` allows them."""
    models = [model for model in datacenter.models if model]
    suiting = {on: [model for model in models if rule(model, on)] for on in models}
    narrowed: dict[tuple[int, str], TaskClass] = {}
    tasks = []
    for k, n in zip(workload.sequence.tolist(), placed.node.tolist(), strict=True):
        task = workload.classes[k]
        if n >= 0 and task.num_gpu > 0:
            on = datacenter.models[datacenter.model[n]]
            if (k, on) not in narrowed:
                narrowed[k, on] = _narrowed(task, models, suiting.get(on, []))
            task = narrowed[k, on]
        tasks.append(task)
    return Workload.of(tasks, workload.task_names, workload.name)


def _narrowed(task: TaskClass, models: list[str], suiting: list[str]) -> TaskClass:
    """Unchanged where nothing is left: then the task does not fit where it is, which its reader says."""
    asked = set(task.gpu_spec.split("|")) if task.gpu_spec else set(models)
    kept = [model for model in suiting if model in asked]
    return task if not kept or len(kept) == len(asked & set(models)) else task._replace(gpu_spec="|".join(kept))


def unknown_speeds(workload: Workload, placed: Placements, datacenter: Datacenter) -> list[str]:
    """The models that tasks run on and whose speed is not known: those tasks stay on their model."""
    on = {
        datacenter.models[datacenter.model[n]]
        for k, n in zip(workload.sequence.tolist(), placed.node.tolist(), strict=True)
        if n >= 0 and workload.classes[k].num_gpu > 0
    }
    return sorted(model for model in on if model and speed_of(model) is None)

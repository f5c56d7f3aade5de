"""Running tasks ask for the models that they may go to."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wattpack.datasets.placements import Placements
from wattpack.datasets.running_tasks import NO_SLOWER, SAME_MODEL, kept_from_slower, unknown_speeds
from wattpack.datasets.sources import load_datacenter
from wattpack.model.nodes import Datacenter
from wattpack.model.tasks import TaskClass, Workload

MODELS = ["T4", "A10", "V100M32", "V100M16", "G3", "MI300X", "MI210", ""]
ON = {model: n for n, model in enumerate(MODELS)}


def hall() -> Datacenter:
    count = len(MODELS)
    columns = {"sn": [f"n{n}" for n in range(count)], "cpu_milli": [8000] * count, "memory_mib": [1024] * count}
    return load_datacenter(columns | {"gpu": [1 if model else 0 for model in MODELS], "model": MODELS})


def placed(*nodes: int) -> Placements:
    return Placements(Path("now.csv"), np.array(nodes, dtype=np.int32), np.ones(len(nodes), dtype=np.int32))


def specs(rule: object, tasks: list[TaskClass], *nodes: int) -> list[str]:
    names = [f"t{i}" for i in range(len(tasks))]
    found = kept_from_slower(Workload.of(tasks, names, "w"), placed(*nodes), hall(), rule)  # type: ignore[arg-type]
    assert found.task_names == tuple(names)
    return [found.classes[k].gpu_spec for k in found.sequence.tolist()]


ONE = TaskClass(1000, 10, 1, 1000)


def test_tasks_of_one_class_on_different_models_may_go_to_different_ones() -> None:
    """A V100 of 32 GB keeps its memory: neither the one of 16 GB nor an A10 of 24 will do."""
    found = specs(NO_SLOWER, [ONE] * 4, *(ON[model] for model in ("T4", "A10", "V100M32", "G3")))
    assert found == ["T4|A10|V100M32|V100M16|G3", "A10|V100M32|G3", "V100M32|G3", "G3"]


def test_a_model_of_unknown_speed_keeps_its_tasks() -> None:
    assert specs(NO_SLOWER, [ONE] * 2, ON["MI210"], ON["MI300X"]) == ["MI210", "MI300X"]
    tasks = Workload.of([ONE, ONE, TaskClass(1000, 10, 0, 0)])
    assert unknown_speeds(tasks, placed(ON["MI210"], ON["T4"], ON["MI300X"]), hall()) == ["MI210"]


def test_the_same_model_is_the_same_model() -> None:
    assert specs(SAME_MODEL, [ONE], ON["V100M16"]) == ["V100M16"]


def test_what_a_task_asks_for_itself_stays() -> None:
    picky = ONE._replace(gpu_spec="T4|A10|B200")
    assert specs(NO_SLOWER, [picky, picky], ON["T4"], ON["A10"]) == ["T4|A10|B200", "A10"]


def test_tasks_without_gpu_or_place_are_free() -> None:
    none = TaskClass(1000, 10, 0, 0)
    assert specs(NO_SLOWER, [none, ONE, none], ON["T4"], -1, ON[""]) == ["", "", ""]


def test_a_task_that_runs_where_it_may_not_keeps_its_request() -> None:
    assert specs(NO_SLOWER, [ONE._replace(gpu_spec="T4")], ON["G3"]) == ["T4"]

"""Random annotations, resources and values on random nodes: what pods hold is never less than the truth, nor much more.

The truth is made first: which GPUs a pod holds, by the rules of the system that gives them out. Then words are put on
the pod, some of them nonsense.
"""

from __future__ import annotations

import json
import random
from typing import NamedTuple

import pytest

from kube.made import Json, container, make_node, make_pod
from wattpack.kube.config import Config
from wattpack.kube.objects import Node, Pod
from wattpack.kube.questions import state_of
from wattpack.kube.reading import Reading
from wattpack.kube.snapshot import take_snapshot
from wattpack.kube.view import View

GPU, MEM, CORES = "nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpucores"
GPU_MIB = 16000
SEEDS = range(40)
# Words by which no device is given out, whatever stands there: no scheduler takes such values.
NONSENSE_NAMES = (
    *("alibabacloud.com/gpu-milli", "alibabacloud.com/gpu-count", "alibabacloud.com/gpu-index"),
    *("gpu-fraction", "gpu-memory", "gpu-fraction-num-devices", "wattpack.dev/gpu-index", "volcano.sh/gpu-index"),
    *("hami.io/vgpu-devices-allocated", "hami.io/vgpu-devices-to-allocate", "hami.io/vgpu-node"),
    *("volcano.sh/vgpu-ids-new", "scheduling.koordinator.sh/device-allocated", "ALIYUN_COM_GPU_MEM_IDX"),
    *("nvidia.com/use-gputype", "nvidia.com/nouse-gputype", "alibabacloud.com/gpu-card-model"),
)
NONSENSE = (
    "lots",
    "",
    "-1",
    "½",
    "1..5",
    "0x10",
    "\x00",
    "{",
    "[]",
    "null",
    "GPU-0,NVIDIA",
    "a-b",
    "1e",
    "Gi",
    "," * 50,
)


class Made(NamedTuple):
    """A pod, and the most that it can hold of each GPU, largest first."""

    pod: Pod
    most: tuple[int, ...]

    @property
    def total(self) -> int:
        return sum(self.most)


def made_node(chance: random.Random) -> tuple[Node, int, bool]:
    """A node, its GPUs, and whether HAMi gives them out."""
    gpus = chance.choice([1, 2, 4, 8])
    if chance.random() < 0.5:
        return make_node("n", gpus=gpus, cpu="900", memory="9000Gi"), gpus, False
    ids = [{"id": f"GPU-{i}", "index": i, "devmem": GPU_MIB, "health": True} for i in range(gpus)]
    said = {"hami.io/node-nvidia-register": json.dumps(ids)}
    return make_node("n", gpus=10 * gpus, annotations=said, cpu="900", memory="9000Gi"), gpus, True


def nonsense(chance: random.Random) -> dict[str, str]:
    return {chance.choice(NONSENSE_NAMES): chance.choice(NONSENSE) for _ in range(chance.randint(0, 3))}


def cpu_pod(chance: random.Random, name: str) -> Made:
    return Made(make_pod(name, node="n", annotations=nonsense(chance)), ())


def whole_pod(chance: random.Random, name: str, free: list[int]) -> Made:
    count = chance.randint(1, len(free))
    annotations = nonsense(chance)
    if chance.random() < 0.3:
        annotations["wattpack.dev/gpu-index"] = "-".join(map(str, chance.sample(free, count)))
    return Made(make_pod(name, node="n", annotations=annotations, **{GPU: str(count)}), (1000,) * count)


def shared_pod(chance: random.Random, name: str) -> Made:
    """By annotations, as KAI or the simulator of Alibaba have it."""
    milli = chance.choice([100, 250, 500])
    if chance.random() < 0.5:
        said = {"gpu-fraction": str(milli / 1000)}
    else:
        said = {"alibabacloud.com/gpu-milli": str(milli), "alibabacloud.com/gpu-count": "1"}
    more = {key: value for key, value in nonsense(chance).items() if not key.startswith(("gpu-", "alibaba"))}
    return Made(make_pod(name, node="n", annotations=more | said), (milli,))


def vgpu_pod(chance: random.Random, name: str, gpus: int) -> Made:
    """One to three vGPUs of HAMi in one or two containers, most of them with what HAMi's scheduler wrote."""
    containers: list[Json] = []
    wrote, most = "", []
    for _ in range(chance.randint(1, 2)):
        count, mib = chance.randint(1, min(3, gpus)), chance.choice([1600, 4000, 8000])
        containers.append(container(**{GPU: str(count), MEM: str(mib)}))
        wrote += "".join(f"GPU-{i},NVIDIA,{mib},0:" for i in chance.sample(range(gpus), count)) + ";"
        most += [mib * 1000 // GPU_MIB] * count
    said = {"hami.io/vgpu-devices-allocated": wrote} if chance.random() < 0.7 else nonsense(chance)
    return Made(make_pod(name, node="n", annotations=said, containers=containers), tuple(sorted(most, reverse=True)))


def made_pods(chance: random.Random, gpus: int, hami: bool) -> list[Made]:
    pods: list[Made] = []
    for number in range(chance.randint(1, 8)):
        name = f"p{number}"
        kind = chance.random()
        if kind < 0.4:
            pods.append(cpu_pod(chance, name))
        elif hami:
            pods.append(vgpu_pod(chance, name, gpus))
        elif kind < 0.7:
            pods.append(whole_pod(chance, name, list(range(gpus))))
        else:
            pods.append(shared_pod(chance, name))
    return pods


def view_of(node: Node, pods: list[Pod], chance: random.Random | None = None) -> View:
    """The pods in one list, or one after the other in some order."""
    view = View(Config(policy="fgd", target="default", mode="shadow"))
    view.replace_nodes([node])
    if chance is None:
        view.replace_pods(pods)
        return view
    view.cluster.engine()
    for pod in chance.sample(pods, len(pods)):
        view.change_pod("ADDED", pod)
        view.cluster.engine()
    return view


def room(view: View) -> int:
    """Milli that pods with GPUs may still take on the node."""
    state = state_of(view)
    assert state["unreadable_nodes"] == {}
    assert state["closed_nodes"] == {}
    return sum(state["nodes"][0]["gpu_left_milli"])


@pytest.mark.parametrize("seed", SEEDS)
def test_no_pod_without_gpus_takes_room_for_gpus(seed: int) -> None:
    chance = random.Random(seed)
    node, gpus, _ = made_node(chance)
    pods = [cpu_pod(chance, f"p{i}").pod for i in range(6)]
    assert room(view_of(node, pods)) == room(view_of(node, pods, chance)) == 1000 * gpus
    found = take_snapshot([node], pods, Reading())
    assert sum(task.pod.task.num_gpu for task in found.tasks) == 0
    assert found.access["n"].only == ""


@pytest.mark.parametrize("seed", SEEDS)
def test_pods_take_what_they_hold_together_and_no_more_than_they_can_hold(seed: int) -> None:
    """As far as the node has it: others may have named the same GPU."""
    chance = random.Random(seed)
    node, gpus, hami = made_node(chance)
    made = made_pods(chance, gpus, hami)
    pods, held = [one.pod for one in made], sum(one.total for one in made)
    for view in (view_of(node, pods), view_of(node, pods, chance)):
        taken = 1000 * gpus - room(view)
        assert taken <= held
        if not state_of(view)["gpu_conflicts"]:
            assert taken == held
        uncounted = [one for one in made if one.pod.metadata.uid in state_of(view)["gpu_conflicts"]]
        assert taken >= held - sum(one.total for one in uncounted)
        everything_fits = held <= 1000 * gpus and all(one.most in ((), (1000,)) for one in made)
        assert taken == held or not everything_fits  # whole GPUs, one a pod: whichever were named
    found = take_snapshot([node], pods, Reading())
    assert found.access["n"].only == ""
    counted = sum(task.pod.task.num_gpu * task.pod.task.gpu_milli for task in found.tasks)
    crowded = {name.rpartition("/")[2] for names in found.left_out.values() for name in names}
    assert held - sum(one.total for one in made if one.pod.metadata.name in crowded) <= counted <= held


@pytest.mark.parametrize("seed", SEEDS)
def test_when_all_pods_have_gone_in_any_order_the_node_is_as_empty_as_before(seed: int) -> None:
    chance = random.Random(seed)
    node, gpus, hami = made_node(chance)
    made = made_pods(chance, gpus, hami)
    view = view_of(node, [one.pod for one in made], chance)
    left = list(made)
    while left:
        gone = left.pop(chance.randrange(len(left)))
        view.change_pod("DELETED", gone.pod)
        taken = 1000 * gpus - room(view)
        assert taken <= sum(one.total for one in left)
    assert room(view) == 1000 * gpus
    assert state_of(view)["gpu_conflicts"] == {}


@pytest.mark.parametrize("seed", SEEDS)
def test_what_hami_wrote_is_counted_gpu_by_gpu(seed: int) -> None:
    """Where what it wrote fits the GPUs, as its scheduler makes sure."""
    chance = random.Random(seed)
    gpus = chance.choice([2, 4, 8])
    ids = [{"id": f"GPU-{i}", "index": i, "devmem": GPU_MIB, "health": True} for i in range(gpus)]
    node = make_node("n", gpus=80, annotations={"hami.io/node-nvidia-register": json.dumps(ids)}, cpu="900")
    free, pods = [GPU_MIB] * gpus, []
    for number in range(chance.randint(1, 9)):
        mib = chance.choice([1600, 4000, 8000, 16000])
        fitting = [gpu for gpu, left in enumerate(free) if left >= mib]
        if not fitting:
            continue
        chosen = chance.sample(fitting, chance.randint(1, min(3, len(fitting))))
        for gpu in chosen:
            free[gpu] -= mib
        wrote = "".join(f"GPU-{gpu},NVIDIA,{mib},0:" for gpu in chosen) + ";"
        asks = {GPU: str(len(chosen)), MEM: str(mib)}
        pods.append(make_pod(f"p{number}", node="n", annotations={"hami.io/vgpu-devices-allocated": wrote}, **asks))
    for view in (view_of(node, pods), view_of(node, pods, chance)):
        state = state_of(view)
        assert state["nodes"][0]["gpu_left_milli"] == [left * 1000 // GPU_MIB for left in free]
        assert (state["gpu_conflicts"], state["unreadable_pods"]) == ({}, {})

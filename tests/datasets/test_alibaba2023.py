"""The built-in datacenter and traces: facts of the paper, and the published files where they are at hand."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from wattpack.datasets import alibaba2023
from wattpack.datasets.csv_files import read_datacenter, read_workload
from wattpack.datasets.derive import profile
from wattpack.datasets.sources import load_datacenter, load_trace
from wattpack.errors import UserError
from wattpack.model.nodes import Datacenter
from wattpack.model.tasks import Workload

PUBLISHED = Path(__file__).parents[3] / "shared" / "traces" / "alibaba-2023"
needs_published = pytest.mark.skipif(
    not PUBLISHED.is_dir(), reason="the published trace files are not in ../shared/traces beside the checkout"
)

# Table II of the paper
GPUS_BY_MODEL = {"V100M16": 195, "V100M32": 204, "P100": 265, "T4": 842, "A10": 2, "G2": 4392, "G3": 312}

# Table I of the paper, in %
POPULATION = {"0": 13.3, "(0,1)": 37.8, "1": 48.0, "2": 0.2, "4": 0.2, "8": 0.5}
GPU_DEMAND = {"0": 0.0, "(0,1)": 28.5, "1": 64.2, "2": 0.5, "4": 1.0, "8": 5.8}


def node_counts(datacenter: Datacenter) -> Counter[tuple[int, int, int, str]]:
    models = [datacenter.models[model] for model in datacenter.model.tolist()]
    columns = (datacenter.cpu_milli.tolist(), datacenter.memory_mib.tolist(), datacenter.gpus.tolist(), models)
    return Counter(zip(*columns, strict=True))


def class_counts(workload: Workload) -> dict[tuple[object, ...], int]:
    return {tuple(task): count for task, count in zip(workload.classes, workload.counts().tolist(), strict=True)}


def test_the_datacenter_has_1213_nodes_of_15_types_with_107018_vcpu_and_6212_gpus() -> None:
    datacenter = alibaba2023.datacenter()
    assert len(datacenter) == 1213
    assert len(node_counts(datacenter)) == 15
    assert len(np.unique(datacenter.types)) == 15
    assert datacenter.cpu_milli.sum() == 107_018_000
    assert datacenter.gpu_milli == 6_212_000
    assert (datacenter.gpus > 0).all()


def test_the_datacenter_has_the_gpus_per_model_of_table_ii() -> None:
    datacenter = alibaba2023.datacenter()
    gpus = np.bincount(datacenter.model, weights=datacenter.gpus)
    assert dict(zip(datacenter.models, gpus.tolist(), strict=True)) == GPUS_BY_MODEL


def test_nodes_are_named_after_model_and_gpus_and_no_name_comes_twice() -> None:
    names = alibaba2023.datacenter().names
    assert len(set(names)) == len(names)
    assert names[0] == "a10-1-0001"
    # 107 + 22 + 2 nodes of three types have two P100: numbered through
    assert [name for name in names if name.startswith("p100-2-")][-1] == "p100-2-0131"


def test_default_has_the_distribution_of_table_i() -> None:
    shares = profile(alibaba2023.trace("default"))
    # within 0.1: 3911 of 6086.8 GPUs are 64.254 %, printed as 64.2 in the paper so that the row adds up to 100
    assert {k: 100 * v for k, v in shares["population_share"].items()} == pytest.approx(POPULATION, abs=0.1)
    assert {k: 100 * v for k, v in shares["gpu_demand_share"].items()} == pytest.approx(GPU_DEMAND, abs=0.1)
    assert shares["constrained_share"] == 0


def test_default_has_8152_tasks_of_151_classes() -> None:
    trace = alibaba2023.trace("default")
    assert (len(trace), len(trace.classes)) == (8152, 151)


@pytest.mark.parametrize("name", alibaba2023.TRACES)
def test_every_class_of_a_trace_has_tasks_and_comes_once(name: str) -> None:
    trace = alibaba2023.trace(name)
    assert trace.name == name
    assert trace.counts().min() > 0
    assert len(set(trace.classes)) == len(trace.classes)


@pytest.mark.parametrize("name", [n for n in alibaba2023.TRACES if n.startswith("gpuspec")])
def test_constrained_traces_are_default_but_for_the_models_asked_for(name: str) -> None:
    unconstrained: Counter[tuple[object, ...]] = Counter()
    for task, count in class_counts(alibaba2023.trace(name)).items():
        unconstrained[task[:4]] += count
    default = {task[:4]: count for task, count in class_counts(alibaba2023.trace("default")).items()}
    assert unconstrained == default


def test_an_unknown_trace_is_a_user_error_that_lists_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"'multigpu25'.*default, multigpu20.*gpuspec33"):
        alibaba2023.trace("multigpu25")


@needs_published
def test_the_datacenter_equals_the_published_nodes() -> None:
    published = read_datacenter(PUBLISHED / "openb_node_list_gpu_node.csv")
    assert node_counts(alibaba2023.datacenter()) == node_counts(published)


@needs_published
@pytest.mark.parametrize("name", alibaba2023.TRACES)
def test_a_trace_has_the_classes_and_counts_of_the_published_file(name: str) -> None:
    published = read_workload(PUBLISHED / f"openb_pod_list_{name}.csv")
    assert class_counts(alibaba2023.trace(name)) == class_counts(published)


def test_sources_give_the_built_in_ones_by_name() -> None:
    assert load_datacenter("alibaba2023") is alibaba2023.datacenter()
    assert load_trace("gpushare100") is alibaba2023.trace("gpushare100")


def test_sources_read_a_file_by_its_path(tmp_path: Path) -> None:
    nodes, tasks = tmp_path / "nodes.csv", tmp_path / "tasks.csv"
    nodes.write_text("sn,cpu_milli,memory_mib,gpu,model\nn1,8000,4096,2,T4\n")
    tasks.write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli\nt1,1000,512,1,500\n")
    assert load_datacenter(str(nodes)).names == ("n1",)
    assert load_trace(tasks).task_names == ("t1",)


@pytest.mark.parametrize("text", ["defualt", "", "no/such/file.csv", "x" * 5000, "nul\0byte"])
def test_what_is_neither_a_name_nor_a_file_is_a_one_line_user_error_with_the_known_names(text: str) -> None:
    with pytest.raises(UserError) as trace_fault:
        load_trace(text)
    with pytest.raises(UserError) as datacenter_fault:
        load_datacenter(text)
    assert repr(text) in str(trace_fault.value)
    assert "default, multigpu20" in str(trace_fault.value)
    assert "alibaba2023" in str(datacenter_fault.value)
    assert "\n" not in str(trace_fault.value) + str(datacenter_fault.value)

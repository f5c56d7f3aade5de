"""YAML or JSON of a pod, or of anything with pod templates, as JSON that the types of pods read.

How many pods a template stands for at the same time is read of the kinds that say it: Job, CronJob, JobSet, Deployments
and the like, the training jobs of Kubeflow (PyTorchJob, TFJob, MPIJob, ...), Ray's, Volcano's Job, LeaderWorkerSet.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from wattpack.datasets.input_files import read_bytes_up_to
from wattpack.errors import UserError

MAX_BYTES = 3_000_000  # the apiserver takes no larger object
MAX_VALUES = 100_000  # of a document with its aliases written out


class PodOf(NamedTuple):
    """A pod that a template would make, and how many of them there are at the same time."""

    name: str  # of the template among those of its object, "" if there is only one
    pod: dict[str, Any]
    number: int


def read_pods_file(file: Path) -> list[PodOf]:
    """The pods of the first object of a YAML or JSON file that has any."""
    return read_pods_text(read_bytes_up_to(file, MAX_BYTES, "YAML of a pod"), file)


def read_pod_text(data: bytes, file: Path | str) -> dict[str, Any]:
    """The first of them; `file` is how messages name the text."""
    return read_pods_text(data, file)[0].pod


def read_pods_text(data: bytes, file: Path | str) -> list[PodOf]:
    """All of them."""
    try:
        import yaml

        documents = list(yaml.safe_load_all(data.decode("utf-8-sig")))
    except RecursionError:
        raise UserError(f"{file}: nested too deeply, expected YAML of a pod") from None
    except ModuleNotFoundError as fault:
        raise UserError(f"fit needs {fault.name}: install wattpack[serve]") from None
    except (ValueError, LookupError, AttributeError, yaml.YAMLError) as fault:  # no UTF-8, no date, `!!int ''`
        raise UserError(f"{file}: {' '.join(str(fault).split())}, expected YAML of a pod") from None
    for document in documents:
        if isinstance(document, dict):
            as_json(document, file)  # aliases may have no end
            if found := pods_of(document, file):
                return found
    raise UserError(f"{file}: holds no pod and no pod template")


def pods_of(document: dict[str, Any], file: Path | str) -> list[PodOf]:
    """The pods that an object makes, each template once; none if it has no template."""
    kind, spec = document.get("kind"), table(document.get("spec"))
    if kind == "Pod":
        return [PodOf("", document, 1)]
    if kind == "CronJob":
        spec = table(table(spec.get("jobTemplate")).get("spec"))
    found = list(templates(spec, "", 1))
    named = document.get("metadata") or {}
    if not isinstance(named, dict):
        raise UserError(f"{file}: metadata is {named!r}, expected a table")
    made = []
    for name, template, count in found:
        own = template.get("metadata") or {}
        if not isinstance(own, dict):
            raise UserError(f"{file}: metadata is {own!r}, expected a table")
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise UserError(f"{file}: {name or kind}: {count!r} pods, expected a whole number, 0 or more")
        whole = "-".join(filter(None, (str(named.get("name", "")), name)))
        made.append(PodOf(name, {"kind": "Pod", "metadata": {"name": whole, **own}, "spec": template["spec"]}, count))
    return made


def table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def rows(value: Any) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def templates(spec: dict[str, Any], name: str, times: Any) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Each pod template of a spec, its name, and for how many pods it stands at the same time."""
    template = table(spec.get("template"))
    if template.get("spec"):
        yield name, template, product(times, at_once(spec))
    for job in rows(spec.get("replicatedJobs")):  # JobSet
        inner = table(table(job.get("template")).get("spec"))
        yield from templates(inner, str(job.get("name", "")), product(times, job.get("replicas", 1)))
    for key, roles in spec.items():  # Kubeflow: pytorchReplicaSpecs and the like
        if key.endswith("ReplicaSpecs"):
            for role, one in table(roles).items():
                yield from templates({**table(one), "parallelism": None}, str(role).lower(), times)
    for task in rows(spec.get("tasks")):  # Volcano
        yield from templates({**task, "parallelism": None}, str(task.get("name", "")), times)
    for key in ("rayClusterSpec", "rayClusterConfig"):
        if inner := table(spec.get(key)):
            yield from templates(inner, name, times)
    if head := table(spec.get("headGroupSpec")):  # Ray
        yield from templates({"template": head.get("template")}, "head", times)
    for group in rows(spec.get("workerGroupSpecs")):
        hosts = product(group.get("replicas", group.get("minReplicas", 1)), group.get("numOfHosts", 1))
        yield from templates({"template": group.get("template")}, str(group.get("groupName", "worker")), hosts)
    if lws := table(spec.get("leaderWorkerTemplate")):
        size, leader = lws.get("size", 1), lws.get("leaderTemplate")
        groups = product(times, spec.get("replicas", 1))
        if leader:
            yield from templates({"template": leader}, "leader", groups)
            size = size - 1 if isinstance(size, int) else size
        yield from templates({"template": lws.get("workerTemplate")}, "worker", product(groups, size))


def at_once(spec: dict[str, Any]) -> Any:
    """Pods of a Job run at the same time, as many as are left to complete; others have replicas."""
    many = spec.get("parallelism")
    if many is None:
        many = spec.get("replicas")
    many, all_in_all = 1 if many is None else many, spec.get("completions")
    return min(many, all_in_all) if isinstance(many, int) and isinstance(all_in_all, int) else many


def product(one: Any, other: Any) -> Any:
    """What is no number is given back, for the message."""
    if not isinstance(one, int):
        return one
    return one * other if isinstance(other, int) else other


def as_json(document: dict[str, Any], file: Path | str) -> bytes:
    """JSON without YAML aliases: nested aliases can make a small file huge, and a cycle has no end."""
    waiting: list[Any] = [document]
    values = 0
    while waiting:
        value = waiting.pop()
        values += 1
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, (list, tuple, set)):
            waiting += value
        if values + len(waiting) > MAX_VALUES:
            raise UserError(f"{file}: more than {MAX_VALUES:,} values with its aliases written out, expected a pod")
    try:
        return msgspec.json.encode(document)
    except (TypeError, ValueError, RecursionError) as fault:
        raise UserError(f"{file}: {fault}, expected YAML that JSON can say") from None

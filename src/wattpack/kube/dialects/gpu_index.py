"""The GPUs of a bound pod in its annotations, as text like `0-3-4`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wattpack.model.tasks import TaskClass

OWN_INDEX = "wattpack.dev/gpu-index"  # for dialects in which no scheduler writes an index


def index_text(gpus: Sequence[int]) -> str:
    return "-".join(str(gpu) for gpu in gpus)


def write_own_index(gpus: Sequence[int], task: TaskClass) -> dict[str, str]:
    return {OWN_INDEX: index_text(gpus)}


def read_own_index(annotations: Mapping[str, str]) -> str:
    return annotations.get(OWN_INDEX, "")


def read_own_or_listed(annotations: Mapping[str, str], name: str) -> str:
    """Our own annotation, or a dialect's: a list with commas like `0,3`."""
    return read_own_index(annotations) or annotations.get(name, "").replace(",", "-")

"""YAML or JSON of a pod, or of anything with a pod template, as JSON that the types of pods read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from wattpack.datasets.input_files import read_bytes_up_to
from wattpack.errors import UserError

MAX_BYTES = 3_000_000  # the apiserver takes no larger object
MAX_VALUES = 100_000  # of a document with its aliases written out


def read_pod_file(file: Path) -> dict[str, Any]:
    """The first pod of a YAML or JSON file, or the pod that its template would make."""
    return read_pod_text(read_bytes_up_to(file, MAX_BYTES, "YAML of a pod"), file)


def read_pod_text(data: bytes, file: Path | str) -> dict[str, Any]:
    """The same of the text itself; `file` is how messages name it."""
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
        if not isinstance(document, dict):
            continue
        if document.get("kind") == "Pod":
            return document
        template: Any = document
        for step in (
            ("spec", "jobTemplate", "spec", "template") if document.get("kind") == "CronJob" else ("spec", "template")
        ):
            template = template.get(step) if isinstance(template, dict) else {}
        if isinstance(template, dict) and template.get("spec"):
            named, own = (found.get("metadata") or {} for found in (document, template))
            if not isinstance(named, dict) or not isinstance(own, dict):
                raise UserError(f"{file}: metadata is {named if own == {} else own!r}, expected a table")
            metadata = {"name": named.get("name", ""), **own}
            return {"kind": "Pod", "metadata": metadata, "spec": template["spec"]}
    raise UserError(f"{file}: holds no pod and no pod template")


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

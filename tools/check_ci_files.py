"""Checks .github/*.yml against rules that a run of them would show too late: `python tools/check_ci_files.py [ROOT]`.

The workflows cannot be run from here. They are thin: every step is an action pinned to a major version or a make target
that exists. Prints one line a problem and ends with 1 if there is any.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

WORKFLOW_KEYS = {"name", "on", "permissions", "concurrency", "jobs"}
JOB_KEYS = {"name", "runs-on", "timeout-minutes", "strategy", "env", "steps"}
ACTION = re.compile(r"actions/[a-z-]+@v\d+")
FORM_TYPES = {"markdown", "input", "textarea", "dropdown", "checkboxes"}
PYTHON_CLASSIFIER = re.compile(r"Programming Language :: Python :: (3\.\d+)")


class Strict(yaml.SafeLoader):
    """YAML in which a key may stand only once, and `on` is a word: YAML 1.1 takes it for true."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        double = {key for key in keys if keys.count(key) > 1}
        if double:
            raise yaml.constructor.ConstructorError(
                None, None, f"twice: {', '.join(map(str, double))}", node.start_mark
            )
        return super().construct_mapping(node, deep)


Strict.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Strict.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))


def problems(root: Path) -> list[str]:
    """Everything that is wrong, one line each."""
    found = []
    workflows = sorted((root / ".github" / "workflows").glob("*.y*ml"))
    if not workflows:
        found.append(".github/workflows: no workflow")
    files = dict.fromkeys(workflows, workflow_problems)
    files |= dict.fromkeys((root / ".github" / "ISSUE_TEMPLATE").glob("*.y*ml"), form_problems)
    files |= dict.fromkeys((root / ".github" / "ISSUE_TEMPLATE").glob("config.y*ml"), chooser_problems)
    for file, check in files.items():
        try:
            read = yaml.load(file.read_text(encoding="utf-8"), Loader=Strict)
        except (yaml.YAMLError, UnicodeDecodeError) as fault:
            found.append(f"{file.relative_to(root)}: not YAML: {' '.join(str(fault).split())}")
            continue
        if not isinstance(read, dict):
            found.append(f"{file.relative_to(root)}: {type(read).__name__}, expected keys")
            continue
        found += [f"{file.relative_to(root)}: {line}" for line in check(read, root)]
    return found


def workflow_problems(read: dict[str, Any], root: Path) -> Iterator[str]:
    yield from unknown("", read, WORKFLOW_KEYS)
    yield from (f"no {key}" for key in ("name", "on", "permissions", "jobs") if not read.get(key))
    if read.get("permissions") != {"contents": "read"}:
        yield f"permissions: {read.get('permissions')}, expected contents: read and nothing else"
    if "secrets" in str(read):
        yield "secrets: expected none"
    jobs = read.get("jobs")
    for name, job in jobs.items() if isinstance(jobs, dict) else ():
        for line in job_problems(job, root) if isinstance(job, dict) else ["expected keys"]:
            yield f"jobs.{name}: {line}"


def job_problems(job: dict[str, Any], root: Path) -> Iterator[str]:
    yield from unknown("", job, JOB_KEYS)
    yield from (f"no {key}" for key in ("runs-on", "timeout-minutes", "steps") if not job.get(key))
    known = make_targets(root)
    for number, step in enumerate(job.get("steps") or []):
        where = f"step {number + 1}: "
        yield from unknown(where, step, {"name", "uses", "with", "run"})
        if ("uses" in step) == ("run" in step):
            yield f"{where}expected either uses or run"
        if "uses" in step and not ACTION.fullmatch(step["uses"]):
            yield f"{where}uses {step['uses']}, expected actions/NAME@vN"
        if "run" in step:
            words = str(step["run"]).split()
            if words[:1] != ["make"] or len(words) != 2:
                yield f"{where}runs {step['run']!r}, expected make and one target"
            elif words[1] not in known:
                yield f"{where}runs make {words[1]}, which is not in the Makefile"
    matrix = (job.get("strategy") or {}).get("matrix") or {}
    if "python" in matrix:
        yield from matrix_problems(matrix["python"], root)


def matrix_problems(versions: list[Any], root: Path) -> Iterator[str]:
    """All versions that pyproject.toml claims are run, from the oldest that may be installed on, each as text."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for version in versions:
        if not isinstance(version, str):
            yield f"matrix.python: {version!r}, expected text: 3.10 without quotes is 3.1"
    claimed = [found[1] for line in project["classifiers"] if (found := PYTHON_CLASSIFIER.fullmatch(line))]
    missing = [version for version in claimed if version not in versions]
    if missing:
        yield f"matrix.python: lacks {', '.join(missing)}, which pyproject.toml claims"
    least = project["requires-python"].removeprefix(">=")
    if versions[:1] != [least]:
        yield f"matrix.python: begins with {versions[:1]}, expected {least} (requires-python)"


def form_problems(read: dict[str, Any], root: Path) -> Iterator[str]:
    yield from unknown("", read, {"name", "description", "title", "labels", "body"})
    yield from (f"no {key}" for key in ("name", "description", "body") if not read.get(key))
    seen: set[str] = set()
    for number, part in enumerate(read.get("body") or []):
        where = f"body {number + 1}: "
        yield from unknown(where, part, {"type", "id", "attributes", "validations"})
        if part.get("type") not in FORM_TYPES:
            yield f"{where}type {part.get('type')}, expected one of {', '.join(sorted(FORM_TYPES))}"
        needed = "value" if part.get("type") == "markdown" else "label"
        if not (part.get("attributes") or {}).get(needed):
            yield f"{where}no attributes.{needed}"
        if part.get("type") != "markdown":
            if not part.get("id") or part["id"] in seen:
                yield f"{where}id {part.get('id')}, expected one of its own"
            seen.add(str(part.get("id")))


def chooser_problems(read: dict[str, Any], root: Path) -> Iterator[str]:
    yield from unknown("", read, {"blank_issues_enabled", "contact_links"})


def unknown(where: str, read: dict[str, Any], known: set[str]) -> Iterator[str]:
    for key in read:
        if key not in known:
            yield f"{where}unknown key {key}"


def make_targets(root: Path) -> set[str]:
    text = (root / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z0-9-]+):(?!=)", text, flags=re.MULTILINE))


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1]
    found = problems(root)
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

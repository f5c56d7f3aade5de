"""A request as the command line that does it, and as Python: the page shows both, and runs the first."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

from wattpack.datasets.alibaba2023 import TRACES
from wattpack.experiments.lineup import BASELINE
from wattpack.experiments.saving import DEFAULT_AGAINST
from wattpack.experiments.spec.axes import FIRST_SEED
from wattpack.experiments.spec.chosen import chosen_against
from wattpack.policies.expression import canonical
from wattpack.ui.sources import Sources
from wattpack.ui.wire import Asked, RunRequest

SIGNALS = ("carbon", "price", "budget_kw")


def words_of(request: RunRequest, sources: Sources, plugins: Sequence[Path] = ()) -> list[str]:
    """The words after `wattpack`, without --out. Names are checked here; amounts by the command itself."""
    words = [request.kind, *_option("--datacenter", sources.datacenter_path(request.datacenter))]
    words += _edits(request)
    for name in request.traces:
        words += _option("--trace", sources.trace_path(name))
    for policy in request.policies:
        words += _option("--policy", canonical(policy))
    words += _option("--against", canonical(request.against)) if request.against else []
    if is_drawn(request):
        words += _option("--seeds", str(request.seeds))
    for option, text in sources.profile_options(request.profile).items():
        words += _option(f"--{option}", text)
    if request.kind == "compare":
        words += [] if request.bound else ["--no-bound"]
    else:
        given: dict[str, object] = {
            "load": request.load,
            "days": request.days,
            "queue": request.queue,
            "patience": request.patience,
            "pue": request.pue,
            "sleep": request.sleep,
            "cap": request.cap,
            **{name: sources.signal(name, text) for name in SIGNALS if (text := getattr(request, name))},
        }
        for name, value in given.items():
            if value not in (None, ""):
                words += _option(
                    f"--{name.replace('_', '-')}", f"{value:g}" if isinstance(value, float) else str(value)
                )
        # With sleep the command solves the bound unless it is told not to.
        words += ["--bound"] if request.bound else ["--no-bound"] if request.sleep else []
    for plugin in plugins:
        words += [*_option("--plugin", str(plugin)), "--no-check"]
    return words


def compared_with(request: RunRequest) -> tuple[str, ...]:
    """The policies that savings are against: those of `wattpack compare` where the request names none."""
    return chosen_against(request.against or None, [request.datacenter])


def is_drawn(request: RunRequest) -> bool:
    """Whether there is anything to draw: not where tasks of files run at their own times."""
    return request.kind == "compare" or request.load is not None or any(name in TRACES for name in request.traces)


def command_of(words: Sequence[str]) -> str:
    return shlex.join(["wattpack", *words])


def python_of(request: RunRequest, sources: Sources) -> str:
    """The same in Python."""
    datacenter = _python(_edited(request, sources.datacenter_path(request.datacenter)))
    traces = [sources.trace_path(name) for name in request.traces]
    chosen = sources.profile_options(request.profile)
    profile = "".join(f", {name}={_python(value)}" for name, value in chosen.items())
    policies = list(dict.fromkeys(map(canonical, request.policies)))
    if request.kind == "compare":
        named = f", policies={_python(policies)}" if policies else ""
        against = compared_with(request)  # wp.compare has another default than the command on a cluster of one's own
        named += f", against={_python(list(against))}" if against != DEFAULT_AGAINST else ""
        call = f"wp.compare({datacenter}, {_python(traces)}{named}, seeds={request.seeds}{profile})"
        return (
            f'import wattpack as wp\n\ncomparison = {call}\nprint(comparison)\ncomparison.save_report("report.html")\n'
        )
    fields = ("load", "days", "queue", "pue", "sleep", "cap", *SIGNALS)
    given = {name: getattr(request, name) for name in fields} | {"patience_s": request.patience}
    given["queue"] = request.queue or "backfill"
    options = "".join(f", {name}={_python(value)}" for name, value in given.items() if value not in (None, ""))
    policy = next(iter(policies), BASELINE)
    call = f"wp.simulate({datacenter}, {_python(traces[0])}, {_python(policy)}, seed={FIRST_SEED}{options}{profile})"
    return f"import wattpack as wp\n\nrun = {call}\nprint(run.numbers)  # one policy, one seed\n"


def _option(name: str, value: str) -> list[str]:
    """A value that begins with a dash must not be read as an option."""
    return [f"{name}={value}"] if value.startswith("-") else [name, value]


def _edits(request: Asked) -> list[str]:
    words: list[str] = []
    for option, values in (("--add", request.add), ("--remove", request.remove), ("--replace", request.replace)):
        for value in values:
            words += _option(option, value)
    return words


def _edited(request: Asked, path: str) -> str:
    return " ".join([path, *_edits(request)])


def _python(value: object) -> str:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return f"{value:g}" if isinstance(value, float) else json.dumps(value)

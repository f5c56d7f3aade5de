"""`report.html`: one file that opens offline, with everything in it. Written for a reader who was not there.

Every text that comes from outside (names of traces, policies, files, machines) is escaped here; the page's script sets
text, never markup. A content policy by hash lets the page's own script and style run and nothing else, and no request
leave the page.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from wattpack.experiments.curves import FRAGMENTATION_COLUMNS, Results
from wattpack.experiments.lineup import BOUND
from wattpack.experiments.steady_table import SteadyRow
from wattpack.files import make_folder, write_whole
from wattpack.report.metrics import seeds_of, traces
from wattpack.report.payload import json_in_script, payload
from wattpack.report.sections import (
    claims_section,
    policies_section,
    provenance_section,
    summary_section,
    trace_table,
    trace_tiles,
)
from wattpack.report.steady_section import steady_section
from wattpack.report.style import REASONS, label, look, trace_title

PAGE = resources.files("wattpack.report") / "page"
SCRIPTS = ("parts.js", "chart.js", "curves.js", "report.js")


def write_report(
    path: str | Path,
    results: Results,
    provenance: Mapping[str, Any],
    claims: Sequence[Mapping[str, Any]] | None = None,
    gpus: float | None = None,
    steady: Sequence[SteadyRow] = (),
) -> Path:
    """Write the report atomically and return its path.

    provenance: how it was made (versions, seeds, machine, time), shown as it is. claims: rows with id, section,
    statement, paper, measured, verdict and why. gpus: GPUs of the datacenter, for the watts per GPU allocated. steady:
    steady states, which get a section of their own.
    """
    file = Path(path)
    content = report(results, provenance, claims, gpus, steady).encode(errors="replace")
    make_folder(file.parent)
    write_whole(file, lambda temporary: temporary.write_bytes(content))
    return file


def report(
    results: Results,
    provenance: Mapping[str, Any],
    claims: Sequence[Mapping[str, Any]] | None = None,
    gpus: float | None = None,
    steady: Sequence[SteadyRow] = (),
) -> str:
    """The page's text."""
    found = traces(results)
    policies = list(dict.fromkeys(policy for _, policy in results))
    coloured = list(dict.fromkeys([*policies, *(row.policy for row in steady)]))
    style = asset("page.css") + colours(coloured)
    script = inlined(SCRIPTS)
    return fill(
        asset("template.html"),
        {
            "policy": html.escape(content_policy(style, script)),
            "style": style,
            "script": script,
            "data": json_in_script(payload(results, gpus)),
            "subtitle": html.escape(_subtitle(results, found, policies)),
            "against": html.escape(label(results.against[0])),
            "policies": policies_section(policies),
            "summary": summary_section(results, found),
            "curves": fill(
                asset("curves.html"),
                {
                    "trace_options": options(map(trace_title, found)),
                    "tiles": "\n".join(trace_tiles(results, trace, place) for place, trace in enumerate(found)),
                },
            ),
            "tables": "\n".join(trace_table(results, trace, place, gpus) for place, trace in enumerate(found)),
            "steady": steady_section(steady, lambda policy: f"p{coloured.index(policy)}"),
            "claims": claims_section(claims) if claims else "",
            "made": provenance_section(provenance),
        },
    )


def options(titles: Iterable[str]) -> str:
    """What a reader may choose from, by place."""
    return "".join(f'<option value="{place}">{html.escape(title)}</option>' for place, title in enumerate(titles))


def _subtitle(results: Results, found: Sequence[str], policies: Sequence[str]) -> str:
    counts = seeds_of(results)
    run = [policy for policy in policies if policy != BOUND]
    bound = " and the bound" if BOUND in policies else ""
    what = f"{_many(len(run), 'scheduling policy', 'scheduling policies')}{bound} on " + (
        _many(len(found), "trace", "traces")
    )
    if not counts:
        return what
    seeds = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{what}, {seeds} {'seed' if counts == [1] else 'seeds'} each"


def _many(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


def colours(policies: Sequence[str]) -> str:
    """Colour classes p0, p1, ... of the policies and r0, r1, ... of the reasons, on light and on dark."""
    light = [f".p{place}{{--c:{look(policy).colour}}}" for place, policy in enumerate(policies)]
    dark = [f".p{place}{{--c:{look(policy).colour_dark}}}" for place, policy in enumerate(policies)]
    for place, (_, on_light, on_dark) in enumerate(_reasons()):
        light.append(f".r{place}{{--c:{on_light}}}")
        dark.append(f".r{place}{{--c:{on_dark}}}")
    return "".join(light) + "@media screen and (prefers-color-scheme:dark){" + "".join(dark) + "}\n"


def _reasons() -> list[tuple[str, str, str]]:
    """Reasons in the order of the curves' columns; one that has no colour here is grey."""
    names = [column.removeprefix("fragmentation_").removesuffix("_milli") for column in FRAGMENTATION_COLUMNS]
    return [REASONS.get(name, (name, "#888888", "#888888")) for name in names]


def content_policy(style: str, script: str) -> str:
    def source(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    return (
        f"default-src 'none'; style-src {source(style)}; script-src {source(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def asset(name: str) -> str:
    return (PAGE / name).read_text(encoding="utf-8")


def inlined(names: Sequence[str]) -> str:
    """Modules as one script, in the order in which they need each other: without their imports and exports."""
    texts = (re.sub(r"^import .*;\n|^export (?=\w)", "", asset(name), flags=re.MULTILINE) for name in names)
    return '"use strict";\n' + "\n".join(texts)


def fill(template: str, parts: Mapping[str, str]) -> str:
    """Replace {{name}} in one pass: a part that contains braces itself is left alone."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)

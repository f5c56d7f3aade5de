"""The files of the page: its own, and the chart modules, style and markup of the report."""

from __future__ import annotations

from functools import cache
from importlib import resources

from wattpack.report.html import PAGE as REPORT
from wattpack.report.html import asset, fill

OWN = resources.files("wattpack.ui") / "page"
KINDS = {".js": "text/javascript", ".css": "text/css"}


@cache
def index_page() -> str:
    """`index.html` with the report's markup for curves, empty: the script fills it."""
    filled_later = '<div id="tiles"></div>'
    empty = {"trace_options": "", "tiles": filled_later, "states": filled_later}
    parts = {name: fill(asset(f"{name}.html"), empty) for name in ("curves", "time_curves")}
    return fill((OWN / "index.html").read_text(encoding="utf-8"), parts)


def names() -> dict[str, bytes]:
    """Every file that the page may load, by name."""
    return {
        file.name: file.read_bytes()
        for folder in (REPORT, OWN)
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if any(file.name.endswith(ending) for ending in KINDS) and "report.js" not in file.name
    }


def static_file(name: str) -> tuple[bytes, str] | None:
    found = names().get(name)
    return None if found is None else (found, KINDS["." + name.rpartition(".")[2]])

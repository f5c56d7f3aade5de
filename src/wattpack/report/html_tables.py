"""Tables of the page: cells with a sort key, and headers that are buttons which sort."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

# A cell of a table: what it is sorted by, and what it shows (already escaped).
Cell = tuple[float | str, str]


def breakable(policy: str) -> str:
    """A policy, escaped, that a narrow page may break after a plus."""
    return html.escape(policy).replace("+", "+<wbr>")


def number_cell(value: float, digits: int, deviation: float | None = None) -> Cell:
    if not np.isfinite(value):
        return (-1e99, "–")
    text = f"{value:.{digits}f}"
    text = text.lstrip("-") if float(text) == 0 else text.replace("-", "−")
    if deviation is not None and np.isfinite(deviation):
        text += f' <small class="pm">±{deviation:.{digits}f}</small>'
    return (round(value, 6), text)


def sortable_table(heads: Sequence[str], rows: Sequence[Sequence[Cell]], title: str) -> str:
    """A table whose headers are buttons that sort it."""
    head, body = "", ""
    for place, text in enumerate(heads):
        align = ' class="text"' if rows and isinstance(rows[0][place][0], str) else ""
        head += f'<th scope="col"{align}><button type="button">{html.escape(text)}</button></th>'
    for row in rows:
        cells = []
        for place, (key, text) in enumerate(row):
            tag, scope = (
                ("th", ' scope="row"') if place == 0 else ("td", ' class="text"' if isinstance(key, str) else "")
            )
            cells.append(f'<{tag}{scope} data-key="{html.escape(str(key))}">{text}</{tag}>')
        body += f"<tr>{''.join(cells)}</tr>"
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="Policies on {title}"><table class="sortable">'
        f"<caption>Policies on {title}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )

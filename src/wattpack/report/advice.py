"""Advice of a factorial of runs in time: in words, as rows of a table, and as one stacked bar."""

from __future__ import annotations

import html
from typing import NamedTuple

from wattpack.experiments.advise import CAPS, HOURS, PLACEMENT, SLEEP, Advice, Tried
from wattpack.experiments.timed_options import shown_caps, shown_sleep, slack_shown
from wattpack.report.html_tables import Cell, breakable, number_cell, sortable_table
from wattpack.report.units import as_time

HEADER = ("options", "policy", "less", "share", "value", "measure", "wait_mean_s", "wait_p99_s", "done")
CLOSE = 0.001  # of what is saved: less is nothing
UNITS = {"kwh": ("energy", "kWh"), "co2_operational_kg": ("carbon", "kg CO2e"), "money": ("money", "")}
COLOURS = {PLACEMENT: "a0", SLEEP: "a1", CAPS: "a2", HOURS: "a3"}
WIDTH, HEIGHT, BAR = 720, 64, 34


class Row(NamedTuple):
    """One line of the table: FGD as it is, an option alone, all together, or the best."""

    what: str
    tried: Tried
    share: float | None  # of the saving of the best


def rows(advice: Advice) -> list[Row]:
    shares = advice.shares()
    found = [Row(f"{advice.plain.policy} as it is", advice.plain, None)]
    found += [
        Row(f"{said(advice, factor)} alone", advice.alone(factor), shares.get(factor)) for factor in advice.factors
    ]
    found.append(Row("all together", advice.together, None))
    if advice.best.chosen != advice.together.chosen and advice.best.chosen:
        found.append(Row("best: " + _joined([said(advice, one) for one in _chosen(advice)]), advice.best, None))
    return found


def said(advice: Advice, factor: str) -> str:
    """An option as the user gives it: `sleep idle=6m`, `cap 0.7`."""
    if factor == PLACEMENT:
        return f"policy {advice.policy}"
    if factor == SLEEP:
        return shown_sleep(advice.timed.sleep) + (" with moves" if advice.timed.consolidate else "")
    return shown_caps(advice.timed.cap) if factor == CAPS else slack_shown(advice.timed.slack)


def sentences(advice: Advice) -> list[str]:
    """What to do, what it brings, where that comes from, and its price; then what to begin with."""
    best, plain = advice.best, advice.plain
    what, unit = UNITS[advice.measure]
    unit = unit or plain.runs[0].currency or "of money"
    if advice.less(best) < CLOSE or not best.chosen:
        return [f"On {advice.trace}, none of the options saves {what} against {plain.policy} as it is."]
    amounts = f"{_amount(best.mean(advice.measure))} against {_amount(plain.mean(advice.measure))} {unit}"
    parts = ", ".join(f"{100 * share:.1f} points from {_of(factor)}" for factor, share in advice.shares().items())
    first = (
        f"On {advice.trace}, {_joined([said(advice, one) for one in _chosen(advice)])} "
        f"{'together ' if len(best.chosen) > 1 else ''}save{'s' if len(best.chosen) == 1 else ''} "
        f"{100 * advice.less(best):.1f} % of the {what} of {plain.policy} as it is ({amounts})"
    )
    first += f": {parts}." if len(best.chosen) > 1 else "."
    top = max(advice.factors, key=lambda factor: advice.less(advice.alone(factor)))
    begin = advice.alone(top)
    second = f"The price: {_price(best, plain)}"
    second += ", and batch tasks run longer under the caps." if CAPS in best.chosen else "."
    if len(best.chosen) > 1 and advice.less(begin) > 0:
        alone = f"alone it saves {100 * advice.less(begin):.1f} %"
        second += f" Begin with {said(advice, top)}: {alone}, and {_price(begin, plain)}."
    return [first, second]


def _price(one: Tried, plain: Tried) -> str:
    waits, before = one.mean("wait_p99_s"), plain.mean("wait_p99_s")
    if round(waits) == round(before):
        return f"the p99 of the wait stays at {as_time(waits)}"
    return f"the p99 of the wait is {as_time(waits)} instead of {as_time(before)}"


def csv_rows(advice: Advice) -> list[list[str]]:
    """A row for each set of options that was run."""
    shares, lines = advice.shares(), []
    for chosen, one in sorted(advice.tried.items(), key=lambda item: (len(item[0]), sorted(item[0]))):
        share = shares.get(next(iter(chosen))) if len(chosen) == 1 else None
        options = "+".join(factor for factor in advice.factors if factor in chosen) or "none"
        cells = [options, one.policy, f"{advice.less(one):.6f}", "" if share is None else f"{share:.6f}"]
        numbers = [f"{one.mean(name):.10g}" for name in (advice.measure, "wait_mean_s", "wait_p99_s", "done")]
        lines.append([*cells, numbers[0], advice.measure, *numbers[1:]])
    return lines


def advice_section(advice: Advice) -> str:
    """The part of the page: sentences, one stacked bar, the table."""
    words = "".join(f"<p>{html.escape(line)}</p>" for line in sentences(advice))
    what, unit = UNITS[advice.measure]
    heads = ["Options", f"{what.capitalize()}, {unit or advice.plain.runs[0].currency or 'money'}"]
    heads += ["Less, %", "Share of the best, points", "Wait mean, s", "Wait p99, s"]
    cells: list[list[Cell]] = []
    for row in rows(advice):
        share = float("nan") if row.share is None else 100 * row.share
        waits = [row.tried.mean(name) for name in ("wait_mean_s", "wait_p99_s")]
        values = (row.tried.mean(advice.measure), 100 * advice.less(row.tried), share, *waits)
        numbers = [number_cell(value, digits) for value, digits in zip(values, (0, 1, 1, 1, 0), strict=True)]
        cells.append([(row.what, breakable(row.what)), *numbers])
    note = (
        "Every set of these options was run. A share is what an option adds, mean over all orders in which the options "
        "may come; so shares add up. All is of the same tasks within the same time, in whole amounts, not per GPU-hour "
        "as a saving is elsewhere: work that is unfinished at the end is not made up for."
    )
    return (
        f'<section id="advice"><h2>What to do</h2>{words}{_bar(advice)}'
        f'{sortable_table(heads, cells, "What each option takes off")}<p class="note">{html.escape(note)}</p></section>'
    )


def _bar(advice: Advice) -> str:
    """FGD as it is, all of the bar: what is left, and what each option of the best takes off."""
    shares = {factor: max(0.0, share) for factor, share in advice.shares().items()}
    saving = max(0.0, advice.less(advice.best))
    scale = saving / sum(shares.values()) if sum(shares.values()) > 0 else 0.0
    pieces = [("a4", "left", 1 - saving)]
    pieces += [(COLOURS[factor], _of(factor), share * scale) for factor, share in shares.items()]
    parts, at = [], 0.0
    for colour, name, share in pieces:
        wide, middle = share * WIDTH, (at + share / 2) * WIDTH
        title = f"<title>{html.escape(f'{name}: {100 * share:.1f} %')}</title>"
        parts.append(
            f'<rect class="{colour}" x="{at * WIDTH:.1f}" y="4" width="{wide:.1f}" height="{BAR}">{title}</rect>'
        )
        if wide > 44:
            parts.append(f'<text x="{middle:.1f}" y="{BAR + 22}" text-anchor="middle">{100 * share:.1f} %</text>')
        at += share
    box = '<svg class="swatch {}" width="12" height="12" aria-hidden="true"><rect width="12" height="12" rx="2"/></svg>'
    keys = "".join(f'<span class="key">{box.format(colour)}{html.escape(name)}</span>' for colour, name, _ in pieces)
    label = html.escape("; ".join(f"{name} {100 * share:.1f} %" for _, name, share in pieces))
    return (
        f'<figure class="card"><figcaption>{html.escape(advice.plain.policy)} as it is: what each option takes off'
        "</figcaption>"
        f'<svg class="advice" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{"".join(parts)}</svg>'
        f'<div class="legend">{keys}</div></figure>'
    )


def _chosen(advice: Advice) -> list[str]:
    return [factor for factor in advice.factors if factor in advice.best.chosen]


def _of(factor: str) -> str:
    return {HOURS: "waiting for clean or cheap hours"}.get(factor, factor)


def _joined(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.4g}"

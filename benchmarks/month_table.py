"""The tables of docs/research/month.md, from the rows of `python -m benchmarks month`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from benchmarks.month_runs import (
    ALL_BATCH,
    COUNTRIES,
    DAYS,
    FEW,
    LOAD,
    LONG_DAYS,
    MONTH,
    POLICIES,
    SAVERS,
    SHORT,
    TWO_MODELS,
    WATT_PROFILES,
    Row,
    datacenters,
)
from wattpack.datasets import alibaba2023, alibaba2026
from wattpack.experiments.lineup import BASELINE
from wattpack.model.power import PROFILES
from wattpack.model.speed import speed_of

WATTS, GPU_HOUR, WORK = "kwh_to_fgd", "wh_per_gpu_hour_to_fgd", "kwh_per_work_to_fgd"
PLACES = (alibaba2023.NAME, alibaba2026.NAME, TWO_MODELS)
SAVING = SAVERS[1:]  # without FGD, which they are compared with
NO_DIFFERENCE = 0.0005  # shown as 0.0 or 0.1 %: neither better nor worse


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """By the names of the marks in the page; without the real month where there are no rows of it."""
    found = {
        "answer": answer(rows),
        "models": models(),
        "by trace": by_trace(rows, alibaba2023.NAME),
        "elsewhere": by_trace(rows, alibaba2026.NAME, TWO_MODELS),
        "loads": loads(rows),
        "turnover": turnover(rows),
        "longer": longer(rows),
        "means": means(rows),
        "costs": costs(rows),
    }
    return found | ({"month": month(rows)} if any(row["trace"] == MONTH for row in rows) else {})


def select(rows: Iterable[Row], **wanted: object) -> list[Row]:
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def standard(rows: Iterable[Row]) -> list[Row]:
    """Runs with speeds at the load and of the length that most runs have, without those that cut long tasks."""
    found = select(rows, load=LOAD, days=DAYS, speeds="typical")
    return [row for row in found if SHORT not in row["trace"]]


def answer(rows: Sequence[Row]) -> str:
    """Mean over traces of the three differences, and on how many traces energy per unit of work falls."""
    lines = _head("datacenter", "tasks", "profile", *map(_code, SAVING))
    for place in PLACES:
        for batch in (False, True):
            for profile in WATT_PROFILES:
                own = select(standard(rows), datacenter=place, profile=profile)
                own = [row for row in own if (ALL_BATCH in row["trace"]) == batch]
                cells = [_mean_cell(select(own, policy=policy)) for policy in SAVING]
                lines.append(_line(place, "all batch" if batch else "as in the trace", profile, *cells))
    return "\n".join(lines)


def _mean_cell(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    shown = [_percent(fmean(row[key][0] for row in rows)) for key in (WATTS, GPU_HOUR, WORK)]
    fewer = sum(row[WORK][0] < -NO_DIFFERENCE for row in rows)
    return f"{' / '.join(shown)} ({fewer} of {len(rows)})"


def by_trace(rows: Sequence[Row], *places: str) -> str:
    """A row a trace and profile: the three differences of each policy, and which needs least per unit of work."""
    several = len(places) > 1
    lines = _head(*(["datacenter"] if several else []), "trace", "profile", *map(_code, SAVING), "least per work")
    for place in places:
        own = select(standard(rows), datacenter=place)
        for trace in dict.fromkeys(row["trace"] for row in own):
            for profile in WATT_PROFILES:
                found = {row["policy"]: row for row in select(own, trace=trace, profile=profile)}
                cells = [_three(found[policy]) for policy in SAVING]
                least = min(found.values(), key=lambda row: row["kwh_per_work"])["policy"]
                lines.append(_line(*([place] if several else []), trace, profile, *cells, _code(least)))
    return "\n".join(lines)


def _three(row: Row) -> str:
    watts, gpu_hour, work = (row[key][0] for key in (WATTS, GPU_HOUR, WORK))
    shown = f"{_percent(work)} ±{100 * row[WORK][1]:.1f}" if row["seeds"] > 1 else _percent(work)
    return f"{_percent(watts)} / {_percent(gpu_hour)} / {f'**{shown}**' if work > NO_DIFFERENCE else shown}"


def models() -> str:
    """What a GPU adds when a task takes all of it, under the paper's profile: watts, and watts per A100's worth."""
    lines = _head(
        *("datacenter", "model", "GPUs", "full - idle, W", "speed, A100 = 1", "speed is", "W per A100's worth"),
        *("order by W", "order by W per A100's worth"),
    )
    for place, nodes in datacenters().items():
        found = []
        for k, model in enumerate(nodes.models):
            watts, speed = PROFILES["paper"].gpu(model), speed_of(model)
            assert speed is not None
            gpus = int(nodes.gpus[nodes.model == k].sum())
            found.append((watts.max_w - watts.idle_w, model, gpus, speed.relative, speed.confidence))
        found.sort()
        per_work = sorted(added_w / relative for added_w, _, _, relative, _ in found)
        by_watts = sorted({added_w for added_w, *_ in found})
        for added_w, model, gpus, relative, confidence in found:
            own = added_w / relative
            orders = (f"{by_watts.index(added_w) + 1}", f"{sorted(set(per_work)).index(own) + 1}")
            numbers = (f"{gpus:,}", f"{added_w:g}", f"{relative:g}", confidence, f"{own:.0f}")
            lines.append(_line(place, model, *numbers, *orders))
    return "\n".join(lines)


def loads(rows: Sequence[Row]) -> str:
    """The same at other loads, with waiting."""
    lines = _head(
        "trace", "load", "profile", *map(_code, SAVING), "p99 wait of `fgd`, `ocs`", "GPUs in use, `fgd`, `ocs`"
    )
    own = select(rows, days=DAYS, speeds="typical", datacenter=alibaba2023.NAME)
    for trace in dict.fromkeys(row["trace"] for row in own if row["load"] not in (LOAD, 0.0)):
        for load in sorted({row["load"] for row in own}):
            for profile in ("paper", "measured"):
                found = {row["policy"]: row for row in select(own, trace=trace, load=load, profile=profile)}
                if not found:
                    continue
                ends = [found[BASELINE], found["ocs"]]
                waits = ", ".join(_wait(row["wait_p99_s"]) for row in ends)
                in_use = ", ".join(f"{row['gpus_in_use']:.3f}" for row in ends)
                cells = [_three(found[policy]) for policy in SAVING]
                lines.append(_line(trace, f"{load:g}", profile, *cells, waits, in_use))
    return "\n".join(lines)


def longer(rows: Sequence[Row]) -> str:
    """Two days against four weeks."""
    lines = _head("tasks", "days", "policy", "kWh", "kWh per A100-hour", "to FGD: kWh", "per work", "work")
    own = select(rows, datacenter=alibaba2023.NAME, load=LOAD, speeds="typical", profile="paper")
    for trace in ("default", f"default{ALL_BATCH}"):
        for days in (DAYS, LONG_DAYS):
            for row in select(own, trace=trace, days=days):
                if row["policy"] in FEW:
                    cells = [_percent(row[key][0]) for key in (WATTS, WORK, "work_to_fgd")]
                    cells = ["", "", ""] if row["policy"] == BASELINE else cells
                    numbers = (f"{row['kwh']:,.0f}", f"{row['kwh_per_work']:.3f}")
                    lines.append(_line(trace, f"{days:g}", _code(row["policy"]), *numbers, *cells))
    return "\n".join(lines)


def turnover(rows: Sequence[Row]) -> str:
    """Tasks that come and go many times within the run: the same work is done under every policy."""
    lines = _head(
        *("datacenter", "tasks", "profile", "`fgd`: kWh per A100-hour", "GPUs in use, `fgd`, `ocs`"),
        *("p99 wait of `fgd`, `ocs`", *map(_code, FEW[1:]), "least per work"),
    )
    own = [row for row in rows if row["trace"].endswith(SHORT)]
    for place in PLACES:
        for trace in (f"{name}{kind}{SHORT}" for kind in (ALL_BATCH, "") for name in alibaba2023.TRACES):
            for profile in WATT_PROFILES:
                found = {row["policy"]: row for row in select(own, datacenter=place, trace=trace, profile=profile)}
                if not found:
                    continue
                fgd, ocs = found[BASELINE], found["ocs"]
                in_use = f"{fgd['gpus_in_use']:.2f}, {ocs['gpus_in_use']:.2f}"
                waits = f"{_wait(fgd['wait_p99_s'])}, {_wait(ocs['wait_p99_s'])}"
                numbers = (f"{fgd['kwh_per_work']:.3f}", in_use, waits)
                cells = [_three(found[policy]) for policy in FEW[1:]]
                least = min(found.values(), key=lambda row: row["kwh_per_work"])["policy"]
                lines.append(_line(place, trace.removesuffix(SHORT), profile, *numbers, *cells, _code(least)))
    return "\n".join(lines)


def means(rows: Sequence[Row]) -> str:
    """Without speeds, over the 13 traces: Wh per GPU-hour against FGD under each profile, and waiting."""
    profiles = [f"Wh per GPU-hour to FGD, {profile}" for profile in WATT_PROFILES]
    lines = _head(
        "policy", *profiles, "traces where a task in 100 waits", "longest p99 wait", "still waiting, all traces"
    )
    own = _plain(rows)
    for policy in POLICIES:
        cells = []
        for profile in WATT_PROFILES:
            found = [row[GPU_HOUR][0] for row in select(own, policy=policy, profile=profile)]
            cells.append(f"{_percent(fmean(found))} ({_percent(min(found))}, {_percent(max(found))})")
        paper = select(own, policy=policy, profile="paper")
        waits = [row["wait_p99_s"] for row in paper]
        counted = (f"{sum(wait > 0 for wait in waits)} of {len(waits)}", _wait(max(waits)))
        lines.append(_line(_code(policy), *cells, *counted, f"{sum(row['waiting'] for row in paper):,.0f}"))
    return "\n".join(lines)


def costs(rows: Sequence[Row]) -> str:
    """Without speeds, under the paper's profile; differences under the others beside."""
    lines = _head(
        *("trace", "policy", "kWh", "Wh per GPU-hour", "to FGD: paper", "linear", "measured"),
        *(f"kg CO2e {name}" for name in COUNTRIES),
        *("p99 wait", "waiting", "refused"),
    )
    own, before = _plain(rows), ""
    for trace in alibaba2023.TRACES:
        for policy in POLICIES:
            found = {row["profile"]: row for row in select(own, trace=trace, policy=policy)}
            row = found["paper"]
            spread = f" ±{100 * row[GPU_HOUR][1]:.1f}" if row["seeds"] > 1 else ""
            cells = [f"{_percent(row[GPU_HOUR][0])}{spread}"]
            cells += [_percent(found[profile][GPU_HOUR][0]) for profile in ("linear", "measured")]
            cells = ["", "", ""] if policy == BASELINE else cells
            carbon = [f"{row[f'co2_kg_{name}']:,.0f}" for name in COUNTRIES]
            numbers = (_wait(row["wait_p99_s"]), f"{row['waiting']:,.0f}", f"{row['refused']:,.0f}")
            shown = (trace if trace != before else "", _code(policy), f"{row['kwh']:,.0f}")
            lines.append(_line(*shown, f"{row['wh_per_gpu_hour']:.1f}", *cells, *carbon, *numbers))
            before = trace
    return "\n".join(lines)


def month(rows: Sequence[Row]) -> str:
    """The real month: all policies, three profiles, two countries."""
    lines = _head(
        *("profile", "policy", "kWh", "to FGD", "Wh per GPU-hour", "mean kW"),
        *(f"t CO2e {name}" for name in COUNTRIES),
        *("p99 wait", "waiting, refused"),
    )
    for profile in WATT_PROFILES:
        for row in select(rows, trace=MONTH, profile=profile):
            difference = "" if row["policy"] == BASELINE else f"{100 * row[WATTS][0]:+.2f}"
            carbon = [f"{row[f'co2_kg_{name}'] / 1000:,.1f}" for name in COUNTRIES]
            numbers = (f"{row['wh_per_gpu_hour']:.1f}", f"{row['mean_kw']:,.0f}", *carbon)
            unserved = f"{row['waiting']:g}, {row['refused']:g}"
            shown = (profile, _code(row["policy"]), f"{row['kwh']:,.0f}", difference)
            lines.append(_line(*shown, *numbers, _wait(row["wait_p99_s"]), unserved))
    return "\n".join(lines)


def _plain(rows: Sequence[Row]) -> list[Row]:
    return select(rows, datacenter=alibaba2023.NAME, load=LOAD, days=DAYS, speeds="")


def _percent(share: float) -> str:
    return f"{100 * share:+.1f}"


def _wait(seconds: float) -> str:
    return "0" if seconds < 0.5 else f"{seconds:,.0f} s" if seconds < 600 else f"{seconds / 3600:,.1f} h"


def _code(policy: str) -> str:
    return f"`{policy}`"


def _head(*names: str) -> list[str]:
    return [_line(*names), "|" + "---|" * len(names)]


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"

"""What runs in time found, in two sentences, and what the numbers assume."""

from __future__ import annotations

from collections.abc import Sequence

from wattpack.experiments.timed_options import shown_caps
from wattpack.experiments.timed_table import Group, TimedRow, baseline_of
from wattpack.report.time_rows import never_waited, row_title
from wattpack.report.units import as_time

CLOSE = 0.0005  # of energy: less is no difference
# What became of tasks that did not run.
VERBS = (
    ("failed", "found no room and left"),
    ("refused", "fit no node"),
    ("gave_up", "gave up"),
    ("waiting", "were still waiting at the end"),
)


def sentences(group: Group, rows: Sequence[TimedRow]) -> list[str]:
    """Two sentences: who uses least energy, and who waits or is turned away. Where nodes sleep, one on that."""
    return [*_two(group, rows), *(_asleep(rows) if group.options.sleep else [])]


def _two(group: Group, rows: Sequence[TimedRow]) -> list[str]:
    baseline = baseline_of(rows)
    measure = "kwh_per_work" if group.options.speed and rows[0].mean("kwh_per_work") > 0 else "wh_per_gpu_hour"
    what = "kWh per A100-hour of batch work" if measure == "kwh_per_work" else "Wh per GPU-hour"
    real = [row for row in rows if row.mean(measure) == row.mean(measure)]
    if not real:
        return [f"On {group.trace}, no GPU-hours are delivered: {_kwh(rows[0])} are idle draw.", _service(rows, rows)]
    best = min(real, key=lambda row: row.mean(measure))
    length = _length(rows[0].mean("horizon_s"))
    if baseline is None or baseline not in real or len(rows) == 1:
        first = (
            f"On {group.trace}, {row_title(best, rows)} uses {_kwh(best)} in {length}, "
            f"{_amount(best.mean(measure))} {what}"
        )
        return [f"{first}{', the least' if len(real) > 1 else ''}.", _service(rows, rows)]
    if measure == "wh_per_gpu_hour":
        change, spread = -best.saving(baseline), best.saving_spread(baseline)
    else:
        change, spread = best.difference(measure, baseline)
    name, base = row_title(best, rows), row_title(baseline, rows)
    if best is baseline or change > -CLOSE:
        first = f"On {group.trace}, no policy uses less energy than {base}: {_amount(baseline.mean(measure))} {what}."
        return [first, _service(rows, rows)]
    sure = f" ± {100 * spread:.1f}" if len(best.runs) > 1 else ""
    saved = baseline.mean("kwh") - best.mean("kwh")
    money = _money_saved(group, best, baseline)
    first = (
        f"On {group.trace}, {name} uses {-100 * change:.1f}{sure} % less energy per "
        f"{'unit of work' if measure == 'kwh_per_work' else 'GPU-hour'} than {base}: {_amount(best.mean(measure))} "
        f"against {_amount(baseline.mean(measure))} {what}"
    )
    if saved > 0:
        first += f", {_thousands(saved)} kWh less in {length}{money}"
    return [f"{first}.", _service([best, baseline], rows)]


def _asleep(rows: Sequence[TimedRow]) -> list[str]:
    """What sleep did under the policy that lets most nodes sleep."""
    row = max(rows, key=lambda one: one.mean("asleep_node_hours"))
    asleep, wakes, kwh = row.mean("mean_asleep_nodes"), row.mean("wakes"), row.mean("kwh")
    if not asleep > 0:
        return ["No node sleeps: none is empty for long enough beside the reserve."]
    share = 100 * row.mean("transition_kwh") / kwh if kwh > 0 else 0.0
    others = [one.mean("asleep_node_hours") for one in rows if one is not row]
    count = f"{asleep:,.0f} of {row.mean('nodes'):,.0f}"
    most = bool(others) and max(others) < row.mean("asleep_node_hours")
    first = f"let most nodes sleep: {count} on average" if most else f"let {count} nodes sleep on average"
    times = f"{_thousands(wakes)} wake{'' if wakes == 1 else 's'}"
    return [f"{row_title(row, rows)} {first}, with {times}; waking and shutting down took {share:.2g} % of the energy."]


def _service(shown: Sequence[TimedRow], rows: Sequence[TimedRow]) -> str:
    """Who waits and who is turned away."""
    if never_waited(rows):
        return "Every task starts when it arrives, under every policy." if len(rows) > 1 else "No task waits."
    said_of: dict[str, list[str]] = {}  # what is said -> the rows it is said of
    for row in dict.fromkeys(shown):
        said_of.setdefault(_about_service(row), []).append(row_title(row, rows))
    if len(said_of) == 1:
        who = (
            "Under every policy"
            if len(shown) == len(rows) > 1
            else f"Under {' and '.join(next(iter(said_of.values())))}"
        )
        return f"{who}, {next(iter(said_of))}."
    said = "; ".join(f"under {names[0]}, {text}" for text, names in said_of.items())
    return f"U{said[1:]}."


def _about_service(row: TimedRow) -> str:
    said = []
    if row.mean("wait_mean_s") > 0:
        p99_s = row.mean("wait_p99_s")
        said.append(
            f"99 % of the tasks wait at most {as_time(p99_s)}" if p99_s > 0 else "99 % of the tasks start at once"
        )
    on_average = "on average " if len(row.runs) > 1 else ""
    for measure, became in VERBS:
        if (count := row.mean(measure)) > 0:
            became = became.replace("were", "was") if count == 1 and not on_average else became
            said.append(f"{on_average}{_thousands(count)} of {_thousands(row.mean('arrived'))} tasks {became}")
    return ", ".join(said) or "no task waits"


def limits(group: Group, with_drawn: bool) -> list[str]:
    """What the numbers rest on; each line is about one assumption."""
    options = group.options
    said = [
        f"Watts are those of the power profile {group.profile!r}: a GPU in use draws what the profile says for its "
        "share in use, whatever the task computes. Cooling and losses count through the PUE of "
        f"{options.pue:g}{' (1: none)' if options.pue == 1 else ''}."
    ]
    if options.speed:
        said.append(
            f"Batch tasks run for longer on slow GPUs and for less on fast ones, by the speeds {options.speed!r}; "
            f"durations are taken to be those of a GPU of speed {options.speed_reference:.3g} (A100-SXM4-80GB: 1). "
            "Services run as long as their file says."
        )
        said.append(
            "Work counts as far as it was done inside the run. Where policies leave different amounts of it unfinished "
            "at the end, kWh per unit of work depends on the length of the run: take one that is long beside its tasks."
        )
    else:
        said.append("A task runs equally long on every GPU model: no table of speeds was given.")
    if options.sleep:
        said.append(_sleep_assumed(options.sleep))
    if options.consolidate:
        knobs = dict(part.split("=") for part in options.consolidate.split(","))
        slower = "to any GPU" if knobs["slower"] == "yes" else "never to a slower GPU"
        said.append(
            f"Every {as_time(float(knobs['every']))} nodes in little use are emptied, at most {knobs['moves']} moves "
            f"an hour, {slower}; each moved task is paused for {as_time(float(knobs['pause']))}. The network and the "
            "storage that moves need cost nothing here."
        )
    if options.bound:
        transitions = ", and nodes wake and fall asleep at no cost" if options.sleep else ""
        said.append(
            "Above least: against a lower bound on the energy of any schedule in which the same tasks run at each "
            f"moment. It may move tasks at any time for nothing{transitions}, so that it cannot be reached."
        )
    if options.cap:
        table = f"the table {options.cap_speed!r}" if options.cap_speed else "public sweeps"
        said.append(
            f"GPUs are capped ({shown_caps(options.cap)}): full draw is that share of the maximum, and batch tasks run "
            f"longer by {table}, the same for all models and tasks. A slower GPU-hour is less work: compare kWh of the "
            "same tasks with and without caps, not Wh per GPU-hour."
        )
    if with_drawn:
        said.append(
            "Tasks are drawn: requests, durations and classes of service are those of the trace, arrivals follow the "
            f"shape {options.arrivals!r} at a mean load of {options.load:g} of {options.load_gpu_milli / 1000:,.0f} "
            "GPUs. Tasks that run at the start arrive there, with the time that is left of their duration."
        )
    else:
        said.append("Tasks arrive and run as their file says; what ran before its first task is not there.")
    if options.carbon:
        said.append(
            f"Carbon of electricity: {options.carbon}. Embodied carbon: "
            f"{options.embodied or '150 kg per GPU over 4 years, nothing for the rest of a node'}."
        )
    return said


def _sleep_assumed(text: str) -> str:
    knobs = dict(part.split("=") for part in text.split(","))
    idle = f"empty for {as_time(float(knobs['idle']))}" if "idle" in knobs else "empty for as long as one wake costs"
    reserve = knobs["reserve"] if knobs["reserve"].endswith("%") else f"{knobs['reserve']} GPUs"
    of = " of the GPUs" if reserve.endswith("%") else ""
    short = "; nodes also wake when that is short" if "wake_for_reserve" in knobs else ""
    return (
        f"A node that is {idle} shuts down ({as_time(float(knobs['shutdown']))}) and sleeps at {knobs['watts']} W, "
        f"while {reserve}{of} stay free and awake{short}. A task placed on a node asleep waits for its wake "
        f"({as_time(float(knobs['wake']))}), as long for every node; while it wakes or shuts down a node draws its "
        "idle watts. Wakes never fail, and wear is not counted."
    )


def _money_saved(group: Group, best: TimedRow, baseline: TimedRow) -> str:
    saved = baseline.mean("money") - best.mean("money")
    if not group.options.price or not saved > 0:
        return ""
    return f" and {_thousands(saved)} {best.runs[0].currency or 'of money'}"


def _length(seconds: float) -> str:
    for name, size in (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1)):
        if seconds >= size:
            amount = f"{seconds / size:.3g}"
            return f"{amount} {name}{'' if amount == '1' else 's'}"
    return "no time"


def _kwh(row: TimedRow) -> str:
    return f"{_thousands(row.mean('kwh'))} kWh"


def _thousands(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.3g}"


def _amount(value: float) -> str:
    return f"{value:,.1f}" if value >= 10 else f"{value:.4g}"

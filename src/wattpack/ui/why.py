"""Why here: one decision of a scene in its six steps, and what other policies would have done."""

from __future__ import annotations

import re

import numpy as np

from wattpack.engine.core.engine import Engine
from wattpack.engine.core.explain import Explanation, explain
from wattpack.engine.runs.record import gpu_index_text
from wattpack.errors import UserError
from wattpack.model.fit import VERDICT_WORDS
from wattpack.policies.expression import parse
from wattpack.report.style import label
from wattpack.ui.answers import Component, Elsewhere, NodeRefused, NodeScores, Why
from wattpack.ui.costs import alone, cost_of, type_text
from wattpack.ui.scene import Played, play
from wattpack.ui.sources import Sources
from wattpack.ui.wire import WhyRequest

SHOWN = 20  # nodes that fit, and as many that do not
OTHERS = ("fgd", "pwr", "bestfit")


def why(request: WhyRequest, sources: Sources) -> Why:
    played = play(request, sources)
    index = task_index(played, request.task)
    workload, luck = played.run.workload, played.luck[index]
    k = int(workload.sequence[index])
    engine = played.engine_after(index)
    found = explain(engine, k, luck)
    fitting = [int(n) for n in found.order if found.takes_part[n]]
    refused = [int(n) for n in found.order if not found.takes_part[n]]
    names = played.datacenter.names
    counts = {words: int((found.verdict == code).sum()) for code, words in enumerate(VERDICT_WORDS) if code}
    return Why(
        task=workload.task_name(index) if workload.task_names else f"task {index + 1}",
        text=workload.classes[k].text,
        number=index + 1,
        of=len(workload),
        load=float(played.run.load[index - 1]) if index else 0.0,
        policy=found.mix.expression,
        chosen_by_auto=played.chosen,
        steps=steps(found, fitting, counts),
        components=[
            Component(part.policy.name, part.weight, list(part.policy.term_names) if part.policy.terms > 1 else [])
            for part in found.mix.components
        ],
        nodes=[scores_of(engine, found, k, luck, n) for n in fitting[:SHOWN]],
        fitting=len(fitting),
        refused=[
            NodeRefused(names[n], type_text(played.datacenter, n), VERDICT_WORDS[int(found.verdict[n])])
            for n in refused[:SHOWN]
        ],
        reasons={words: count for words, count in counts.items() if count},
        node=names[found.node] if found.node >= 0 else "",
        gpus=gpu_index_text(found.gpus),
        others=[elsewhere(played, index, policy) for policy in OTHERS],
    )


def task_index(played: Played, text: str) -> int:
    """The place of a task: its number, `#3` too, or its name."""
    workload = played.run.workload
    names = workload.task_names or ()
    if text in names:
        if names.count(text) > 1:
            places = [f"#{place}" for place, name in enumerate(names, 1) if name == text][:5]
            raise UserError(f"task {text!r}: {names.count(text)} tasks of this name, expected a place: {places}")
        return names.index(text)
    number = re.fullmatch(r"#?([0-9]{1,9})", text)
    if number is None or not 1 <= int(number[1]) <= len(workload):
        raise UserError(f"task {text!r}: not in this run, expected a name or a number from 1 to {len(workload):,}")
    return int(number[1]) - 1


def scores_of(engine: Engine, found: Explanation, k: int, luck: np.ndarray, n: int) -> NodeScores:
    gpus = found.gpus if n == found.node else alone(engine, k, luck, n).gpus
    at, terms = 0, []
    for component in found.mix.components:
        own = found.priced[at : at + component.policy.terms, n]
        terms.append([_plain(value) for value in own] if component.policy.terms > 1 else [])
        at += component.policy.terms
    return NodeScores(
        node=found.datacenter.names[n],
        type=type_text(found.datacenter, n),
        scores=[
            (_plain(found.raw[c, n]), _plain(found.normalised[c, n]), _plain(found.weighted[c, n]))
            for c in range(len(found.mix.components))
        ],
        total=_plain(found.total[n]),
        terms=terms,
        cost=cost_of(engine, k, n, gpus),
    )


def _plain(value: float) -> float:
    """No minus before a zero, and no NaN, which JSON lacks: a node that is the only one is not scored."""
    return 0.0 if value != value else float(value) + 0.0


def steps(found: Explanation, fitting: list[int], counts: dict[str, int]) -> list[tuple[str, str]]:
    """The six steps of `engine/core/decide.py` for this decision."""
    reasons = "; ".join(f"{words}: {count:,}" for words, count in counts.items() if count)
    parts = [f"{part.weight:g} x {label(part.policy.name)}" for part in found.mix.components]
    if found.node < 0:
        return [("filter", f"no node fits ({reasons})"), ("choose", "the task fits nowhere and fails")]
    if len(fitting) == 1:
        scored = "the only node that fits is taken unscored"
        middle = [("score", scored), ("normalise", "-"), ("combine", "-")]
        chosen = f"{found.datacenter.names[found.node]}, the only node that fits"
    else:
        best = float(found.total[found.node])
        ties = int((found.total[fitting] == best).sum())
        middle = [
            ("score", f"{' and '.join(label(part.policy.name) for part in found.mix.components)}: higher is better"),
            ("normalise", "each policy's scores are brought to a common scale over the nodes that fit"),
            ("combine", " + ".join(parts)),
        ]
        shared = f" of {ties} nodes, first in node order" if ties > 1 else ""
        chosen = f"{found.datacenter.names[found.node]}: largest total, {best:g}{shared}"
    gpus = gpu_index_text(found.gpus)
    return [
        ("filter", f"{len(fitting):,} of {len(found.verdict):,} nodes fit" + (f" ({reasons})" if reasons else "")),
        *middle,
        ("choose", chosen),
        ("pick", f"GPU {gpus}" if gpus else "no GPU is asked for"),
    ]


def elsewhere(played: Played, index: int, policy: str) -> Elsewhere:
    """The decision of another policy in the datacenter as this one has filled it."""
    k = int(played.run.workload.sequence[index])
    engine = played.engine_after(index, parse(policy))
    found = explain(engine, k, played.luck[index])
    name = played.datacenter.names[found.node] if found.node >= 0 else ""
    cost = cost_of(engine, k, found.node, found.gpus) if name else None
    return Elsewhere(policy, label(policy), name, gpu_index_text(found.gpus), cost)

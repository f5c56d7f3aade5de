"""Why here: one decision of a scene in its six steps, and what other policies would have done."""

from __future__ import annotations

from wattpack.engine.core.engine import Engine
from wattpack.engine.core.explain import LIKE_ANOTHER, Explanation
from wattpack.engine.runs.record import gpu_index_text
from wattpack.policies.expression import parse
from wattpack.report.style import label
from wattpack.ui.answers import Component, Cost, Elsewhere, NodeRefused, NodeScores, Why
from wattpack.ui.before import Before, before
from wattpack.ui.costs import cost_of, gpus_on, type_text
from wattpack.ui.sources import Sources
from wattpack.ui.wire import WhyRequest

SHOWN = 20  # nodes that fit, and as many that do not
OTHERS = ("fgd", "pwr", "bestfit")


def why(request: WhyRequest, sources: Sources) -> Why:
    then = before(request, sources)
    found, workload, index = then.found, then.workload, then.index
    fitting = [int(n) for n in found.order if found.takes_part[n]]
    refused = [int(n) for n in found.order if not found.takes_part[n]]
    names = found.datacenter.names
    return Why(
        task=workload.task_name(index) if workload.task_names else f"task {index + 1}",
        text=workload.classes[then.task_class].text,
        number=index + 1,
        of=len(workload),
        load=then.load,
        when=then.when,
        policy=found.mix.expression,
        chosen_by_auto=then.chosen,
        steps=steps(found, fitting),
        components=[
            Component(part.policy.name, part.weight, list(part.policy.term_names) if part.policy.terms > 1 else [])
            for part in found.mix.components
        ],
        meanings=dict(found.meanings),
        nodes=[scores_of(then, n) for n in fitting[:SHOWN]],
        fitting=len(fitting),
        refused=[NodeRefused(names[n], type_text(found.datacenter, n), found.reason(n)) for n in refused[:SHOWN]],
        reasons=found.reasons,
        node=names[found.node] if found.node >= 0 else "",
        gpus=gpu_index_text(found.gpus),
        others=[elsewhere(then, policy) for policy in OTHERS],
    )


def scores_of(then: Before, n: int) -> NodeScores:
    found = then.found
    gpus = found.gpus if n == found.node else gpus_on(then.engine, then.task_class, then.luck, n)
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
        longer_w=None if found.extension_w is None else _plain(-found.extension_w[n]),
        total=_plain(found.total[n]),
        terms=terms,
        cost=cost_there(then, then.engine, n, gpus),
    )


def _plain(value: float) -> float:
    """No minus before a zero, and no NaN, which JSON lacks: a node that is the only one is not scored."""
    return 0.0 if value != value else float(value) + 0.0


def steps(found: Explanation, fitting: list[int]) -> list[tuple[str, str]]:
    """The six steps of `engine/core/decide.py` for this decision."""
    reasons = "; ".join(f"{words}: {count:,}" for words, count in found.reasons.items())
    awake = "no node awake has room; " if found.left_out == LIKE_ANOTHER else ""
    longer = "" if found.extension_w is None else ", less the watts of keeping the node awake for longer"
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
            ("combine", " + ".join(parts) + longer),
        ]
        shared = f" of {ties} nodes, first in node order" if ties > 1 else ""
        chosen = f"{found.datacenter.names[found.node]}: largest total, {best:g}{shared}"
    gpus = gpu_index_text(found.gpus)
    return [
        (
            "filter",
            f"{awake}{len(fitting):,} of {len(found.verdict):,} nodes fit" + (f" ({reasons})" if reasons else ""),
        ),
        *middle,
        ("choose", chosen),
        ("pick", f"GPU {gpus}" if gpus else "no GPU is asked for"),
    ]


def elsewhere(then: Before, policy: str) -> Elsewhere:
    """The decision of another policy in the datacenter as this one has filled it."""
    engine, found = then.under(parse(policy))
    name = found.datacenter.names[found.node] if found.node >= 0 else ""
    cost = cost_there(then, engine, found.node, found.gpus) if name else None
    return Elsewhere(policy, label(policy), name, gpu_index_text(found.gpus), cost)


def cost_there(then: Before, engine: Engine, n: int, gpus: int) -> Cost:
    """What the task adds, with what a node asleep draws more when it is awake."""
    cost = cost_of(engine, then.task_class, n, gpus)
    return cost if then.waking_w is None else Cost(cost.watts + float(then.waking_w[n]), cost.fragmentation_gpus)

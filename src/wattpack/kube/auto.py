"""`auto` in the live service: an expression chosen for the nodes known, and again when they change by a tenth."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace

from wattpack.choose.choice import Choice, choose
from wattpack.choose.search import BASELINE, search
from wattpack.choose.small_fleet import columns_of
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Mix
from wattpack.model.power import PowerProfile
from wattpack.model.tasks import Workload
from wattpack.policies.expression import AUTO, STEADY, WORDS, parse

log = logging.getLogger("wattpack")
CHANGED = 0.1  # share of the nodes that must have come or gone before the choice is made again
LEAST_PODS = 100  # that must have arrived before a learnt workload is chosen for


class Auto:
    """The choice for one cluster. `mix` is what the next engine is built with."""

    def __init__(self, word: str, profile: PowerProfile, trace: Workload | None) -> None:
        """trace: the workload to choose for; None: the pods that arrived."""
        self.word, self.regime, self.profile, self.trace = word, WORDS[word] or STEADY, profile, trace
        self.mix: Mix = parse(BASELINE)
        self.choice: Choice | None = None
        self._nodes: Counter[tuple[object, ...]] = Counter()  # by type, of the fleet that was chosen for
        self._pods = 0  # arrived by then

    def is_due(self, datacenter: Datacenter, seen: Workload) -> bool:
        """Whether to choose again: a tenth of the nodes came or went, or twice as many pods are known."""
        if self.choice is None:
            return True
        now = _types(datacenter)
        changed = max((now - self._nodes).total(), (self._nodes - now).total())
        if changed >= CHANGED * max(self._nodes.total(), 1):
            return True
        return self.trace is None and len(seen) >= max(LEAST_PODS, 2 * self._pods)

    def found_for(self, datacenter: Datacenter, seen: Workload) -> Choice:
        """The choice for these nodes. It changes nothing, so another thread may work it out."""
        if self.trace is None and len(seen) < LEAST_PODS:
            because = f"fewer than {LEAST_PODS} pods have been seen to choose by"
            return Choice(BASELINE, because, self.regime, word=self.word)
        return replace(choose(datacenter, self.trace or seen, self.profile, self.regime), word=self.word)

    def take(self, choice: Choice, datacenter: Datacenter, seen: Workload) -> bool:
        """Use a choice from now on; whether the expression is another one than before."""
        self._nodes, self._pods = _types(datacenter), len(seen)
        changed = self.choice is None or self.choice.expression != choice.expression
        if changed:
            log.info("%s", choice.text)
        self.choice, self.mix = choice, parse(choice.expression)
        return changed

    @property
    def text(self) -> str:
        """`auto -> ocs`, as decisions and the shadow's table name the policy."""
        return f"{self.word} -> {self.mix.expression}"

    def compile_portfolio(self) -> None:
        """Run every member once on a tiny fleet, so that the first choice does not wait for the compiler."""
        from wattpack.kube.compile_ahead import TASKS

        model = next(iter(self.profile.gpus))
        tiny = Datacenter.of(["a", "b"], [96000] * 2, [393216] * 2, [4] * 2, [model] * 2, name=AUTO)
        search(tiny, Workload.of(TASKS.values()), self.profile, self.regime)


def _types(datacenter: Datacenter) -> Counter[tuple[object, ...]]:
    """Nodes by what they are; models and pools by name, since their numbers depend on the order of the nodes."""
    columns = columns_of(datacenter)
    names = {"model": datacenter.models, "cpu_model": datacenter.cpu_models, "pool": datacenter.pools}
    named = [[texts[number] for number in columns.pop(column).tolist()] for column, texts in names.items()]
    return Counter(zip(*named, *(column.tolist() for column in columns.values()), strict=True))

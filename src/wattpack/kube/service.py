"""The verbs of the extender and the questions people ask, on one view of the cluster. One thread: no locks."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from wattpack.kube.binding import Binder
from wattpack.kube.client import Client
from wattpack.kube.config import Config
from wattpack.kube.decision import Decision, new_decision
from wattpack.kube.events import Events
from wattpack.kube.lease import Lease
from wattpack.kube.live import Considered, Offered
from wattpack.kube.measured import PowerRow
from wattpack.kube.metrics import Metrics
from wattpack.kube.objects import NODE, POD, Node, Pod, Unreadable
from wattpack.kube.questions import Standing, State, explain_now, now_text, state_of
from wattpack.kube.ranking import Ranking
from wattpack.kube.shadow import Shadow
from wattpack.kube.translate import PodFacts
from wattpack.kube.view import View
from wattpack.kube.watch import Watch
from wattpack.kube.wire import (
    ENCODER,
    BindAnswer,
    BindingArgs,
    ExtenderArgs,
    FilterAnswer,
    HostPriority,
    answer_for,
    offered_names,
)
from wattpack.model.fit import VERDICT_WORDS

log = logging.getLogger("wattpack")
KEPT = 10_000  # decisions that `explain` can tell of as they were made
UNBOUND_S = 60  # room that was promised and not bound is given back after this long
UNSEEN_S = 180  # a Binding that got no answer may still be made; the API server gives a request up after 60 s
PATIENCE_S = 15  # without a watch for this long, the cache no longer counts as in sync


class RefusedError(Exception):
    """Cannot decide now; the text says why. The scheduler tries again."""


class Service:
    """What answers. `run.py` starts it and keeps it in step, `app.py` puts it on HTTP."""

    def __init__(self, config: Config, client: Client, identity: str) -> None:
        self.config, self.client = config, client
        self.metrics = Metrics()
        self.view = View(config)
        self.nodes: Watch[Node] = Watch(
            "nodes", "/api/v1/nodes", client.list_nodes, NODE, self.replace_nodes, self.change_node
        )
        self.pods: Watch[Pod] = Watch("pods", "/api/v1/pods", client.list_pods, POD, self.replace_pods, self.change_pod)
        self.lease = Lease(config.lease, identity, client, self.pods.relist)
        self.events = Events(client, self.metrics, config.events)
        self.binder = Binder(self)
        self.shadow = Shadow(self.view, self.metrics) if config.mode == "shadow" else None
        self.decisions: OrderedDict[tuple[str, str], Decision] = OrderedDict()
        self.ranking = Ranking(())
        self.power_errors: list[PowerRow] = []  # modelled against measured, by model

    # ---- the watches hand over what they see; the view may have been exchanged meanwhile

    def replace_nodes(self, nodes: list[Node]) -> None:
        self.view.replace_nodes(nodes)
        if self.shadow:
            self.shadow.nodes_changed()

    def change_node(self, event: str, node: Node) -> None:
        self.view.change_node(event, node)
        if self.shadow:
            self.shadow.nodes_changed()

    def replace_pods(self, pods: list[Pod]) -> None:
        self.view.replace_pods(pods)
        if self.shadow:
            self.shadow.pods_changed(first=not self.pods.listed)

    def change_pod(self, event: str, pod: Pod) -> None:
        self.view.change_pod(event, pod)
        if self.shadow:
            self.shadow.pods_changed()

    @property
    def ready(self) -> bool:
        return self.nodes.in_sync(PATIENCE_S) and self.pods.in_sync(PATIENCE_S)

    async def may_decide(self) -> None:
        """Raises RefusedError where this replica must not decide now."""
        if self.config.mode == "shadow":
            raise RefusedError("shadow mode: nothing is decided or bound here")
        if not self.ready:
            raise RefusedError("the cache is not in sync with the cluster yet")
        if not await self.lease.held():
            raise RefusedError(f"another replica decides: {self.lease.holder or 'the lease could not be taken'}")

    # ---- the verbs

    async def filter(self, args: ExtenderArgs) -> FilterAnswer:
        """Decide, promise the room, and answer with the chosen node alone (mode `score`: with all that fit)."""
        try:
            await self.may_decide()
            pod = self.view.read(args.pod)
        except (RefusedError, Unreadable) as fault:
            self.metrics.count("wattpack_decisions_total", policy=self.config.policy, outcome="error")
            return FilterAnswer(error=f"wattpack: {fault}")
        held = self.view.live.placed.get(pod.uid)
        # It has been bound and the scheduler does not know yet; or a Binding of it got no answer, and may still happen:
        # sent anywhere else, it could end up beside the pod that got its room.
        if held is not None and (held.seen or (held.bound and held.node in self.view.live.nodes)):
            return answer_for(args, [name for name in offered_names(args) if name == held.node])
        numbers, _ = self.asked(args)
        considered = self.decide(pod, numbers)
        if considered is None or considered.node < 0:
            return self.refusal(considered, offered_names(args))
        if self.config.mode == "choose":
            return answer_for(args, [considered.datacenter.names[considered.node]])
        every, choice = considered.datacenter.names, considered.choice
        return answer_for(args, [every[n] for n in np.flatnonzero(choice.offered & (choice.verdict == 0)).tolist()])

    async def prioritize(self, args: ExtenderArgs) -> bytes:
        """10 for the chosen node, 0 to 9 for the others by how the policy sees them; as JSON."""
        try:
            await self.may_decide()
            pod = self.view.read(args.pod)
        except (RefusedError, Unreadable):
            return b"[]"  # an error would be swallowed; filter and bind say it
        numbers, unknown = self.asked(args)
        considered = self.decide(pod, numbers)
        if considered is None:
            return ENCODER.encode([HostPriority(name, 0) for name in unknown])
        return self.ranking.answer(considered.choice, numbers, unknown)

    def asked(self, args: ExtenderArgs) -> tuple[NDArray[np.int64], list[str]]:
        """The nodes that the scheduler asks about, by number, and names that are not known."""
        engine = self.view.live.fresh()
        names = engine.datacenter.names if engine is not None else ()
        if self.ranking.names is not names:
            self.ranking = Ranking(names)
        return self.ranking.asked(args)

    async def bind(self, args: BindingArgs) -> BindAnswer:
        try:
            await self.may_decide()
        except RefusedError as fault:
            return BindAnswer(f"wattpack: {fault}")
        return BindAnswer(await self.binder.bind(args))

    def decide(self, pod: PodFacts, offered: Offered) -> Considered | None:
        """The engine's decision; the room is promised at once, for the scheduler goes on before it binds."""
        live = self.view.live
        live.give_back(pod.uid)
        considered = live.ask(pod, offered)
        if considered is None:
            self.metrics.count("wattpack_decisions_total", policy=self.config.policy, outcome="failed")
            return None
        decision = new_decision(pod, considered, live, now_text())
        if considered.node >= 0:
            before = live.power_w(), live.fragmentation_gpus()
            live.promise(pod, decision.node, considered.gpus, time.monotonic())
            decision.watts = live.power_w() - before[0]
            decision.fragmentation_gpus = live.fragmentation_gpus() - before[1]
            self.metrics.count("wattpack_decisions_total", policy=self.config.policy, outcome="placed")
        else:
            self.metrics.count("wattpack_decisions_total", policy=self.config.policy, outcome="failed")
            for reason, count in decision.refused.items():
                self.metrics.count("wattpack_filter_reasons_total", count, reason=reason)
            self.events.add(decision)
        self.keep(decision)
        return considered

    def refusal(self, considered: Considered | None, names: list[str]) -> FilterAnswer:
        """Every node with its reason. Unresolvable: evicting other pods through the scheduler would not know GPUs."""
        if considered is None:
            return FilterAnswer(
                node_names=[], failed_and_unresolvable_nodes=dict.fromkeys(names, "wattpack: no node known")
            )
        index = self.view.live.index
        words = {
            name: VERDICT_WORDS[int(considered.choice.verdict[index[name]])]
            if name in index
            else self.view.unreadable_nodes.get(name, "not known to wattpack yet")
            for name in names
        }
        return FilterAnswer(
            node_names=[], failed_and_unresolvable_nodes={n: f"wattpack: {w}" for n, w in words.items()}
        )

    def keep(self, decision: Decision) -> None:
        key = decision.namespace, decision.pod
        self.decisions[key] = decision
        self.decisions.move_to_end(key)
        if len(self.decisions) > KEPT:
            self.decisions.popitem(last=False)

    def tidy(self) -> None:
        """Now and then: give back room that was promised and never bound; learn the target anew."""
        now_s, live = time.monotonic(), self.view.live
        # What the API server has not shown for so long, with a watch that stands, did not happen.
        lost = live.unseen(now_s - UNSEEN_S) if self.ready else []
        for uid in {*live.expired(now_s - UNBOUND_S), *lost}:
            live.give_back(uid)
        self.view.live.relearn()

    # ---- questions

    def explain(self, namespace: str, name: str) -> Decision | None:
        """The decision as it was made, or as it would be made now for a pod that is there."""
        kept = self.decisions.get((namespace, name))
        uid = self.view.uids.get((namespace, name), "")
        if kept is not None and (not uid or kept.uid == uid):
            return kept
        return explain_now(self.view, uid)

    def state(self) -> State:
        """The cluster as the policy sees it, and how this replica stands."""
        about: Standing = {
            "policy": self.config.policy,
            "mode": self.config.mode,
            "ready": self.ready,
            "leader": self.lease.left_s() > 0,
        }
        return {**about, **state_of(self.view)}

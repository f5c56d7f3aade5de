"""The extender's verbs (filter, prioritize, bind) and the questions people ask, on one view of the cluster.

All of it runs in one thread, so there are no locks.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.live.one_decision import TOP_SCORE
from wattpack.kube.binding import Binder
from wattpack.kube.claim_binding import ClaimBinder
from wattpack.kube.claim_view import ClaimView
from wattpack.kube.claim_watches import claim_watches
from wattpack.kube.client import Client
from wattpack.kube.closed_nodes import NO_DEVICES
from wattpack.kube.config import Config
from wattpack.kube.constraints import lost
from wattpack.kube.decision import Decision, DecisionLine, line_of
from wattpack.kube.decode import Skipped
from wattpack.kube.energy import Energy
from wattpack.kube.events import Events
from wattpack.kube.facts import PodFacts
from wattpack.kube.informer import READABLE, Kind
from wattpack.kube.lease import Lease
from wattpack.kube.measured import PowerRow
from wattpack.kube.metrics import WAITS, Metrics
from wattpack.kube.objects import NODE, POD, Node, Pod, Unreadable
from wattpack.kube.questions import Standing, State, age_s, explain_now, now_text, state_of
from wattpack.kube.ranking import Ranking, scores_json
from wattpack.kube.reservations import State as Held
from wattpack.kube.settle import Settler
from wattpack.kube.shadow import Shadow
from wattpack.kube.sleep.keeper import Keeper
from wattpack.kube.sleep.promises import waits
from wattpack.kube.view import View
from wattpack.kube.wire import (
    BindAnswer,
    BindingArgs,
    ExtenderArgs,
    FilterAnswer,
    answer_for,
    offered_names,
    wrong_name,
)
from wattpack.model.fit import VERDICT_WORDS

log = logging.getLogger("wattpack")
KEPT = 10_000  # decisions that `explain` can show as they were made
LISTED = 100  # decisions in a list
SCHEDULERS = 100  # names of schedulers that are kept


class RefusedError(Exception):
    """Cannot decide now; the text says why. The scheduler tries again."""


class Service:
    """Answers requests. `run.py` starts it and keeps it in step with the cluster, `app.py` serves it over HTTP."""

    def __init__(self, config: Config, client: Client, identity: str) -> None:
        self.config, self.client = config, client
        self.metrics = Metrics()
        self.view = View(config, ClaimView() if config.reads_claims() else None)
        self.nodes: Kind[Node] = Kind(
            client, "/api/v1/nodes", NODE, self.change_node, self.skip_node, self.replace_nodes, self.nodes_listed
        )
        self.pods: Kind[Pod] = Kind(
            client, "/api/v1/pods", POD, self.change_pod, self.skip_pod, self.replace_pods, self.pods_listed
        )
        self.claims = claim_watches(self) if config.reads_claims() else []
        self.lease = Lease(config.lease, identity, client, self.relist)
        self.events = Events(client, self.metrics, config.events)
        self.claim_binder = ClaimBinder(self)
        self.binder = Binder(self)
        self.settler = Settler(self)
        self.lease.busy = lambda: self.settler.busy
        self.stopping = False  # no more requests are taken; Bindings under way are finished
        self.shadow = Shadow(self.view, self.metrics) if config.mode == "shadow" else None
        self.decisions: OrderedDict[tuple[str, str], Decision] = OrderedDict()
        self.sleep: Keeper | None = None
        self.start_sleep(config)
        self.ranking = Ranking(())
        self.energy = Energy(config.server.metrics_namespaces)
        self.asked_by: set[str] = set()  # names of the schedulers that ask us: their pods are ours
        self.power_errors: list[PowerRow] = []  # modelled against measured, by model

    def start_sleep(self, config: Config) -> None:
        """Keep nodes as `[sleep]` says. A keeper that was there is taken over, not closed."""
        before = self.sleep
        self.sleep = Keeper(self, config.sleep, before) if config.sleep is not None else None
        self.lease.keeps_while_idle = config.sleep is not None and config.sleep.acts

    # ---- called by the watches; on `self.view`, which a new configuration replaces

    def replace_nodes(self, nodes: list[Node]) -> None:
        self.view.replace_nodes(nodes)
        if self.shadow:
            self.shadow.nodes_changed()

    def nodes_listed(self, asked_s: float) -> None:
        self.start_shadow()

    def change_node(self, event: str, node: Node) -> None:
        self.view.change_node(event, node)
        if self.shadow:
            self.shadow.nodes_changed()

    def replace_pods(self, pods: list[Pod]) -> None:
        self.view.replace_pods(pods)
        if self.shadow:
            self.shadow.pods_changed()
        if self.sleep:
            self.sleep.saw_all(pods)

    def pods_listed(self, asked_s: float) -> None:
        there = {known.thing.metadata.uid for known in self.pods.known.values()}
        self.view.drop_promises(asked_s, there)
        self.start_shadow()

    def change_pod(self, event: str, pod: Pod) -> None:
        self.view.change_pod(event, pod)
        if self.shadow:
            self.shadow.pods_changed()
        if self.sleep:
            self.sleep.saw(event, pod)

    def skip_node(self, event: str, one: Skipped) -> None:
        self.view.skip_node(event, one)
        if self.shadow:
            self.shadow.nodes_changed()
        self.note_skipped("nodes", event, one)

    def skip_pod(self, event: str, one: Skipped) -> None:
        self.view.skip_pod(event, one)
        if self.shadow:
            self.shadow.pods_changed()
        if self.sleep and event == "DELETED":
            self.sleep.saw(event, Pod(metadata=one.metadata))
        self.note_skipped("pods", event, one)

    def note_skipped(self, kind: str, event: str, one: Skipped) -> None:
        """Say once in the log, and of a Node or a Pod in an event, that it cannot be decoded."""
        if event in ("DELETED", READABLE):
            return
        log.warning("skipped: %s %s %s", kind, "/".join(filter(None, one.key)), one.why)
        if kind in ("nodes", "pods"):
            self.events.add_skipped("Node" if kind == "nodes" else "Pod", one)

    def skipped(self) -> dict[str, str]:
        """Objects that cannot be decoded, and why."""
        found = [(watch.name, one) for watch in self.watches() for one in watch.skipped()]
        return {f"{kind} {'/'.join(filter(None, one.key))}": one.why for kind, one in found}

    def start_shadow(self) -> None:
        """The shadow starts when everything has been listed: only then is known what pods hold."""
        if self.shadow and not self.shadow.started and all(watch.listed for watch in self.watches()):
            self.shadow.start()

    def watches(self) -> list[Kind[Any]]:
        return [self.nodes, self.pods, *self.claims]

    async def relist(self) -> None:
        """Read again what another replica may have written."""
        for watch in (*self.claims, self.pods):
            await watch.relist()

    @property
    def ready(self) -> bool:
        return all(watch.in_sync() for watch in self.watches())

    async def may_decide(self) -> None:
        """Raises RefusedError if this replica must not decide now."""
        if self.config.mode == "shadow":
            raise RefusedError("shadow mode: nothing is decided or bound here")
        if not self.ready:
            raise RefusedError("the cache is not in sync with the cluster yet")
        if not await self.lease.held():
            raise RefusedError(f"another replica decides: {self.lease.holder or 'the lease could not be taken'}")
        if self.stopping:  # asked last: from here to the Binding nothing else is awaited
            raise RefusedError("this replica is stopping")

    # ---- the verbs

    async def filter(self, args: ExtenderArgs) -> FilterAnswer:
        """Decide, reserve, and answer with the chosen node alone; in mode `score` with every node that fits."""
        if len(self.asked_by) < SCHEDULERS:
            self.asked_by.add(args.pod.spec.scheduler_name)
        try:
            await self.may_decide()
            pod = self.read_asked(args.pod)
        except (RefusedError, Unreadable) as fault:
            self.metrics.count("wattpack_decisions_total", policy=self.config.policy, outcome="error")
            offered_names(args)  # a list of nodes that cannot be read is answered with 400, whatever else is wrong
            return FilterAnswer(error=f"wattpack: {fault}")
        kept = self.view.cluster.keeps(pod.uid)
        if kept is not None:  # the scheduler does not know of the Binding yet
            if kept.node not in offered_names(args):  # an error, which it tries again sooner than a refusal
                return FilterAnswer(error=f"wattpack: the pod was bound to {kept.node}, or may still be")
            return answer_for(args, [kept.node])
        if self.sleep is not None and (promised := self.sleep.promises.answer(pod, args)) is not None:
            self.settler.note(pod.uid, args.pod)
            return promised
        numbers, _ = self.ranking_of_nodes().asked(args)
        decision = self.decide(pod, numbers, args.pod)
        if decision is not None and decision.promised:
            return waits(args, decision.node, decision.promised)
        if decision is None or not decision.node:
            if pod.claims and await self.claim_binder.free_unusable(pod):
                return FilterAnswer(error="wattpack: its claims were given back, as it does not fit on their node")
            return self.refusal(decision, offered_names(args), self.view.cluster.closed_to(pod))
        if self.config.mode == "choose":
            return answer_for(args, [decision.node])
        names, choice = self.ranking.names, self.view.cluster.choice
        return answer_for(args, [names[n] for n in np.flatnonzero(choice.offered & (choice.verdict == 0)).tolist()])

    async def prioritize(self, args: ExtenderArgs) -> bytes:
        """JSON: 10 for the chosen node, 0 to 9 for the others by their total score."""
        try:
            await self.may_decide()
            pod = self.read_asked(args.pod)
        except (RefusedError, Unreadable):
            offered_names(args)
            return b"[]"  # kube-scheduler ignores errors here; filter and bind report them
        kept = self.view.cluster.keeps(pod.uid)
        if kept is not None:
            return scores_json({name: TOP_SCORE if name == kept.node else 0 for name in offered_names(args)})
        numbers, unknown = self.ranking_of_nodes().asked(args)
        if self.decide(pod, numbers, args.pod) is None:
            return scores_json(dict.fromkeys(unknown, 0))
        return self.ranking.answer(self.view.cluster.choice, numbers, unknown)

    def read_asked(self, pod: Pod) -> PodFacts:
        """The pod of a request; raises Unreadable. Its names become part of paths: of its events, and to read it."""
        metadata = pod.metadata
        if wrong := wrong_name(pod=metadata.name, namespace=metadata.namespace, uid=metadata.uid):
            raise Unreadable(wrong)
        return self.view.read(pod)

    def ranking_of_nodes(self) -> Ranking:
        """Names and numbers of the nodes as the engine has them; rebuilt when the nodes change."""
        engine = self.view.cluster.engine()
        names = engine.datacenter.names if engine is not None else ()
        if self.ranking.names is not names:
            self.ranking = Ranking(names)
        return self.ranking

    async def bind(self, args: BindingArgs) -> BindAnswer:
        try:
            await self.may_decide()
        except RefusedError as fault:
            return BindAnswer(f"wattpack: {fault}")
        waited_s = self.waited_s(args)
        error = await self.binder.bind(args)
        if not error and waited_s is not None:
            self.metrics.observe(waited_s, WAITS)
        return BindAnswer(error)

    def waited_s(self, args: BindingArgs) -> float | None:
        """Since the pod was created; None where it is bound already, or that is not known."""
        pod = self.view.pods.get(args.pod_uid)
        held = self.view.cluster.reservations.get(args.pod_uid)
        if pod is None or pod.node or (held is not None and held.state in (Held.BOUND, Held.SEEN)):
            return None
        return age_s(pod.created)

    def decide(self, pod: PodFacts, offered: NDArray[np.int64], shown: Pod) -> Decision | None:
        """Decide and assume at once: kube-scheduler goes on to the next pod before it binds this one.

        A pod that no node offered has room for may be promised one that sleeps.
        """
        cluster = self.view.cluster
        cluster.forget(pod.uid)
        decision, pod, devices = self.view.decide(pod, offered, shown)
        if self.sleep is not None and decision is not None and not decision.node and not pod.claims:
            promised = self.sleep.promises.make(shown, pod)
            if promised is not None:
                self.note_promise(promised)
                return promised
            cluster.would_decide(pod, offered)  # the reasons of the nodes offered, not of those that sleep
        placed = decision is not None and decision.node != ""
        self.metrics.count(
            "wattpack_decisions_total", policy=self.config.policy, outcome="placed" if placed else "failed"
        )
        if decision is None:
            return None
        decision.at = now_text()
        if self.config.mode == "choose":
            decision.note = lost(shown)
        if placed:
            before = cluster.placed_power_w(), cluster.fragmentation_gpus()
            self.view.assume(pod, decision, devices)
            self.settler.note(pod.uid, shown)
            decision.watts = cluster.placed_power_w() - before[0]
            decision.fragmentation_gpus = cluster.fragmentation_gpus() - before[1]
        else:
            for reason, count in decision.refused.items():
                self.metrics.count("wattpack_filter_reasons_total", count, reason=reason)
            self.events.add(decision)
        self.keep(decision)
        return decision

    def note_promise(self, decision: Decision) -> None:
        """A pod was promised a node that is to wake."""
        decision.at = now_text()
        self.metrics.count("wattpack_decisions_total", policy=self.config.policy, outcome="promised")
        self.events.add(decision)
        self.keep(decision)

    def refusal(self, decision: Decision | None, names: list[str], closed: dict[str, str]) -> FilterAnswer:
        """Every node with its reason.

        Unresolvable, so that kube-scheduler does not preempt: it cannot see which GPUs that would free.
        """
        if decision is None:
            why = self.view.unreadable_nodes
            return FilterAnswer(
                node_names=[],
                failed_and_unresolvable_nodes={n: f"wattpack: {why.get(n, 'no node known')}" for n in names},
            )
        why = {name: closed.get(name) or self.why_not(name) for name in names}
        return FilterAnswer(node_names=[], failed_and_unresolvable_nodes={n: f"wattpack: {w}" for n, w in why.items()})

    def why_not(self, name: str) -> str:
        """Why the latest decision did not take a node that is open to the pod."""
        number = self.view.cluster.index.get(name)
        if number is None:
            return self.view.unreadable_nodes.get(name, "not known to wattpack yet")
        code = int(self.view.cluster.choice.verdict[number])
        return VERDICT_WORDS[code] if code else NO_DEVICES  # it has room, but not on devices that serve the claims

    def keep(self, decision: Decision) -> None:
        key = decision.namespace, decision.pod
        self.decisions[key] = decision
        self.decisions.move_to_end(key)
        if len(self.decisions) > KEPT:
            self.decisions.popitem(last=False)

    async def tidy(self) -> None:
        """Every few seconds: ask about reservations that the watch leaves open, learn the target again."""
        if self.view.claim_pods is not None:
            self.view.claim_pods.refresh()
            if self.shadow:
                self.shadow.nodes_changed()
        await self.settler.settle()
        self.view.cluster.in_step.relearn()

    # ---- a policy that is chosen

    async def choose_again(self) -> None:
        """Choose again for `auto` if the fleet has changed; worked out in a thread while decisions go on."""
        cluster = self.view.cluster
        in_step = cluster.in_step
        auto, engine = in_step.auto, None if in_step.auto is None else cluster.engine()
        if auto is None or engine is None or not self.ready or not auto.is_due(engine.datacenter, in_step.seen()):
            return
        datacenter, seen = engine.datacenter, in_step.seen()
        choice = await asyncio.to_thread(auto.found_for, datacenter, seen)
        if auto.take(choice, datacenter, seen):
            for one in (cluster, self.shadow.own if self.shadow else cluster):
                one.in_step.stale = True  # the next decision builds the engine anew

    def choice_text(self) -> str:
        auto = self.view.cluster.in_step.auto
        return "" if auto is None or auto.choice is None else auto.choice.text

    # ---- questions

    def explain(self, namespace: str, name: str) -> Decision | None:
        """The decision as it was made; for a pod that others placed, as it would be made now."""
        kept = self.decisions.get((namespace, name))
        uid = self.view.uids.get((namespace, name), "")
        if kept is not None and (not uid or kept.uid == uid):
            return kept
        return explain_now(self.view, uid)

    def latest(self) -> list[DecisionLine]:
        """The latest decisions, the last first."""
        return [line_of(decision) for decision in islice(reversed(self.decisions.values()), LISTED)]

    def state(self) -> State:
        """The cluster as the policy sees it, and the condition of this replica."""
        about: Standing = {
            "policy": self.config.policy,
            "auto": self.choice_text(),
            "mode": self.config.mode,
            "ready": self.ready,
            "leader": self.lease.left_s() > 0,
            "skipped": self.skipped(),
        }
        return {**about, **state_of(self.view)}

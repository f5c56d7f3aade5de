"""Reasons and names of resources without what could tell whose cluster it is, for files that leave it.

A reason may quote the cluster: names of nodes, pods, claims and device classes, label keys and resources of the
organisation's own, values of its labels, selectors in CEL. Kept are numbers, the words of dialects, labels that tools
and clouds set with their values (the model of a GPU), and resources of makers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from wattpack.kube.dialects import DIALECTS
from wattpack.kube.dra.claims import Claims
from wattpack.kube.dra.objects import ClaimSpec
from wattpack.kube.dra.taken import results_of
from wattpack.kube.import_files import ClusterObjects
from wattpack.kube.node_models import AMD_IDS, AWS, GKE, INSTANCE_TYPES, OTHER_CLOUDS, PRODUCT_LABELS
from wattpack.kube.not_understood import is_of_dialect
from wattpack.kube.objects import Node, Pod
from wattpack.kube.snapshot import Snapshot

Hide = Callable[[str, str], str]

_OWN_WORDS = {label for dialect in DIALECTS.values() for label in dialect.model_labels}
_LABELS = frozenset(
    {*PRODUCT_LABELS, GKE, *OTHER_CLOUDS, *INSTANCE_TYPES, *AMD_IDS, *_OWN_WORDS}
    | {f"{prefix}-{what}" for prefix in AWS for what in ("name", "memory")}
)
_MAKERS = re.compile(
    r"(?:[a-z0-9-]+\.)?(?:nvidia|amd|intel|amazon|amazonaws|google|azure|aliyun|alibabacloud|qualcomm|huawei|enflame"
    r"|cambricon|tenstorrent|metax-tech|mthreads|hygon|kunlunxin|birentech|habana|furiosa|rebellions|iluvatar"
    r"|graphcore)\.(?:com|ai)/[^/]+"
)
_QUOTED = re.compile(r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?!\w)""")
_NAME = re.compile(r"[A-Za-z0-9](?:[\w./-]*\w)?")
_KEY = re.compile(r"[\w-]+(?:\.[\w-]+)+/[\w./-]+")  # of a label or a resource, with its domain
_LABEL = re.compile(r"\blabel ([\w./-]*\w)")
# A claim may have a plain word for a name, as "gpu" or "model": hidden where a name stands, kept where we use the word.
_BEFORE_NAMES = re.compile(
    r"(?:\b(?:claim|request|device|class|template|label|annotation|for|of|on|in|and)|[|,/(])\s*$"
)


def hide_words(snapshot: Snapshot, cluster: ClusterObjects, models: Collection[str], hide: Hide) -> Snapshot:
    """The snapshot with new names in reasons, in resources, and for models that tasks name and are none of `models`."""
    words = hidden_words(cluster, hide)
    reasons: dict[str, list[str]] = {}
    for reason, what in snapshot.left_out.items():
        reasons.setdefault(words(reason), []).extend(what)
    tasks = []
    for task in snapshot.tasks:
        own = task.pod.task
        spec = "|".join(m if m in models or m == "" else hide("model", m) for m in own.gpu_spec.split("|"))
        tasks.append(replace(task, pod=task.pod._replace(task=own._replace(gpu_spec=spec))))
    others = [one._replace(resource=words(one.resource)) for one in snapshot.not_understood]
    return replace(snapshot, left_out=reasons, tasks=tasks, not_understood=others)


def hidden_words(cluster: ClusterObjects, hide: Hide) -> Callable[[str], str]:
    """A function from a text to the same text with such names replaced, each by `hide`."""
    found = (*_of_nodes(cluster.nodes), *_of_pods(cluster.pods), *_of_claims(cluster.claims))
    names = frozenset(name for name in found if name)

    def in_text(text: str) -> str:
        text = re.sub(r"\bCEL .*", "CEL that is not shown", text, flags=re.DOTALL)
        said = _LABEL.findall(text)
        keep_quoted = all(map(is_public, said)) if said else text.startswith("ResourceSlices offer ")
        parts, end = [], 0
        for found in _QUOTED.finditer(text):
            mark, quoted = found[0][0], found[0][1:-1]
            kept = keep_quoted or not any(letter.isalpha() for letter in quoted)
            parts += [plain(text[end : found.start()]), mark, quoted if kept else hide("text", quoted), mark]
            end = found.end()
        return "".join([*parts, plain(text[end:])])

    def plain(text: str) -> str:
        return _NAME.sub(lambda found: name_in(text, found), text)

    def name_in(text: str, found: re.Match[str]) -> str:
        name = found[0]
        if is_public(name) or not any(letter.isalpha() for letter in name):
            return name
        known = name in names or any(part in names for part in name.split("/"))
        if known and name.isalpha():
            known = _BEFORE_NAMES.search(text, 0, found.start()) is not None
        return hide("name", name) if known or _KEY.fullmatch(name) else name

    return in_text


def is_public(name: str) -> bool:
    """Whether a label or resource has a name that many clusters use."""
    return name in _LABELS or is_of_dialect(name) or _MAKERS.fullmatch(name) is not None


def _of_nodes(nodes: Iterable[Node]) -> Iterable[str]:
    for node in nodes:
        yield node.metadata.name
        yield from node.metadata.labels
        yield from node.status.allocatable


def _of_pods(pods: Iterable[Pod]) -> Iterable[str]:
    for pod in pods:
        yield from (pod.metadata.namespace, pod.metadata.name)
        yield from pod.metadata.annotations
        yield from pod.spec.node_selector.values()
        yield from _affinity_values(pod)
        for container in (*pod.spec.containers, *pod.spec.init_containers):
            yield from (*container.resources.requests, *container.resources.limits)
        for one in (*pod.spec.resource_claims, *pod.status.resource_claim_statuses):
            yield from (one.name, one.resource_claim_name or "", one.resource_claim_template_name or "")


def _affinity_values(pod: Pod) -> Iterable[str]:
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    for term in required.node_selector_terms if required is not None else ():
        for expression in term.match_expressions:
            yield from expression.values


def _of_claims(claims: Claims) -> Iterable[str]:
    for claim in claims.claims.values():
        yield from (claim.metadata.namespace, claim.metadata.name, *_of_spec(claim.spec))
        for result in results_of(claim):
            yield from (result.driver, result.pool, result.device)
    for template in claims.templates.values():
        yield from (template.metadata.namespace, template.metadata.name, *_of_spec(template.spec.spec))
    yield from claims.inventory.classes
    for device in claims.inventory.pools.devices:
        yield from (*device, str(device))


def _of_spec(spec: ClaimSpec) -> Iterable[str]:
    for request in spec.devices.requests:
        yield request.name
        asked = [request.exactly] if request.exactly is not None else []
        for one in (*asked, *request.first_available):
            yield from (one.device_class_name, getattr(one, "name", ""))

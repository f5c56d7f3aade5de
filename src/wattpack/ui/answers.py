"""What the page is answered, as types: they are encoded, and are part of the OpenAPI document."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from wattpack.kube.decision import DecisionLine
from wattpack.kube.measured import PowerRow
from wattpack.kube.shadow import ShadowTable
from wattpack.kube.sleep.status import SleepNode

State = Literal["running", "done", "failed", "refused", "cancelled", "gone"]
ENCODER = msgspec.json.Encoder()


class RunStatus(msgspec.Struct):
    """A run as the page lists it."""

    id: str
    kind: str  # compare, simulate, or results: a folder given on the command line
    title: str
    state: State
    line: str  # the one line of a run that was refused or failed
    done: int  # runs finished
    all: int  # runs in all; 0: not known yet
    seconds: float
    command: str  # the command line that does the same
    python: str
    files: list[str]  # to take away


class RunResults(msgspec.Struct):
    """Finished runs as the charts and tables of the report: `data` is its payload, the others are its markup."""

    kind: Literal["curves", "time", "none"]
    done: int
    data: Any
    options: str
    words: str
    tiles: str
    tables: str
    colours: str
    traces: list[str]


class Trace(msgspec.Struct):
    name: str
    tasks: int
    timed: bool  # has times or durations: `simulate` can run it


class DatacenterLine(msgspec.Struct):
    name: str
    nodes: int
    gpus: int
    text: str


class PolicyLine(msgspec.Struct):
    name: str
    label: str
    text: str
    default: bool


class Choices(msgspec.Struct):
    """What the page offers to choose from."""

    version: str
    datacenters: list[DatacenterLine]
    traces: list[Trace]
    policies: list[PolicyLine]
    profiles: list[str]
    zones: list[tuple[str, str]]  # country code, name with g CO2e per kWh
    runs: list[RunStatus]
    live: str  # address of the service that is watched; "": none


class Uploaded(msgspec.Struct):
    """A file of the user's that was read and kept in the folder of the page."""

    kind: Literal["nodes", "tasks"]
    name: str  # how requests name it
    text: str


class Wrong(msgspec.Struct):
    error: str


class Done(msgspec.Struct):
    text: str


class Words(msgspec.Struct):
    """A request as a command line and as Python."""

    command: str
    python: str


class Cost(msgspec.Struct):
    """What a task adds on a node."""

    watts: float
    fragmentation_gpus: float


class NodeScores(msgspec.Struct):
    """A node that fits, best first."""

    node: str
    type: str
    scores: list[tuple[float, float, float]]  # by component: raw, normalised, weighted
    longer_w: float | None  # in the total: watts of keeping the node awake for longer; None: nodes do not sleep
    total: float
    terms: list[list[float]]  # by component: terms times their prices; empty for a score of one term
    cost: Cost


class NodeRefused(msgspec.Struct):
    node: str
    type: str
    reason: str


class Component(msgspec.Struct):
    name: str
    weight: float
    terms: list[str]


class Elsewhere(msgspec.Struct):
    """What another policy would have done in the same datacenter."""

    policy: str
    label: str
    node: str  # "": none
    gpus: str
    cost: Cost | None


class Why(msgspec.Struct):
    """One decision in its six steps."""

    task: str
    text: str
    number: int
    of: int
    load: float
    when: str  # of a run in time: the time of the decision, and how long the task had waited; "": of arrivals
    policy: str
    chosen_by_auto: str
    steps: list[tuple[str, str]]
    components: list[Component]
    meanings: dict[str, str]  # what numbered terms of the components stand for, by name
    nodes: list[NodeScores]
    fitting: int
    refused: list[NodeRefused]
    reasons: dict[str, int]
    node: str
    gpus: str
    others: list[Elsewhere]


class Placed(msgspec.Struct):
    """One task that was asked about."""

    task: str
    text: str
    node: str  # "": it fits nowhere
    type: str
    gpus: str
    cost: Cost | None
    missing: str


class Near(msgspec.Struct):
    """A node that comes near to fitting, or would hold the task if others moved."""

    node: str
    text: str


class NotOpen(msgspec.Struct):
    """Nodes that a pod may not go to, for one reason."""

    why: str
    count: int
    nodes: list[str]  # the first of them


class Answered(msgspec.Struct):
    """What would become of the tasks asked about."""

    nodes: int
    gpus: int
    tasks: int
    placed: int
    cost: Cost  # of all that were placed
    rows: list[Placed]
    reasons: dict[str, int]  # of the last task that fits nowhere: nodes by reason
    nearest: list[Near]
    moves: list[Near]
    closed: str = ""  # of a pod: how many nodes are not open to it and why, or that this is not known
    not_open: list[NotOpen] = []


class AskAnswer(msgspec.Struct):
    line: str
    load: float
    arrived: int
    now: Answered
    then: Answered | None  # with the nodes that came


class LiveModel(msgspec.Struct):
    """Nodes of one GPU model in a live cluster."""

    model: str  # "": no GPU
    nodes: int
    gpus: int
    in_use: float
    power_w: float


class LiveSleep(msgspec.Struct):
    """The nodes of a running service that sleep, or in mode advise would sleep."""

    mode: str
    acting: bool
    stopped: str  # why no node goes to sleep now; "": they may
    reserve_gpus: int
    free_gpus: int
    saved_w: float
    would_save_w: float
    may_sleep: int  # nodes
    would_sleep: int  # nodes
    states: dict[str, int]  # nodes in each state that is not awake
    nodes: list[SleepNode]  # those not awake, the latest change first; then those that would sleep
    changes: dict[str, int]  # how often a node came into each state since the service started
    errors: int


class LiveView(msgspec.Struct):
    """A running service at a glance."""

    address: str
    policy: str
    auto: str
    mode: str
    ready: bool
    leader: bool
    power_w: float
    fragmentation_gpus: float
    nodes: int
    gpus: int
    gpus_in_use: float
    tasks: int
    waiting: int
    reserved: int
    models: list[LiveModel]
    not_understood: list[str]
    decisions: list[DecisionLine]
    shadow: ShadowTable | None
    measured: list[PowerRow]
    sleep: LiveSleep | None  # None: the service has no [sleep]

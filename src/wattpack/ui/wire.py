"""What the page asks and what it is answered, as types: they are decoded, encoded, and are the OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from wattpack.datasets import alibaba2023

Name = Annotated[str, Meta(min_length=1, max_length=300)]
Few = Annotated[list[Name], Meta(max_length=50)]
Traces = Annotated[list[Name], Meta(min_length=1, max_length=20)]
Seed = Annotated[int, Meta(ge=0, le=1_000_000)]
State = Literal["running", "done", "failed", "refused", "cancelled", "gone"]
ENCODER = msgspec.json.Encoder()


class Asked(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A datacenter with edits, and the power profile: what every question is about."""

    datacenter: Name = alibaba2023.NAME
    add: Few = []
    remove: Few = []
    replace: Few = []
    profile: Name = "paper"


class RunRequest(Asked):
    """A run of `wattpack compare` or `wattpack simulate`, in the words of its options."""

    kind: Literal["compare", "simulate"] = "compare"
    traces: Annotated[list[Name], Meta(min_length=1, max_length=20)] = msgspec.field(
        default_factory=lambda: ["default"]
    )
    policies: Annotated[list[Name], Meta(max_length=50)] = []
    seeds: Annotated[int, Meta(ge=1, le=1000)] = 3
    bound: bool = False
    # of `simulate` alone
    load: float | None = None
    days: float | None = None
    queue: Literal["", "drop", "fifo", "backfill"] = ""
    patience: str = ""
    pue: str = ""
    carbon: str = ""
    price: str = ""
    budget_kw: str = ""


class Scene(Asked):
    """A datacenter under a policy. Tasks are drawn with a seed, as `compare` does, or taken in file order."""

    trace: Name = "default"
    policy: Name = "fgd"
    seed: Seed | None = 0  # None: in the order of the file, as `explain` and `replay` take them
    up_to: Annotated[float, Meta(gt=0, le=1.3)] = 1.0  # load at which it ends


class MapRequest(Scene):
    """Every node and GPU, arrival by arrival or over time."""

    over: Literal["arrivals", "time"] = "arrivals"
    load: Annotated[float, Meta(gt=0, le=10)] = 0.7  # of a run in time
    days: Annotated[float, Meta(gt=0, le=366)] = 1.0


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

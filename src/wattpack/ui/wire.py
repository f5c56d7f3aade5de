"""What the page asks, as types: they are decoded, and are part of the OpenAPI document. Answers: `answers.py`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from wattpack.datasets import alibaba2023

Name = Annotated[str, Meta(min_length=1, max_length=300)]
Few = Annotated[list[Name], Meta(max_length=50)]
Short = Annotated[str, Meta(max_length=300)]
Traces = Annotated[list[Name], Meta(min_length=1, max_length=20)]
Seed = Annotated[int, Meta(ge=0, le=1_000_000)]


class Asked(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A datacenter with edits, and the power profile: what every question is about."""

    datacenter: Name = alibaba2023.NAME
    add: Few = []
    remove: Few = []
    replace: Few = []
    profile: Name | None = None  # default: that of the page's power file, else paper


class RunRequest(Asked):
    """A run of `wattpack compare` or `wattpack simulate`, in the words of its options."""

    kind: Literal["compare", "simulate"] = "compare"
    traces: Traces = msgspec.field(default_factory=lambda: ["default"])
    policies: Annotated[list[Name], Meta(max_length=50)] = []
    against: Short = ""  # the policy that savings are against; empty: the default of the command
    seeds: Annotated[int, Meta(ge=1, le=1000)] = 3
    bound: bool = False
    # of `simulate` alone
    load: float | None = None
    days: float | None = None
    queue: Literal["", "drop", "fifo", "backfill"] = ""
    patience: Short = ""
    pue: Short = ""
    carbon: Short = ""
    price: Short = ""
    budget_kw: Short = ""
    sleep: Short = ""  # "on", or knobs
    cap: Short = ""


class Scene(Asked):
    """A datacenter under a policy. Tasks are drawn with a seed, as `compare` does, or taken in file order."""

    trace: Name = "default"
    policy: Name = "fgd"
    seed: Seed | None = 42  # the first of `compare`; None: in file order, as `explain` takes them
    up_to: Annotated[float, Meta(gt=0, le=1.3)] = 1.0  # load at which it ends


class TimedScene(Scene):
    """A scene arrival by arrival, or over time."""

    over: Literal["arrivals", "time"] = "arrivals"
    load: Annotated[float, Meta(gt=0, le=10)] = 0.7  # of a run in time
    days: Annotated[float, Meta(gt=0, le=366)] = 1.0
    sleep: Short = ""  # of a run in time: "on", or knobs


class MapRequest(TimedScene):
    """Every node and GPU."""


class WhyRequest(TimedScene):
    """Why a task of a scene goes where it goes: its number from 1 on, or its name."""

    task: Name = "1"


class TaskFields(msgspec.Struct, forbid_unknown_fields=True):
    """A task as a person types it."""

    vcpu: Annotated[float, Meta(ge=0, le=100_000)] = 4
    memory_gib: Annotated[float, Meta(ge=0, le=1_000_000)] = 16
    gpus: Annotated[float, Meta(ge=0, le=1000)] = 1  # below 1: a share of one GPU
    model: Annotated[str, Meta(max_length=300)] = ""  # A|B; "": any


class AskRequest(Scene):
    """Does it fit? One of `task`, `pod` (YAML) and `tasks` (a trace of this page); `come`: nodes that come first."""

    load: Annotated[float, Meta(ge=0, le=1.3)] = 0.5  # how full the datacenter is
    task: TaskFields | None = None
    pod: Annotated[str, Meta(max_length=500_000)] = ""
    tasks: Annotated[str, Meta(max_length=300)] = ""
    come: Few = []

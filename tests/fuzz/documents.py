"""TOML and JSON: experiments, configurations, nodes and pods of Kubernetes, kubeconfigs; whole, and with faults."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

from hypothesis import strategies as st

from fuzz.case import Entry
from fuzz.odd import TEXTS, Strategy, entry

Json = dict[str, Any]

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2.9, 1e308, math.nan, math.inf, -math.inf, 10**30, 10**400, 2**63, -(2**63), 1e-300),
    *("", [], {}, [[]], [{}], {"": None}, {"x": {"x": {"x": 1}}}, [None], ["x", 1], list(range(50)), "x" * 3000),
    *("\ud800", "\x00", "a\nb", {"\ud800": "\ud800"}),
)


def odd_value() -> Strategy[Any]:
    return st.one_of(st.sampled_from(ODD_VALUES), st.sampled_from([text for text in TEXTS if len(text) < 1000]))


def places(value: Any) -> list[tuple[Any, ...]]:
    """The path of everything inside."""
    found: list[tuple[Any, ...]] = []
    for key, inside in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        found += [(key,), *((key, *rest) for rest in places(inside))]
    return found


@st.composite
def faulty(draw: Any, document: Any) -> Any:
    """The document with one value replaced, removed, doubled, or a new key beside it."""
    changed = copy.deepcopy(document)
    paths = places(changed)
    if not paths:
        return draw(odd_value())
    *way, last = draw(st.sampled_from(paths))
    inside = changed
    for step in way:
        inside = inside[step]
    kind = draw(st.sampled_from(("replace", "replace", "replace", "remove", "add", "wrap")))
    if kind == "replace":
        inside[last] = draw(odd_value())
    elif kind == "remove":
        del inside[last]
    elif kind == "wrap":
        inside[last] = [inside[last], inside[last]]
    elif isinstance(inside, list):
        inside.append(draw(odd_value()))
    else:
        inside[draw(st.sampled_from(("nosuch", "", "a b", "ü", "name", "kind")))] = draw(odd_value())
    return changed


@st.composite
def document_file(draw: Any, document: Strategy[Json], faults: bool, kind: str = "json") -> Entry | None:
    """The document as a file; with `faults` perhaps some in the values, or one in the bytes."""
    found = draw(document)
    for _ in range(draw(st.integers(0, 2)) if faults else 0):
        found = draw(faulty(found))
    text = as_toml(found) if kind == "toml" else json.dumps(found)
    return draw(entry(text.encode("utf-8"), faults))


# ---- TOML ------------------------------------------------------------------------------------------------------------


def as_toml(document: Any) -> str:
    """Inline tables throughout, but for blocks. What TOML cannot say (null, half surrogates) is said wrongly."""
    if not isinstance(document, dict):
        return f"value = {_toml(document)}\n"
    lines, blocks = [], []
    for key, value in document.items():
        if isinstance(value, list) and value and all(isinstance(block, dict) for block in value):
            for block in value:
                blocks += [
                    f"[[{json.dumps(key)}]]",
                    *(f"{json.dumps(name)} = {_toml(one)}" for name, one in block.items()),
                ]
        else:
            lines.append(f"{json.dumps(key)} = {_toml(value)}")
    return "\n".join([*lines, *blocks]) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value == "2020-01-01":
        return value  # a date
    return json.dumps(value)


# ---- what the files hold ---------------------------------------------------------------------------------------------

POLICIES = (
    "fgd",
    "pwr",
    "pwr:0.1+fgd:0.9",
    "bestfit",
    "random",
    "ocs",
    "gpupacking:0.5+dotprod:0.5",
    "epsilon",
    "pwrload",
)


@st.composite
def experiment(draw: Any) -> Json:
    """One block or several, on the nodes and tasks beside it."""
    axes: Json = {"policy": draw(st.lists(st.sampled_from(POLICIES[:5]), min_size=1, max_size=2, unique=True))}
    axes |= {"trace": "tasks.csv", "datacenter": "nodes.csv", "seeds": draw(st.sampled_from((1, [7], [0, 3])))}
    optional = {"profile": ["linear", "paper"], "up_to": 0.5, "batch": [1, 3], "batch_milp_seconds": 1.0, "name": "x"}
    optional["power"] = "power.toml"
    optional["timed"] = {"queue": ["drop", "fifo"], "horizon": "10m", "pue": 1.2, "carbon": "DEU", "budget_kw": 5}
    optional["timed"] |= {"sleep": [False, "idle=1m,reserve=0"], "cap": [0.7, "off"]}
    chosen = draw(st.lists(st.sampled_from(sorted(optional)), max_size=2, unique=True))
    axes |= {key: optional[key] for key in chosen if key != "batch_milp_seconds" or "batch" in chosen}
    if draw(st.booleans()):
        return axes
    block = {key: axes.pop(key) for key in list(axes) if key != "name" and draw(st.booleans())}
    return axes | {"experiment": [block, block | {"policy": "fgd"}]}


@st.composite
def power_document(draw: Any) -> Json:
    """A power file: models that are known and one that is not."""
    curve = [[0, 40], [0.5, 60.5], [1, 90]]
    gpus: Json = {
        "T4": {"idle_w": 9, "source": "x"},
        "G2": draw(st.sampled_from(({"max_w": 140}, {"limit_w": 160, "share_of_limit": 0.9}, {"like": "A10"}))),
        "Own": draw(st.sampled_from(({"idle_w": 20, "context_w": 30, "max_w": 90}, {"idle_w": 20, "points": curve}))),
    }
    whole: Json = {
        "profile": draw(st.sampled_from(("paper", "linear", "concave", "measured"))),
        "name": "x",
        "share_of_limit": 0.9,
        "node": {"base_w": 80, "base_share_of_limits": 0.15, "default_cpu": "EPYC 7763"},
        "gpu": {name: gpus[name] for name in draw(st.lists(st.sampled_from(sorted(gpus)), unique=True))},
        "cpu": {"EPYC 9654": {"idle_w": 90.5}, "Own": {"cores": 8, "idle_w": 9, "max_w": 65}},
    }
    return {key: whole[key] for key in draw(st.lists(st.sampled_from(sorted(whole)), max_size=4, unique=True))}


@st.composite
def configuration(draw: Any) -> Json:
    whole: Json = {
        "policy": "fgd",
        "power_profile": "linear",
        "power_file": "power.toml",
        "target": draw(st.sampled_from(("learnt", "tasks.csv", "default"))),
        "dialect": draw(
            st.sampled_from(("all", ["kai", "mig"], "alibaba", "nvidia", "hami", "aliyun", "volcano", "koordinator"))
        ),
        "mode": "score",
        "node_order": "seeded",
        "seed": 3,
        "scheduler_name": "x",
        "events": "none",
        "gpu_memory_mib": 1000,
        "gpu_model_label": "model",
        "cpu_model_label": "cpu",
        "prometheus": "http://127.0.0.1:1",
        "models": {"Own": "T4"},
        "server": {"host": "127.0.0.1", "port": 0, "max_body_mib": 1, "timeout_s": 1.5},
        "lease": {"enabled": False, "duration_s": 5},
    }
    return {key: whole[key] for key in draw(st.lists(st.sampled_from(sorted(whole)), max_size=4, unique=True))}


@st.composite
def kubeconfig(draw: Any) -> Json:
    user: Json = draw(
        st.sampled_from(
            (
                {},
                {"token": "x"},
                {"tokenFile": "nodes.csv"},
                {"exec": {"command": "./nosuch"}},
                {"client-key-data": "eA=="},
            )
        )
    )
    cluster = {
        "server": draw(st.sampled_from(("http://127.0.0.1:1", "https://127.0.0.1:1", "x", "http://127.0.0.1:99999")))
    }
    return {
        "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "c", "user": "u", "namespace": "n"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    }

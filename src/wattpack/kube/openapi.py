"""The OpenAPI document of the service: requests and answers.

The schemas are generated from the types that are decoded and encoded, so they are always current; paths and
descriptions are written here.
"""

from __future__ import annotations

from typing import Any

import msgspec

from wattpack import __version__
from wattpack.kube.decision import Decision, DecisionLine
from wattpack.kube.measured import Power
from wattpack.kube.objects import Pod
from wattpack.kube.questions import State
from wattpack.kube.shadow import ShadowTable
from wattpack.kube.sleep.status import SleepStatus
from wattpack.kube.wire import BindAnswer, BindingArgs, ExtenderArgs, FilterAnswer, HostPriority, Wrong

TAKEN = (Pod, ExtenderArgs, BindingArgs)
SENT = (FilterAnswer, HostPriority, BindAnswer, Decision, DecisionLine, State, ShadowTable, SleepStatus, Power, Wrong)
PLACE = "#/components/schemas/{name}"


def _schemas() -> dict[str, Any]:
    _, taken = msgspec.json.schema_components(TAKEN, ref_template=PLACE)
    _, sent = msgspec.json.schema_components(SENT, ref_template=PLACE)
    for schema in sent.values():
        if "properties" in schema:
            # A field with a default is optional in requests; answers always have it.
            schema["required"] = list(schema["properties"])
            for field in schema["properties"].values():
                field.pop("default", None)
    return {**sent, **taken}


def _json(schema: dict[str, Any], words: str) -> dict[str, Any]:
    return {"description": words, "content": {"application/json": {"schema": schema}}}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": PLACE.format(name=name)}


_WRONG = {
    "400": _json(_ref("Wrong"), "The body is not what was expected."),
    "413": _json(_ref("Wrong"), "The body is too large."),
    "500": _json(_ref("Wrong"), "A fault of wattpack's own."),
    "503": _json(_ref("Wrong"), "Not now: the cache is not in sync, or it took too long."),
}


def _post(summary: str, body: str, answer: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "post": {
            "summary": summary,
            "operationId": summary.split(":")[0],
            "requestBody": {"required": True, "content": {"application/json": {"schema": _ref(body)}}},
            "responses": {"200": answer, **_WRONG, **more},
        }
    }


def _get(summary: str, answer: dict[str, Any], *parameters: str, **more: Any) -> dict[str, Any]:
    named = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in parameters
    ]
    got: dict[str, Any] = {
        "summary": summary,
        "operationId": summary.split(":")[0],
        "responses": {"200": answer, **more},
    }
    return {"get": {**got, "parameters": named} if named else got}


_TEXT = {"description": "Plain text.", "content": {"text/plain": {"schema": {"type": "string"}}}}
_ANY = {"type": "object"}
_NOT_READY = {"503": {**_TEXT, "description": "Not in sync with the cluster yet."}}

OPENAPI: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {
        "title": "wattpack",
        "version": __version__,
        "description": "A scheduler extender that places GPU pods by power and fragmentation.",
    },
    "paths": {
        "/filter": _post("filter: decide for a pod", "ExtenderArgs", _json(_ref("FilterAnswer"), "What may be used.")),
        "/prioritize": _post(
            "prioritize: rank nodes for a pod",
            "ExtenderArgs",
            _json({"type": "array", "items": _ref("HostPriority")}, "A score for every node asked about."),
        ),
        "/bind": _post("bind: bind a pod to a node", "BindingArgs", _json(_ref("BindAnswer"), "Done, or why not.")),
        "/fit": _post(
            "fit: would this pod fit",
            "Pod",
            _json(_ref("Decision"), "Where, and at what cost; or what is missing."),
            **{"422": _json(_ref("Wrong"), "The pod contradicts itself.")},
        ),
        "/explain/{namespace}/{pod}": _get(
            "explain: why this node",
            _json(_ref("Decision"), "The decision."),
            "namespace",
            "pod",
            **{"404": _json(_ref("Wrong"), "No such pod.")},
        ),
        "/healthz": _get("healthz: is it alive", _TEXT),
        "/readyz": _get("readyz: is it in sync", _TEXT, **_NOT_READY),
        "/metrics": _get("metrics: for Prometheus", _TEXT),
        "/decisions": _get(
            "decisions: the latest ones",
            _json({"type": "array", "items": _ref("DecisionLine")}, "The last first, at most 100."),
        ),
        "/state": _get(
            "state: the cluster as the policy sees it", _json(_ref("State"), "Nodes, what is left on them, power.")
        ),
        "/shadow": _get(
            "shadow: what the policy would have done",
            _json(_ref("ShadowTable"), "How often it differs, and the watts."),
            **{"404": _json(_ref("Wrong"), "Not in shadow mode.")},
        ),
        "/power": _get("power: modelled against measured watts", _json(_ref("Power"), "By GPU model.")),
        "/sleep": _get(
            "sleep: nodes that sleep, or would",
            _json(_ref("SleepStatus"), "States of nodes, the reserve, and what is saved."),
            **{"404": _json(_ref("Wrong"), "No [sleep] section.")},
        ),
        "/openapi.json": _get("openapi: this document", _json(_ANY, "OpenAPI 3.1.")),
    },
    "components": {"schemas": _schemas()},
}

"""The service as an OpenAPI document: what it takes, what it answers."""

from __future__ import annotations

from typing import Any

from wattpack import __version__


def _json(schema: dict[str, Any], words: str) -> dict[str, Any]:
    return {"description": words, "content": {"application/json": {"schema": schema}}}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


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
_NAMES = {"type": ["array", "null"], "items": {"type": "string"}}
_REASONS = {"type": "object", "additionalProperties": {"type": "string"}}

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
        "/state": _get("state: the cluster as the policy sees it", _json(_ANY, "Nodes, what is left on them, power.")),
        "/shadow": _get(
            "shadow: what the policy would have done",
            _json(_ANY, "How often it differs, and the watts."),
            **{"404": _json(_ref("Wrong"), "Not in shadow mode.")},
        ),
        "/power": _get("power: modelled against measured watts", _json(_ANY, "By GPU model.")),
        "/openapi.json": _get("openapi: this document", _json(_ANY, "OpenAPI 3.1.")),
    },
    "components": {
        "schemas": {
            "Wrong": {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}},
            "Pod": {
                "type": "object",
                "description": "A Kubernetes v1 Pod; only the parts that say what it asks for are read.",
                "properties": {
                    "metadata": {
                        "type": "object",
                        "properties": {
                            "name": {"type": "string"},
                            "namespace": {"type": "string"},
                            "uid": {"type": "string"},
                            "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
                        },
                    },
                    "spec": {
                        "type": "object",
                        "properties": {"containers": {"type": "array", "items": _ref("Container")}},
                    },
                },
            },
            "Container": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "resources": {
                        "type": "object",
                        "properties": {"requests": _ref("Amounts"), "limits": _ref("Amounts")},
                    },
                },
            },
            "Amounts": {"type": "object", "additionalProperties": {"type": ["string", "number"]}},
            "ExtenderArgs": {
                "type": "object",
                "required": ["Pod"],
                "properties": {
                    "Pod": _ref("Pod"),
                    "NodeNames": _NAMES,
                    "Nodes": {
                        "type": ["object", "null"],
                        "description": "Read only where NodeNames is not given.",
                        "properties": {"items": {"type": ["array", "null"], "items": {}}},
                    },
                },
            },
            "Node": {
                "type": "object",
                "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string"}}}},
            },
            "BindingArgs": {
                "type": "object",
                "required": ["PodName", "PodNamespace", "Node"],
                "properties": {
                    "PodName": {"type": "string"},
                    "PodNamespace": {"type": "string"},
                    "PodUID": {"type": "string"},
                    "Node": {"type": "string"},
                },
            },
            "FilterAnswer": {
                "type": "object",
                "required": ["Error"],
                "properties": {
                    "Nodes": {"type": ["object", "null"]},
                    "NodeNames": _NAMES,
                    "FailedNodes": _REASONS,
                    "FailedAndUnresolvableNodes": _REASONS,
                    "Error": {"type": "string"},
                },
            },
            "HostPriority": {
                "type": "object",
                "required": ["Host", "Score"],
                "properties": {"Host": {"type": "string"}, "Score": {"type": "integer", "minimum": 0, "maximum": 10}},
            },
            "BindAnswer": {"type": "object", "required": ["Error"], "properties": {"Error": {"type": "string"}}},
            "Decision": {
                "type": "object",
                "required": ["policy", "node", "gpus", "watts", "fragmentation_gpus", "best", "refused", "nearest"],
                "properties": {
                    "namespace": {"type": "string"},
                    "pod": {"type": "string"},
                    "policy": {"type": "string"},
                    "node": {"type": "string"},
                    "gpus": {"type": "array", "items": {"type": "integer"}},
                    "offered": {"type": "integer"},
                    "fitting": {"type": "integer"},
                    "watts": {"type": "number"},
                    "fragmentation_gpus": {"type": "number"},
                    "best": {"type": "array", "items": {"type": "object"}},
                    "refused": {"type": "object", "additionalProperties": {"type": "integer"}},
                    "nearest": {"type": "array", "items": {"type": "object"}},
                    "note": {"type": "string"},
                },
            },
        }
    },
}

"""The OpenAPI document of the page's server, generated from the types that are decoded and encoded."""

from __future__ import annotations

from typing import Any

import msgspec

from wattpack import __version__
from wattpack.ui.answers import AskAnswer, Choices, Done, LiveView, RunResults, RunStatus, Uploaded, Why, Words, Wrong
from wattpack.ui.wire import AskRequest, MapRequest, RunRequest, WhyRequest

PLACE = "#/components/schemas/{name}"
TAKEN = (RunRequest, MapRequest, WhyRequest, AskRequest)
SENT = (LiveView, AskAnswer, Choices, Why, Done, RunResults, RunStatus, Uploaded, Words, Wrong)


def _schemas() -> dict[str, Any]:
    _, taken = msgspec.json.schema_components(TAKEN, ref_template=PLACE)
    _, sent = msgspec.json.schema_components(SENT, ref_template=PLACE)
    return {**sent, **taken}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": PLACE.format(name=name)}


def _json(schema: dict[str, Any], words: str) -> dict[str, Any]:
    return {"description": words, "content": {"application/json": {"schema": schema}}}


def _other(kind: str, words: str) -> dict[str, Any]:
    return {"description": words, "content": {kind: {"schema": {"type": "string"}}}}


_WRONG = {
    "400": _json(_ref("Wrong"), "The question is not what was expected."),
    "403": _json(_ref("Wrong"), "Asked by another host or page."),
    "404": _json(_ref("Wrong"), "No such run or file."),
    "413": _json(_ref("Wrong"), "The body is too large."),
    "500": _json(_ref("Wrong"), "A fault of wattpack's own."),
}


def operation(
    summary: str,
    answer: dict[str, Any],
    *parameters: str,
    body: dict[str, Any] | None = None,
    query: tuple[str, ...] = (),
) -> dict[str, Any]:
    """One operation; its id is the first word of the summary."""
    text = {"type": "string", "minLength": 1}
    named = [{"name": name, "in": "path", "required": True, "schema": text} for name in parameters]
    named += [{"name": name, "in": "query", "required": True, "schema": text} for name in query]
    found: dict[str, Any] = {
        "summary": summary,
        "operationId": summary.split(":")[0],
        "responses": {"200": answer, **_WRONG},
    }
    if named:
        found["parameters"] = named
    if body is not None:
        found["requestBody"] = {"required": True, "content": body}
    return found


def json_body(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": _ref(name)}}


_STATUS = _json(_ref("RunStatus"), "The run.")
_CSV = {"text/csv": {"schema": {"type": "string"}}}

OPENAPI: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "wattpack ui", "version": __version__, "description": "The server behind the page."},
    "paths": {
        "/api/choices": {
            "get": operation("choices: what can be chosen", _json(_ref("Choices"), "Datacenters, traces, policies."))
        },
        "/api/uploads": {
            "post": operation(
                "upload: keep a CSV file", _json(_ref("Uploaded"), "Its name."), body=_CSV, query=("kind", "name")
            )
        },
        "/api/runs/{id}/figures/{trace}.{kind}": {
            "get": operation(
                "figure: png, svg or pdf of a trace", _other("application/octet-stream", "It."), "id", "trace", "kind"
            )
        },
        "/api/words": {
            "post": operation(
                "words: a run as a command and as Python", _json(_ref("Words"), "Both."), body=json_body("RunRequest")
            )
        },
        "/api/runs": {
            "get": operation(
                "runs: all runs", _json({"type": "array", "items": _ref("RunStatus")}, "The latest first.")
            ),
            "post": operation("start: start a run", _STATUS, body=json_body("RunRequest")),
        },
        "/api/runs/{id}": {
            "get": operation("run: how far it is", _STATUS, "id"),
            "delete": operation("forget: remove a run", _json(_ref("Done"), "It is gone."), "id"),
        },
        "/api/runs/{id}/cancel": {"post": operation("cancel: end a run", _json(_ref("Done"), "It has ended."), "id")},
        "/api/runs/{id}/events": {
            "get": operation(
                "events: the run as it goes", _other("text/event-stream", "RunStatus, one a change."), "id"
            )
        },
        "/api/runs/{id}/results": {
            "get": operation("results: what is finished", _json(_ref("RunResults"), "Curves and tables."), "id")
        },
        "/api/runs/{id}/files/{name}": {
            "get": operation("file: a file to take away", _other("application/octet-stream", "It."), "id", "name")
        },
        "/api/map": {
            "post": operation(
                "map: every GPU over arrivals or time",
                _other("application/octet-stream", "A header and arrays."),
                body=json_body("MapRequest"),
            )
        },
        "/api/why": {
            "post": operation("why: a decision", _json(_ref("Why"), "In its steps."), body=json_body("WhyRequest"))
        },
        "/api/ask": {
            "post": operation("ask: would it fit", _json(_ref("AskAnswer"), "Where."), body=json_body("AskRequest"))
        },
        "/api/live": {"get": operation("live: a running service", _json(_ref("LiveView"), "At a glance."))},
        "/openapi.json": {"get": operation("openapi: this document", _json({"type": "object"}, "OpenAPI 3.1."))},
    },
    "components": {"schemas": _schemas()},
}

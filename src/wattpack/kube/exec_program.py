"""`exec` in a kubeconfig: a program that prints a token as an ExecCredential."""

from __future__ import annotations

import os

import msgspec

from wattpack.errors import UserError


class Variable(msgspec.Struct):
    name: str
    value: str


class ExecProgram(msgspec.Struct, rename="camel"):
    """The fields of a user's `exec` that are read."""

    command: str
    args: list[str] | None = None
    env: list[Variable] | None = None
    api_version: str | None = None


def exec_environment(program: ExecProgram) -> tuple[list[str], dict[str, str]]:
    """Arguments and environment of the program that prints a token."""
    extra = {variable.name: variable.value for variable in program.env or []}
    info = {"apiVersion": program.api_version, "kind": "ExecCredential", "spec": {"interactive": False}}
    for_program = {"KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}
    return [program.command, *(program.args or [])], {**os.environ, **extra, **for_program}


def exec_token(output: bytes, program: str) -> str:
    """The token in the output of such a program."""
    try:
        return str(msgspec.json.decode(output)["status"]["token"])
    except (msgspec.DecodeError, KeyError, TypeError):
        raise UserError(f"{program}: printed no token, expected an ExecCredential with status.token") from None

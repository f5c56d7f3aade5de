"""Machines that a program of the user switches: ARGV... read|on|off NODE, without a shell.

Exit status 0 accepts `on` and `off`, which may come several times. `read` prints on, off, changing or unknown.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal

from wattpack.kube.switches.config import CommandConfig
from wattpack.kube.switches.switch import Machine, Power, Sure, SwitchError

NODE_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")  # so no name is taken for an option
LARGEST_OUTPUT = 1000  # bytes that are read


class Command:
    def __init__(self, config: CommandConfig) -> None:
        self.config = config

    async def read(self, machine: Machine) -> Power:
        printed = (await self._run(machine, "read")).strip().lower()
        try:
            return Power(printed)
        except ValueError:
            raise SwitchError(
                f"{machine.node}: {self.config.argv[0]} read printed something else than on, off, changing or unknown"
            ) from None

    async def turn_off(self, machine: Machine, sure: Sure) -> None:
        await sure()
        await self._run(machine, "off")

    async def turn_on(self, machine: Machine) -> None:
        await self._run(machine, "on")

    async def close(self) -> None:
        """Nothing is kept."""

    async def _run(self, machine: Machine, action: str) -> str:
        """What the program printed. What it says in stderr is not kept: it may hold passwords of its own."""
        name = self.config.argv[0]
        if not NODE_NAME.fullmatch(machine.node):
            raise SwitchError(f"{machine.node!r}: no name of a Node")
        try:
            # A session of its own, so that what it has started ends with it.
            program = await asyncio.create_subprocess_exec(
                *self.config.argv,
                action,
                machine.node,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError) as fault:
            reason = getattr(fault, "strerror", None) or "cannot be started"
            raise SwitchError(f"{machine.node}: {name}: {reason}, expected the program of [sleep.command]") from None
        try:
            printed, status = await asyncio.wait_for(_finished(program), self.config.timeout_s)
        except BaseException as fault:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            await program.wait()
            if not isinstance(fault, TimeoutError):
                raise
            raise SwitchError(
                f"{machine.node}: {name} {action}: not done within {self.config.timeout_s:g} s, ended"
            ) from None
        if status != 0:
            raise SwitchError(f"{machine.node}: {name} {action} ended with status {status}; run it by hand to see why")
        return printed.decode(errors="replace")


async def _finished(program: asyncio.subprocess.Process) -> tuple[bytes, int]:
    assert program.stdout is not None
    printed = b""
    while piece := await program.stdout.read(LARGEST_OUTPUT):
        printed = (printed + piece)[:LARGEST_OUTPUT]
    return printed, await program.wait()

"""A program of the user's own that switches machines."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import pytest

from kube.switches.bmc import in_a_loop, sure
from wattpack.kube.switches.command import Command
from wattpack.kube.switches.config import CommandConfig
from wattpack.kube.switches.switch import Machine, Power, SwitchError

MACHINE = Machine("gpu-7", {}, "")
# Writes down how it was called, and prints the text of the file `state`.
PROGRAM = """
import pathlib, sys
folder = pathlib.Path(sys.argv[1])
with (folder / "calls").open("a") as file:
    print(*sys.argv[2:], file=file)
print((folder / "state").read_text())
"""


def command(folder: Path, program: str = PROGRAM, timeout_s: float = 20) -> Command:
    (folder / "state").write_text("Off")
    return Command(CommandConfig([sys.executable, "-c", program, str(folder), "$HOME; rm"], timeout_s))


@in_a_loop
async def test_the_program_is_called_with_action_and_node_and_no_shell(folder: Path) -> None:
    switch = command(folder)
    await switch.turn_off(MACHINE, sure)
    await switch.turn_on(MACHINE)
    assert await switch.read(MACHINE) is Power.OFF
    calls = (folder / "calls").read_text().splitlines()
    assert calls == [f"$HOME; rm {action} gpu-7" for action in ("off", "on", "read")]


@in_a_loop
async def test_what_goes_wrong_is_told_in_one_line_without_what_the_program_says(folder: Path) -> None:
    for program, expected in [
        ("import sys; print('secret'); sys.exit('secret')", "read ended with status 1; run it by hand to see why$"),
        ("print('secret' * 9999)", "read printed something else than on, off, changing or unknown$"),
        ("import time; time.sleep(60)", r"read: not done within 0\.7 s, ended$"),
    ]:
        with pytest.raises(SwitchError, match=expected) as caught:
            await command(folder, program, timeout_s=0.7 if "sleep" in program else 20).read(MACHINE)
        assert "secret" not in str(caught.value)
    with pytest.raises(SwitchError, match=r"^gpu-7: /not/there: No such file or directory"):
        await Command(CommandConfig(["/not/there"])).turn_off(MACHINE, sure)


@in_a_loop
async def test_what_the_program_has_started_ends_with_it(folder: Path) -> None:
    """A child that keeps the output open would else hold the call until it ends."""
    child = f"import time; time.sleep(3); open({str(folder / 'late')!r}, 'w')"
    program = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {child!r}])"
    started = time.monotonic()
    with pytest.raises(SwitchError, match="not done within"):
        await command(folder, program, timeout_s=1).turn_off(MACHINE, sure)
    await asyncio.sleep(max(0.0, 4 - (time.monotonic() - started)))
    assert not (folder / "late").exists()


@pytest.mark.parametrize("name", ["--force", "-rf", "a b", "", "a;b", "../x"])
def test_a_name_that_is_none_of_a_node_is_not_passed_on(tmp_path: Path, name: str) -> None:
    with pytest.raises(SwitchError, match="no name of a Node"):
        asyncio.run(command(tmp_path).turn_off(Machine(name, {}, ""), sure))
    assert not (tmp_path / "calls").exists()

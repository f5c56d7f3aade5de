"""`wattpack new-policy`: a policy to start from, and a test for it."""

from __future__ import annotations

import importlib.util
import keyword
from pathlib import Path

from wattpack.cli.policy_template import POLICY, TEST
from wattpack.errors import UserError
from wattpack.files import make_folder, write_text
from wattpack.policies import BUILT_IN


def new_policy_command(name: str, /, *, out: Path = Path()) -> None:
    """Write NAME.py, a commented policy that works, and test_NAME.py, which checks and runs it.

    Parameters
    ----------
    name
        Name of the policy: lower-case letters, digits and underscores.
    out
        Folder for the two files; default: this one.
    """
    check_name(name)
    files = {out / f"{name}.py": POLICY, out / f"test_{name}.py": TEST}
    for file in files:
        if file.exists():
            raise UserError(f"{file}: is there already, expected a new name or another --out")
    make_folder(out)
    for file, text in files.items():
        write_text(file, text.replace("NAME", name))
    policy, test = files
    print(f"policy  {policy}\ntest    {test}")
    print(f"next    wattpack compare --plugin {policy} --policy {name} --seeds 1")


def check_name(name: str) -> None:
    """The file is imported under this name, too, so it must not be that of a module."""
    if not (name.isidentifier() and name.isascii() and name == name.lower()) or keyword.iskeyword(name):
        raise UserError(f"policy name {name!r}: expected lower-case letters, digits and underscores")
    if name in BUILT_IN:
        raise UserError(f"policy name {name!r}: taken by a built-in policy, expected a new one")
    if importlib.util.find_spec(name) is not None:
        raise UserError(f"policy name {name!r}: taken by a Python module, expected a new one")

"""`wattpack new-policy`: a policy to start from, and a test for it."""

from __future__ import annotations

import importlib.util
import keyword
import os
import sys
from pathlib import Path

from wattpack.cli.outputs import check_folder
from wattpack.cli.policy_template import POLICY, TEST
from wattpack.errors import UserError
from wattpack.files import make_folder, write_text
from wattpack.policies import BUILT_IN

MOST_LETTERS = 100  # test_NAME.py must be a file name too, of at most 255 on most disks


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
    check_folder(out, [file.name for file in files], ())
    for file in files:
        if os.path.lexists(file):  # also a dangling link: we must not create its target
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
    if len(name) > MOST_LETTERS:
        raise UserError(f"policy name of {len(name)} letters, expected at most {MOST_LETTERS}")
    if name in BUILT_IN:
        raise UserError(f"policy name {name!r}: taken by a built-in policy, expected a new one")
    if name in sys.modules or importlib.util.find_spec(name) is not None:  # __main__ has no spec to find
        raise UserError(f"policy name {name!r}: taken by a Python module, expected a new one")

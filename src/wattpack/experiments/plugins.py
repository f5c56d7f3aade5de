"""Files that register policies of the user's own (`--plugin FILE.py`): imported here, and again on every worker."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from wattpack.errors import UserError, one_line
from wattpack.files import note_input, private_temporary_folder, write_whole


@dataclass(frozen=True)
class Plugin:
    """A plugin with its text, so that it can be imported on a machine that does not have the file."""

    path: str
    text: bytes


def read_plugins(files: Iterable[str | Path | Plugin]) -> tuple[Plugin, ...]:
    """The plugins of these files, each once; those that have been read stay as they are."""
    plugins: list[Plugin] = []
    given = (file if isinstance(file, Plugin) else Path(file).resolve() for file in files)
    for file in dict.fromkeys(given):
        if isinstance(file, Plugin):
            plugins.append(file)
            continue
        try:
            plugins.append(Plugin(str(file), file.read_bytes()))
        except OSError:
            raise UserError(f"{file}: cannot be read, expected a Python file that calls wattpack.register") from None
        note_input(file)
    return tuple(plugins)


def import_plugin(plugin: Plugin) -> None:
    """Import it from its file, or where that is not there (or another) from a copy in the temporary folder.

    A copy and not the text alone: compiled kernels are kept beside the name of a file.
    """
    file = Path(plugin.path)
    if not file.is_file() or file.read_bytes() != plugin.text:
        folder = private_temporary_folder(f"plugin-{hashlib.sha256(plugin.text).hexdigest()[:16]}")
        folder.mkdir(exist_ok=True)
        file = folder / file.name
        write_whole(file, lambda temporary: temporary.write_bytes(plugin.text))
    import_file(file)


def import_file(file: Path) -> None:
    """Import a Python file by its path; it calls `wattpack.register(...)`."""
    spec = importlib.util.spec_from_file_location(f"wattpack_plugin_{file.stem}", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise UserError(f"{file}: cannot be read, expected a Python file that calls wattpack.register")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except UserError as fault:
        raise UserError(one_line(fault)) from fault
    except SystemExit as fault:  # it would end the command as if all were well
        raise UserError(f"{file}: calls sys.exit({fault.code!r}), expected a file that can be imported") from None
    except Exception as fault:
        raise UserError(f"{file}: {one_line(fault)}, expected a file that can be imported") from fault

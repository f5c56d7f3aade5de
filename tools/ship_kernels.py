"""Compiles kernels for a common processor into src/wattpack/kernels, so that they need not be compiled when used.

`make wheel` runs it for every kernel that the commands below use. With `--first`, set-up runs it for what `compare`
uses, unless that is there already for these sources. What is missing is compiled by the user's machine, so a forgotten
command costs its first user seconds and nothing else.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn1,64000,262144,4,T4\nn2,96000,393216,8,A10\nn3,96000,393216,2,T4\n"
TASKS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n" + "".join(
    f"t{i},{1000 + 500 * (i % 4)},4096,{(1, 1, 2, 0)[i % 4]},{(1000, 400, 1000, 0)[i % 4]},\n" for i in range(12)
)
HERE = ("--datacenter", "nodes.csv", "--trace", "tasks.csv")
FILES = ("--nodes", "nodes.csv", "--tasks", "tasks.csv")
COMMANDS = (
    ("compare", *HERE, "--seeds", "1", "--bound", "--out", "compared"),
    (
        "compare",
        *HERE,
        "--seeds",
        "1",
        "--policy",
        "fgd",
        "--steady",
        "0.5",
        "--no-bound",
        "--defrag-every",
        "20000",
        "--out",
        "steady",
    ),
    (
        "compare",
        *HERE,
        "--seeds",
        "1",
        "--policy",
        "fgd",
        "--batch",
        "4",
        "--batch-milp-seconds",
        "60",
        "--out",
        "batch",
    ),
    ("replay", *FILES, "--policy", "ocs", "--decisions", "placed.csv", "--series", "series.csv"),
    ("defrag", *FILES, "--placements", "placed.csv", "--moves", "3"),
    ("explain", *FILES, "--policy", "ocs", "--task", "t5"),
)


def policies() -> list[str]:
    from wattpack.policies import BUILT_IN

    return sorted(BUILT_IN)


def use_every_kernel(folder: Path) -> None:
    """Run the commands on a cluster of three nodes; what they compile lands in the cache folder of this environment."""
    (folder / "nodes.csv").write_text(NODES)
    (folder / "tasks.csv").write_text(TASKS)
    every = [word for name in policies() for word in ("--policy", name)]
    first, *others = COMMANDS
    for command in ((*first, *every), *others):
        print(f"kernels: wattpack {' '.join(command[:6])} ...", file=sys.stderr, flush=True)
        done = subprocess.run(
            [sys.executable, "-m", "wattpack", *command], cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise SystemExit(f"kernels: wattpack {' '.join(command)}: ended with {done.returncode}\n{done.stderr}")
    code = "import bake_kernels; bake_kernels.main()"
    deploy = Path(__file__).parents[1] / "deploy"
    subprocess.run([sys.executable, "-c", code], cwd=deploy, stdout=subprocess.DEVNULL, check=True)


def use_first_kernels() -> None:
    """Compile what `compare` uses, in two processes."""
    from wattpack.experiments.lineup import DEFAULT_POLICIES
    from wattpack.experiments.warm_up import warm_up

    warm_up(DEFAULT_POLICIES)


def there_already() -> bool:
    """Whether kernels of these sources are there. Looked up without importing numba: set-up asks each time."""
    package = Path(__file__).parents[1] / "src" / "wattpack"
    spec = importlib.util.spec_from_file_location("sources", package / "jit" / "sources.py")
    assert spec is not None
    assert spec.loader is not None
    sources = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sources)
    try:
        about = json.loads((package / "kernels" / "about.json").read_text(encoding="utf-8"))
        return bool(about["made_by"]["sources"] == sources.DIGEST)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def keep_kernels(cache: Path, folder: Path) -> int:
    """Copy what Python calls and what is called by address; the steps inside them need not travel."""
    from numba.core.registry import cpu_target

    from wattpack.jit import shipped
    from wattpack.jit.cache import DIGEST, KernelCache

    kept = 0
    for compiled in sorted(cache.iterdir()):  # a folder a module
        for made in vars(importlib.import_module(compiled.name)).values():
            files = getattr(made, "_cache", None)
            if type(files) is not KernelCache or made.py_func.__module__ != compiled.name:
                continue
            (folder / compiled.name).mkdir(exist_ok=True)
            for file in compiled.glob(f"{files._impl.filename_base}.*"):
                shutil.copy(file, folder / compiled.name / file.name)
                kept += 1
    target = cpu_target.target_context.codegen().magic_tuple()
    about = {"made_by": shipped.made_by(DIGEST), "target": target}
    (folder / shipped.ABOUT).write_text(json.dumps(about, indent=1) + "\n")
    return kept


def main() -> int:
    first_only = "--first" in sys.argv[1:]
    if first_only and there_already():
        return 0
    from wattpack.jit import shipped

    common = shipped.COMMON.get(platform.machine())
    if common is None:
        print(f"kernels: no common processor is known for {platform.machine()}, none are shipped", file=sys.stderr)
        return 0
    shutil.rmtree(shipped.FOLDER, ignore_errors=True)  # else they would be loaded instead of compiled
    if os.environ.get("NUMBA_CPU_NAME") != common[0]:  # numba reads it when it is imported
        environment = {**os.environ, "NUMBA_CPU_NAME": common[0], "NUMBA_CPU_FEATURES": ""}
        with tempfile.TemporaryDirectory(prefix="wattpack-kernels-") as cache:
            environment["WATTPACK_CACHE"] = cache
            return subprocess.run([sys.executable, *sys.argv], env=environment, check=False).returncode
    from wattpack.jit.cache import FOLDER

    assert FOLDER is not None
    if first_only:
        use_first_kernels()
    else:
        with tempfile.TemporaryDirectory(prefix="wattpack-kernels-") as name:
            use_every_kernel(Path(name))
    new = shipped.FOLDER.with_name("kernels.tmp")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    kept = keep_kernels(FOLDER, new)
    new.rename(shipped.FOLDER)
    size = sum(file.stat().st_size for file in shipped.FOLDER.rglob("*") if file.is_file())
    print(f"kernels: {kept} files, {size / 2**20:.1f} MiB for {common[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

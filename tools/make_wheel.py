"""Builds wheels and sdist into dist/ and tries a wheel in a fresh environment: what `make wheel` runs.

One wheel is for every machine and compiles kernels there; the other carries them for this Python and a common
processor, and is the one tried. The environment lies in a temporary folder, away from the sources: what works only
beside them fails here. Dependencies come from locks/core.txt, by hash. Prints what was seen; the first thing that is
not so ends it with 1.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
KERNELS = ROOT / "src" / "wattpack" / "kernels"  # made by ship_kernels.py
# Settings of the caller by which Python or pip would look elsewhere.
FOREIGN = ("PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "VIRTUAL_ENV")
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input", "install")


class Failed(Exception):  # noqa: N818, it is the end, not an error of ours
    """What was built is not as it should be."""


def run(*words: str | Path, cwd: Path, **environment: str) -> str:
    """What a command prints; its end with anything but 0 is a failure, with all that it said."""
    kept = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env={**kept, **environment},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, words))}: ended with {done.returncode}\n{done.stdout}")
    return done.stdout


def expect(good: bool, line: str) -> None:
    if not good:
        raise Failed(line)


def build(source: Path, folder: Path, *targets: str) -> list[Path]:
    """The files that hatchling makes of `source`. It is the locked one of .venv: nothing is fetched."""
    words = [word for target in targets for word in ("--target", target)]
    run(sys.executable, "-m", "hatchling", "build", "--directory", folder, *words, cwd=source)
    return sorted(folder.iterdir())


def contents(wheel: Path) -> dict[str, str]:
    """Digest of every file of a wheel, by name."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def check_wheel(wheel: Path, tracked: list[str]) -> str:
    """Every file of the package that git knows is in the wheel, and beside them only metadata."""
    found = set(contents(wheel))
    wanted = {name.removeprefix("src/") for name in tracked if name.startswith("src/wattpack/")}
    expect(wanted <= found, f"{wheel.name} lacks {sorted(wanted - found)}")
    other = {name for name in found - wanted if not name.split("/")[0].endswith(".dist-info")}
    expect(not other, f"{wheel.name} has more than the package: {sorted(other)}")
    for name in ("licenses/LICENSE", "licenses/NOTICE", "entry_points.txt", "METADATA"):
        expect(any(path.endswith(f".dist-info/{name}") for path in found), f"{wheel.name} has no {name}")
    return f"{wheel.name}: {len(found)} files, {wheel.stat().st_size / 1000:.0f} kB"


def check_kernels(wheel: Path, plain: Path) -> str:
    """The wheel with kernels has the files of the other and, beside them, only kernels."""
    more = {name for name, _ in set(contents(wheel).items()) - set(contents(plain).items())}
    other = {name for name in more if not name.startswith("wattpack/kernels/") and ".dist-info/" not in name}
    expect(not other, f"{wheel.name} differs from {plain.name} in {sorted(other)}")
    expect("none-any" not in wheel.name, f"{wheel.name} carries kernels and claims to run everywhere")
    return f"{wheel.name}: kernels beside the same files, {wheel.stat().st_size / 1000:.0f} kB"


def check_sdist(sdist: Path, wheel: Path, tracked: list[str], folder: Path) -> str:
    """All that git knows is in the sdist, and the wheel that it makes is the same, byte by byte of every file."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (source,) = folder.iterdir()
    missing = [name for name in tracked if not (source / name).exists()]
    expect(not missing, f"{sdist.name} lacks {missing}")
    (again,) = build(source, folder / "again", "wheel")
    differing = {name for name, _ in set(contents(wheel).items()) ^ set(contents(again).items())}
    expect(not differing, f"the wheel of {sdist.name} differs in {sorted(differing)}")
    same = "the same bytes" if again.read_bytes() == wheel.read_bytes() else "the same files"
    return f"{sdist.name}: {len(tracked)} files of git, {sdist.stat().st_size / 1000:.0f} kB; its wheel is {same}"


def try_wheel(wheel: Path, version: str, folder: Path) -> None:
    """Install it where there is nothing else, and use it: entry point, data files, kernels, report."""
    run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    python = folder / "venv" / "bin" / "python"
    locked = (
        "--require-hashes",
        "--only-binary",
        ":all:",
        "--no-compile",
        "--requirement",
        ROOT / "locks" / "core.txt",
    )
    run(python, *PIP, *locked, cwd=folder)
    run(python, *PIP, "--no-deps", "--no-index", wheel, cwd=folder)
    empty = folder / "empty"
    empty.mkdir()

    def use(*words: str | Path) -> str:
        return run(*words, cwd=empty, WATTPACK_CACHE=str(folder / "cache"), MPLCONFIGDIR=str(folder / "matplotlib"))

    place = Path(use(python, "-c", "import wattpack; print(wattpack.__file__)").strip())
    expect("site-packages" in place.parts and not place.is_relative_to(ROOT), f"imported from {place}")
    command = folder / "venv" / "bin" / "wattpack"
    expect(use(command, "--version").strip() == version, "wattpack --version tells another version")
    expect("fgd" in use(command, "policies"), "wattpack policies does not name fgd")
    traces = "import wattpack as wp; print(len(wp.load_datacenter('alibaba2023').names), len(wp.load_trace('default')))"
    say(f"data files: nodes and tasks {use(python, '-c', traces).strip()}")
    started_s = time.monotonic()
    said = use(command, "compare", "--seeds", "1", "--out", folder / "out")
    how = "compiled from nothing" if "compiling" in said else "from the wheel"
    expect(("compiling" in said) == ("none-any" in wheel.name), f"kernels were {how}")
    say(f"the first compare, with kernels {how}: {time.monotonic() - started_s:.0f} s")
    run(ROOT / ".venv" / "bin" / "wattpack", "compare", "--seeds", "1", "--out", folder / "here", cwd=empty)
    both = [(folder / name / "summary.csv").read_bytes() for name in ("out", "here")]
    expect(both[0] == both[1], "summary.csv of the wheel differs from that of the sources")
    say("summary.csv is the same, byte by byte, as with kernels compiled here")
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    # The page's script and style are data files of the package.
    expect("function decode(" in page and "<style" in page, "report.html lacks its script or its style")
    expect(not any(empty.iterdir()), f"left behind where it was called: {list(empty.iterdir())}")


def say(line: str) -> None:
    print(f"wheel: {line}", flush=True)


def main() -> int:
    started_s = time.monotonic()
    tracked = run("git", "ls-files", cwd=ROOT).splitlines()
    shutil.rmtree(DIST, ignore_errors=True)
    shutil.rmtree(KERNELS, ignore_errors=True)
    try:
        sdist, wheel = sorted(build(ROOT, DIST, "sdist", "wheel"), key=lambda file: file.suffix)
        say(check_wheel(wheel, tracked))
        with tempfile.TemporaryDirectory(prefix="wattpack-wheel-") as name:
            folder = Path(name).resolve()
            (folder / "sdist").mkdir()
            say(check_sdist(sdist, wheel, tracked, folder / "sdist"))
            say(run(sys.executable, ROOT / "tools" / "ship_kernels.py", cwd=folder).splitlines()[-1])
            if KERNELS.exists():
                plain, (wheel,) = wheel, [file for file in build(ROOT, DIST, "wheel") if file not in (sdist, wheel)]
                shutil.rmtree(KERNELS)
                say(check_kernels(wheel, plain))
            try_wheel(wheel, version_of(wheel), folder)
    except Failed as fault:
        print(f"wheel: {fault}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(KERNELS, ignore_errors=True)  # set-up makes a checkout's own
    say(f"good, in dist/, {time.monotonic() - started_s:.0f} s")
    return 0


def version_of(wheel: Path) -> str:
    name = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["name"]
    return wheel.name.removeprefix(f"{name}-").split("-")[0]


if __name__ == "__main__":
    sys.exit(main())

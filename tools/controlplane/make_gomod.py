"""Write go.mod and go.sum for another Kubernetes version: `python tools/controlplane/make_gomod.py v1.36.4`.

k8s.io/kubernetes replaces its staging modules by folders of its own tree. A replace in a dependency counts for nothing,
so our module pins each of them to the published version that goes with it: v1.36.4 needs v0.36.4. Needs Go and network,
and takes seconds; commit both files.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

FILE = Path(__file__).parent / "go.mod"
TOOLS = (
    "go.etcd.io/etcd/server/v3",
    "k8s.io/kubernetes/cmd/kube-apiserver",
    "k8s.io/kubernetes/cmd/kube-controller-manager",  # pinned with the others; no test needs it yet
    "k8s.io/kubernetes/cmd/kube-scheduler",
)


def go(*arguments: str) -> str:
    # Outside of our module: its old go.mod must have no say.
    return subprocess.run(["go", *arguments], check=True, capture_output=True, text=True, cwd="/").stdout


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    if match is None:
        raise SystemExit(f"make_gomod: no {pattern!r} in the go.mod of k8s.io/kubernetes")
    return match.group(1)


def gomod(version: str, kubernetes: str) -> str:
    """Our go.mod for this version of Kubernetes, given its own go.mod."""
    staging = re.findall(r"^\s*(?:replace\s+)?(\S+) => \./staging/src/\S+$", kubernetes, re.MULTILINE)
    language, debug = found(r"^go (\S+)$", kubernetes), found(r"^godebug (.+)$", kubernetes)
    etcd = found(r"go\.etcd\.io/etcd/server/v3 (\S+)", kubernetes)
    published = "v0." + version.removeprefix("v1.")
    lines = ["module controlplane", "", f"go {language}", "", f"godebug {debug}", ""]
    lines += ["tool (", *(f"\t{tool}" for tool in TOOLS), ")", ""]
    lines += ["require (", f"\tgo.etcd.io/etcd/server/v3 {etcd}", f"\tk8s.io/kubernetes {version}", ")", ""]
    lines += ["replace (", *(f"\t{module} => {module} {published}" for module in staging), ")", ""]
    return "\n".join(lines)


def main() -> None:
    if len(sys.argv) != 2 or not re.fullmatch(r"v1\.\d+\.\d+", sys.argv[1]):
        raise SystemExit("make_gomod: expected one version like v1.36.4")
    downloaded = json.loads(go("mod", "download", "-json", f"k8s.io/kubernetes@{sys.argv[1]}"))
    FILE.write_text(gomod(sys.argv[1], Path(downloaded["GoMod"]).read_text()))
    FILE.with_name("go.sum").unlink(missing_ok=True)
    # Writes what building the tools here needs into both files, and nothing for other systems, as `go mod tidy` would.
    subprocess.run(["go", "list", "-mod=mod", "-deps", "tool"], check=True, stdout=subprocess.DEVNULL, cwd=FILE.parent)


if __name__ == "__main__":
    main()

"""`wattpack fit`: will this pod fit, where, and what does it cost; if not, what is missing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from wattpack.cli.ask_cluster import ask_cluster
from wattpack.cli.ask_service import ask, print_decision
from wattpack.datasets.input_files import read_bytes_up_to
from wattpack.errors import UserError
from wattpack.jit import say_if_compiling
from wattpack.kube.objects import Pod, Unreadable

MAX_BYTES = 3_000_000  # the apiserver takes no larger object
MAX_VALUES = 100_000  # of a document with its aliases written out


def fit_command(
    *,
    pod: Annotated[Path, Parameter(name=["--pod", "-f"])],
    server: str | None = None,
    kubeconfig: Path | None = None,
    file: list[Path] | None = None,
    config: Path | None = None,
    policy: str | None = None,
    profile: str | None = None,
    power: Path | None = None,
) -> None:
    """Will this pod fit, where, and what does it cost in watts and fragmentation? Exit 1 if it fits nowhere.

    Parameters
    ----------
    pod
        YAML or JSON of a pod, or of anything with a pod template (Deployment, Job, ...).
    server
        Ask a running `wattpack serve`, for example http://127.0.0.1:8888.
    kubeconfig
        Ask the cluster itself. Default: $KUBECONFIG, the pod we run in, ~/.kube/config.
    file
        What `kubectl get nodes,pods -A -o json` printed, instead of a cluster; may be given again.
    config
        TOML file of `wattpack serve`.
    policy
        Policy expression, above the one of the file.
    profile
        Power profile, above the one of the configuration: paper, linear, concave, measured.
    power
        TOML file of your own GPUs, CPUs and node base power, laid over the profile (`wattpack power`).
    """
    text = as_json(read_pod_file(pod), pod)
    if server is not None:
        if profile is not None or power is not None:
            raise UserError("--profile or --power with --server: the service has its own, expected none of them")
        decision = ask(server, "/fit", text)
    else:
        from wattpack.cli.options import note_power, with_power
        from wattpack.kube.config import checked, read_config
        from wattpack.kube.import_files import read_cluster_files
        from wattpack.kube.not_understood import unknown_accelerators
        from wattpack.kube.questions import fit
        from wattpack.kube.view import View

        settings = with_power(read_config(config), profile, power)
        if policy is not None:
            settings = checked(msgspec.structs.replace(settings, policy=policy), "--policy")
        cluster = read_cluster_files(file) if file else asyncio.run(ask_cluster(kubeconfig))
        note_power(profile, power)
        say_if_compiling("wattpack.engine.live.one_decision")
        view = View(settings, cluster.claims)
        # A decision for "" is one for no node.
        view.replace_nodes([node for node in cluster.nodes if node.metadata.name])
        view.replace_pods(cluster.pods)
        try:
            wanted = msgspec.json.decode(text, type=Pod)
            unknown = unknown_accelerators(wanted, view.reading.dialect)
            if unknown:
                raise Unreadable(f"asks for {', '.join(unknown)}, which no dialect reads")
            found = fit(view, wanted)
        except (Unreadable, msgspec.ValidationError) as fault:
            raise UserError(f"{pod}: {fault}") from None
        if found is None:
            reasons = "; ".join(sorted(set(view.unreadable_nodes.values()))[:3])
            raise UserError(f"no node of the cluster can be read: {reasons or 'it has none'}")
        decision = found
    print_decision(decision)
    if not decision.node:
        raise SystemExit(1)


def read_pod_file(file: Path) -> dict[str, Any]:
    """The first pod of a YAML or JSON file, or the pod that its template would make."""
    try:
        import yaml

        text = read_bytes_up_to(file, MAX_BYTES, "YAML of a pod").decode("utf-8-sig")
        documents = list(yaml.safe_load_all(text))
    except RecursionError:
        raise UserError(f"{file}: nested too deeply, expected YAML of a pod") from None
    except ModuleNotFoundError as fault:
        raise UserError(f"fit needs {fault.name}: install wattpack[serve]") from None
    except (ValueError, LookupError, AttributeError, yaml.YAMLError) as fault:  # no UTF-8, no date, `!!int ''`
        raise UserError(f"{file}: {' '.join(str(fault).split())}, expected YAML of a pod") from None
    for document in documents:
        if not isinstance(document, dict):
            continue
        if document.get("kind") == "Pod":
            return document
        template: Any = document
        for step in (
            ("spec", "jobTemplate", "spec", "template") if document.get("kind") == "CronJob" else ("spec", "template")
        ):
            template = template.get(step) if isinstance(template, dict) else {}
        if isinstance(template, dict) and template.get("spec"):
            named, own = (found.get("metadata") or {} for found in (document, template))
            if not isinstance(named, dict) or not isinstance(own, dict):
                raise UserError(f"{file}: metadata is {named if own == {} else own!r}, expected a table")
            metadata = {"name": named.get("name", ""), **own}
            return {"kind": "Pod", "metadata": metadata, "spec": template["spec"]}
    raise UserError(f"{file}: holds no pod and no pod template")


def as_json(document: dict[str, Any], file: Path) -> bytes:
    """JSON without YAML aliases: nested aliases can make a small file huge, and a cycle has no end."""
    waiting: list[Any] = [document]
    values = 0
    while waiting:
        value = waiting.pop()
        values += 1
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, (list, tuple, set)):
            waiting += value
        if values + len(waiting) > MAX_VALUES:
            raise UserError(f"{file}: more than {MAX_VALUES:,} values with its aliases written out, expected a pod")
    try:
        return msgspec.json.encode(document)
    except (TypeError, ValueError, RecursionError) as fault:
        raise UserError(f"{file}: {fault}, expected YAML that JSON can say") from None

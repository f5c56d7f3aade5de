"""`wattpack fit`: will this pod fit, where, and what does it cost; if not, what is missing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from cyclopts import Parameter

from wattpack.cli.ask_cluster import NO_RIGHT, ask_cluster
from wattpack.cli.ask_service import ask, print_decision
from wattpack.cli.streams import note
from wattpack.errors import UserError
from wattpack.jit import say_if_compiling
from wattpack.kube.objects import Pod, Unreadable
from wattpack.kube.pod_file import as_json, read_pods_file

if TYPE_CHECKING:
    from wattpack.kube.fit_together import Together


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
    dialect: list[str] | None = None,
) -> None:
    """Will this pod fit, where, and what does it cost in watts and fragmentation? Exit 1 if it fits nowhere.

    Of a Job, a JobSet, a PyTorchJob and the like, all pods together: do they fit at the same time?

    Parameters
    ----------
    pod
        YAML or JSON of a pod, or of anything with pod templates: Deployment, Job, JobSet, PyTorchJob, RayJob, ...
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
    dialect
        How pods ask for GPUs (docs/guide/dialects.md); may be given again. Default: the configuration's, or all of them
        at once. What running pods say in other dialects' annotations is not read.
    """
    groups = read_pods_file(pod)
    text, pods = as_json(groups[0].pod, pod), sum(group.number for group in groups)
    together: Together | None = None
    only_one = "a service answers for one pod; ask with --file or --kubeconfig for all"
    if server is not None:
        if profile is not None or power is not None or dialect is not None:
            given = "--profile, --power or --dialect"
            raise UserError(f"{given} with --server: the service has its own, expected none of them")
        decision = ask(server, "/fit", text)
    else:
        from wattpack.cli.options import note_power, with_power
        from wattpack.kube.config import checked, read_config
        from wattpack.kube.fit_together import Group, fit_together
        from wattpack.kube.import_files import read_cluster_files
        from wattpack.kube.not_understood import unknown_accelerators
        from wattpack.kube.questions import fit
        from wattpack.kube.view import View

        settings = with_power(read_config(config), profile, power)
        if policy is not None:
            settings = checked(msgspec.structs.replace(settings, policy=policy), "--policy")
        if dialect is not None:
            settings = checked(msgspec.structs.replace(settings, dialect=dialect), "--dialect")
        settings = msgspec.structs.replace(settings, mode="shadow")  # where there is room, whoever places the pod
        cluster = read_cluster_files(file) if file else asyncio.run(ask_cluster(kubeconfig))
        if cluster.forbidden:
            note(f"{', '.join(cluster.forbidden)}: {NO_RIGHT}")
        note_power(profile, power)
        say_if_compiling("wattpack.engine.live.one_decision")
        view = View(settings, cluster.claims)
        # A decision for "" is one for no node.
        view.replace_nodes([node for node in cluster.nodes if node.metadata.name])
        view.replace_pods(cluster.pods)
        try:
            wanted = msgspec.json.decode(text, type=Pod)
            unknown = unknown_accelerators(wanted, view.reading.dialect, claims_are_read=view.reads_claims)
            if unknown:
                raise Unreadable(f"asks for {', '.join(unknown)}, which no dialect reads")
            found = fit(view, wanted)
            if found is not None and pods > 1:
                decoded = [msgspec.json.decode(as_json(group.pod, pod), type=Pod) for group in groups]
                if any(one.spec.resource_claims for one in decoded):
                    only_one = "pods with resource claims are answered for one at a time"
                else:
                    named = [Group(g.name or "pod", one, g.number) for g, one in zip(groups, decoded, strict=True)]
                    together = fit_together(view, named)
        except (Unreadable, msgspec.ValidationError) as fault:
            raise UserError(f"{pod}: {fault}") from None
        if found is None:
            reasons = "; ".join(sorted(set(view.unreadable_nodes.values()))[:3])
            raise UserError(f"no node of the cluster can be read: {reasons or 'it has none'}")
        decision = found
    print_decision(decision)
    if together is not None:
        print("\n".join(together.lines()))
    elif pods > 1:
        print(f"this is the answer for one of {pods} pods: {only_one}")
    if not decision.node or (together is not None and together.failed):
        raise SystemExit(1)

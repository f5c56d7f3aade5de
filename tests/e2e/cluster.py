"""A real control plane on loopback: etcd, kube-apiserver, kube-scheduler. No kubelet: nodes and pods are objects only.

kube-controller-manager runs where a test starts it.

    with Cluster(binaries, folder) as cluster:
        cluster.admin.create("/api/v1/nodes", node)
        cluster.start_scheduler(extender_url="http://127.0.0.1:8888")
        cluster.processes.kill("kube-apiserver"); cluster.start_apiserver()

`tools/controlplane/build.sh` builds the binaries; the fixture `binaries` of conftest.py knows where they are.
"""

from __future__ import annotations

import json
import secrets
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.api import Api, Json, wait_until
from e2e.processes import Processes, free_port

READY_S = 120.0  # 3 to 5 s on an idle machine
# Without a controller manager nobody makes the service accounts' tokens or takes the first taint from a node.
ADMISSION_OFF = ("ServiceAccount", "TaintNodesByCondition")
# They make claims from templates, free claims that no pod uses, and delete what a deleted pod owned. The others stay
# off: the controller of nodes, for one, would taint nodes that send no heartbeats.
CONTROLLERS = ("resourceclaim-controller", "garbage-collector-controller")
DYNAMIC_RESOURCES = "DynamicResources"  # the plugin that allocates devices inside kube-scheduler
# What default plugins score would outvote the extender or break its ties.
SCORE_PLUGINS = (
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
    "InterPodAffinity",
    "NodeAffinity",
    "NodeResourcesFit",
    "PodTopologySpread",
    "TaintToleration",
    "VolumeBinding",
)


@dataclass(frozen=True)
class User:
    """Somebody the apiserver knows by a token. A service account is `system:serviceaccount:NAMESPACE:NAME`."""

    name: str
    groups: tuple[str, ...] = ()
    token: str = ""

    @classmethod
    def service_account(cls, namespace: str, name: str) -> User:
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
        return cls(f"system:serviceaccount:{namespace}:{name}", groups)


class Cluster:
    """One control plane in one folder. Every process is a child of ours and `stop` ends exactly those."""

    def __init__(
        self,
        binaries: Path,
        folder: Path,
        users: Sequence[User] = (),
        admission_off: Sequence[str] = ADMISSION_OFF,
        apiserver_flags: Sequence[str] = (),
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.binaries, self.folder = binaries, folder
        self.processes = Processes(folder)
        self.port, self.etcd_port, self._peer_port = free_port(), free_port(), free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.certificate = folder / "certificates" / "apiserver.crt"
        self.audit_log = folder / "audit.jsonl"
        self.admission_off, self.apiserver_flags = tuple(admission_off), tuple(apiserver_flags)
        admin = User("admin", ("system:masters",))
        self._tokens = {user.name: user.token or secrets.token_hex(16) for user in (admin, *users)}
        self._write_files((admin, *users))
        self._admin: Api | None = None

    def __enter__(self) -> Cluster:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def start(self) -> None:
        self.start_etcd()
        self.start_apiserver()

    def stop(self) -> None:
        self.processes.kill_all()
        if self._admin is not None:
            self._admin.close()
            self._admin = None

    def start_etcd(self) -> None:
        peer = f"http://127.0.0.1:{self._peer_port}"
        command = [self.binaries / "etcd", "--data-dir", self.folder / "etcd", "--log-level", "warn"]
        command += ["--listen-client-urls", self._etcd_url, "--advertise-client-urls", self._etcd_url]
        command += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
        # Nothing here has to outlive the machine: without the fsync a write takes 0.2 ms instead of up to 10.
        command += ["--initial-cluster", f"default={peer}", "--unsafe-no-fsync"]
        self.processes.start("etcd", command)

    def start_apiserver(self, wait: bool = True) -> None:
        """Start it, on the same port and the same etcd as before, and wait until it answers."""
        key = self.folder / "service-account.key"
        command: list[object] = [self.binaries / "kube-apiserver", "--etcd-servers", self._etcd_url]
        command += ["--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1", "--secure-port", self.port]
        command += ["--cert-dir", self.certificate.parent, "--endpoint-reconciler-type", "none"]
        command += ["--service-account-issuer", "https://kubernetes.default.svc"]
        command += ["--service-account-key-file", key, "--service-account-signing-key-file", key]
        command += ["--service-cluster-ip-range", "10.0.0.0/24", "--token-auth-file", self.folder / "tokens.csv"]
        command += ["--authorization-mode", "RBAC", "--profiling=false"]
        command += ["--audit-policy-file", self.folder / "audit-policy.json", "--audit-log-path", self.audit_log]
        command += ["--audit-log-format", "json", "--audit-log-mode", "blocking", "--shutdown-delay-duration", "0s"]
        if self.admission_off:
            command += ["--disable-admission-plugins", ",".join(self.admission_off)]
        self.processes.start("kube-apiserver", [*command, *self.apiserver_flags])
        if wait:
            self.wait_ready()

    def restart_apiserver(self, kill: bool = True) -> None:
        if kill:
            self.processes.kill("kube-apiserver")
        else:
            self.processes.end("kube-apiserver")
        self.start_apiserver()

    def wait_ready(self, timeout_s: float = READY_S) -> None:
        self._wait_ok(self.admin, "/readyz", "kube-apiserver", timeout_s)
        # The namespace `default` is written a moment after that.
        self._wait_ok(self.admin, "/api/v1/namespaces/default", "kube-apiserver", timeout_s)

    def _wait_ok(self, api: Api, path: str, process: str, timeout_s: float = READY_S) -> None:
        def ok() -> bool:
            self.processes.check()
            try:
                return api.request("GET", path)[0] == 200
            except OSError:
                return False

        try:
            wait_until(ok, timeout_s, f"{process} answers {path}")
        except AssertionError as fault:
            raise AssertionError(f"{fault}\n{self.processes.log_end(process)}") from None

    @property
    def admin(self) -> Api:
        """The client of a user who may do everything."""
        if self._admin is None:
            self._admin = self.client("admin")
        return self._admin

    def client(self, user: str) -> Api:
        """A client of one of the users given at the start, by name."""
        return Api(self.url, self._tokens[user], self.certificate)

    def kubeconfig(self, user: str = "admin", url: str | None = None) -> Path:
        """A kubeconfig for a user; `url` is that of a proxy in front of the apiserver (plain HTTP) or nothing."""
        where: Json = {"server": url or self.url}
        if where["server"].startswith("https:"):
            where["certificate-authority"] = str(self.certificate)
        place = f"{user}-{where['server']}"
        file = self.folder / f"kubeconfig-{''.join(c if c.isalnum() else '-' for c in place)}.yaml"
        context = {"cluster": "e2e", "user": user, "namespace": "default"}
        text = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "e2e", "cluster": where}],
            "users": [{"name": user, "user": {"token": self._tokens[user]}}],
            "contexts": [{"name": "e2e", "context": context}],
            "current-context": "e2e",
        }
        file.write_text(json.dumps(text, indent=1))  # JSON is YAML
        return file

    def start_scheduler(
        self,
        name: str = "kube-scheduler",
        *,
        extender_url: str | None,
        scheduler_name: str = "wattpack",
        leader_election: bool = False,
        user: str = "admin",
        extender: Json | None = None,
        backoff_s: tuple[int, int] = (1, 2),
        own_scores: bool = False,
        own_devices: bool = True,
        percentage_of_nodes: int = 100,
        parallelism: int = 16,
    ) -> None:
        """Start a kube-scheduler of this `name`; `extender` overrides fields of its extender's configuration.

        With `own_scores` its score plugins are as they come: it spreads pods over the nodes. Without `own_devices` it
        leaves resource claims to the extender. percentage_of_nodes: 0 lets it choose how many nodes it scores.
        parallelism: 1 lets it meet nodes in order.

        The lease of leader election runs out after 3 s, so that a test of a killed leader does not wait long.
        """
        election: Json = {"leaderElect": leader_election}
        if leader_election:
            # Not `scheduler_name` itself: that is the name of the service's own lease.
            election |= {"resourceName": f"{scheduler_name}-scheduler", "resourceNamespace": "kube-system"}
            election |= {"leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "500ms"}
        config: Json = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": election,
            # kube-scheduler's own limit of 50 requests a second would be what a test of the rate measures.
            "clientConnection": {"kubeconfig": str(self.kubeconfig(user)), "qps": 5000, "burst": 10000},
            "percentageOfNodesToScore": percentage_of_nodes,
            "parallelism": parallelism,
            "podInitialBackoffSeconds": backoff_s[0],
            "podMaxBackoffSeconds": backoff_s[1],
            "profiles": [
                {
                    "schedulerName": scheduler_name,
                    "plugins": ({} if own_scores else without_scores()) | ({} if own_devices else without_devices()),
                }
            ],
        }
        if extender_url is not None:
            config["extenders"] = [{**extender_config(extender_url), **(extender or {})}]
        file = self.folder / f"{name}.yaml"
        file.write_text(json.dumps(config, indent=1))
        port = free_port()
        command = [self.binaries / "kube-scheduler", "--config", file, "-v=2"]
        command += ["--bind-address", "127.0.0.1", "--secure-port", str(port), "--cert-dir", self.folder / name]
        self.processes.start(name, command)
        # It is ready when it knows all nodes and pods: pods that come later it takes in the order in which they come.
        ready = Api(f"https://127.0.0.1:{port}", "", self.folder / name / "kube-scheduler.crt")
        self._wait_ok(ready, "/readyz", name)
        ready.close()

    def start_controller_manager(self, controllers: Sequence[str] = CONTROLLERS) -> None:
        """Start kube-controller-manager with these controllers and wait until it answers."""
        name, port = "kube-controller-manager", free_port()
        command: list[object] = [self.binaries / name, "--kubeconfig", self.kubeconfig(), "-v=2"]
        command += ["--controllers", ",".join(controllers), "--leader-elect=false", "--kube-api-qps", 500]
        command += ["--kube-api-burst", 1000, "--concurrent-resourceclaim-syncs", 4]
        command += ["--bind-address", "127.0.0.1", "--secure-port", port, "--cert-dir", self.folder / name]
        self.processes.start(name, command)
        ready = Api(f"https://127.0.0.1:{port}", "", self.folder / name / f"{name}.crt")
        self._wait_ok(ready, "/healthz", name)
        ready.close()

    def requests(self) -> Iterator[Json]:
        """What the apiserver was asked and answered, from its audit log; Bindings with what was sent."""
        with self.audit_log.open(encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):
                    yield json.loads(line)

    @property
    def _etcd_url(self) -> str:
        return f"http://127.0.0.1:{self.etcd_port}"

    def _apiserver_log(self) -> str:
        return self.processes.log_end("kube-apiserver")

    def _write_files(self, users: Sequence[User]) -> None:
        self.certificate.parent.mkdir(exist_ok=True)
        tokens = self.folder / "tokens.csv"
        tokens.touch(mode=0o600)
        lines = [f'{self._tokens[user.name]},{user.name},{user.name},"{",".join(user.groups)}"\n' for user in users]
        tokens.write_text("".join(lines))
        key = self.folder / "service-account.key"
        subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
        policy: dict[str, Any] = {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived"],
            "rules": [
                {"level": "None", "users": ["admin"], "verbs": ["get", "list", "watch"]},
                {"level": "None", "users": ["system:apiserver"]},
                {"level": "Request", "resources": [{"group": "", "resources": ["pods/binding"]}]},
                {"level": "Metadata"},
            ],
        }
        (self.folder / "audit-policy.json").write_text(json.dumps(policy))


def without_scores() -> Json:
    """A profile's plugins when only the extender ranks."""
    return {"score": {"disabled": [{"name": plugin} for plugin in SCORE_PLUGINS]}}


def without_devices() -> Json:
    """A profile's plugins when the extender allocates devices."""
    return {"multiPoint": {"disabled": [{"name": DYNAMIC_RESOURCES}]}}


def extender_config(url: str) -> Json:
    """The extender as kube-scheduler is told of it: three verbs, names instead of whole nodes, never ignored."""
    return {
        "urlPrefix": url,
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "bindVerb": "bind",
        "weight": 1,
        "nodeCacheCapable": True,
        "ignorable": False,
        "enableHTTPS": False,
        "httpTimeout": "10s",
    }

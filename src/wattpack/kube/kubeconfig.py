"""How to reach a cluster: a kubeconfig file, or the service account of the pod we run in."""

from __future__ import annotations

import base64
import binascii
import os
import ssl
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import yaml

from wattpack.errors import UserError
from wattpack.files import temporary_path

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
TOKEN_FRESH_S = 60  # tokens of service accounts are renewed by the kubelet: read the file again this often


@dataclass
class Access:
    """One cluster: its address and how to be let in."""

    server: str
    context: ssl.SSLContext | None
    token: str = ""
    token_file: Path | None = None
    command: dict[str, Any] | None = None  # `exec` of a kubeconfig: a program that prints a token
    namespace: str = "default"
    _read_at_s: float = field(default=-1e9, repr=False)

    def authorization(self) -> str:
        """The token to send; "" where a client certificate serves. A file is read again now and then."""
        if self.token_file is not None and time.monotonic() - self._read_at_s > TOKEN_FRESH_S:
            self.token = self.token_file.read_text(encoding="utf-8").strip()
            self._read_at_s = time.monotonic()
        return f"Bearer {self.token}" if self.token else ""


def find_access(kubeconfig: Path | None) -> Access:
    """The cluster of `kubeconfig`, else of $KUBECONFIG, else of the pod we are in, else of ~/.kube/config."""
    if kubeconfig is not None:
        return read_kubeconfig(kubeconfig)
    if os.environ.get("KUBECONFIG"):
        return read_kubeconfig(Path(os.environ["KUBECONFIG"].split(os.pathsep)[0]))
    if os.environ.get("KUBERNETES_SERVICE_HOST") and (SERVICE_ACCOUNT / "token").exists():
        return in_cluster()
    home = Path.home() / ".kube" / "config"
    if home.exists():
        return read_kubeconfig(home)
    raise UserError("no cluster: expected --kubeconfig FILE, $KUBECONFIG, ~/.kube/config, or to run in a pod")


def in_cluster() -> Access:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    host = f"[{host}]" if ":" in host else host
    context = ssl.create_default_context(cafile=str(SERVICE_ACCOUNT / "ca.crt"))
    namespace = (SERVICE_ACCOUNT / "namespace").read_text(encoding="utf-8").strip()
    return Access(f"https://{host}:{port}", context, token_file=SERVICE_ACCOUNT / "token", namespace=namespace)


def read_kubeconfig(file: Path) -> Access:
    """The current context of a kubeconfig."""
    try:
        read = yaml.safe_load(file.read_text(encoding="utf-8"))
        context = _named(read, "contexts", read.get("current-context") or "", file)["context"]
        cluster = _named(read, "clusters", context["cluster"], file)["cluster"]
        user = _named(read, "users", context["user"], file).get("user") or {}
        server = str(cluster["server"]).rstrip("/")
    except OSError as fault:
        raise UserError(f"{file}: {fault.strerror or fault}, expected a kubeconfig") from None
    except (yaml.YAMLError, UnicodeDecodeError, AttributeError, TypeError, KeyError) as fault:
        told = " ".join(str(fault).split())
        raise UserError(f"{file}: not a kubeconfig ({type(fault).__name__}: {told})") from None
    return Access(
        server=server,
        context=_tls(cluster, user, file) if server.startswith("https:") else None,
        token=str(user.get("token") or ""),
        token_file=_beside(file, user["tokenFile"]) if user.get("tokenFile") else None,
        command=user.get("exec"),
        namespace=str(context.get("namespace") or "default"),
    )


def _named(read: Any, kind: str, name: str, file: Path) -> Any:
    for entry in read.get(kind) or []:
        if entry.get("name") == name:
            return entry
    raise UserError(f"{file}: {kind} has no {name!r}")


def _beside(file: Path, path: str) -> Path:
    """Paths in a kubeconfig are relative to the file."""
    return file.parent / path


def _tls(cluster: Any, user: Any, file: Path) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context()
        if cluster.get("insecure-skip-tls-verify"):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif cluster.get("certificate-authority-data"):
            context = ssl.create_default_context(cadata=_decoded(cluster["certificate-authority-data"]).decode())
        elif cluster.get("certificate-authority"):
            context = ssl.create_default_context(cafile=str(_beside(file, cluster["certificate-authority"])))
        certificate, key = _pem(user, "client-certificate", file), _pem(user, "client-key", file)
        if certificate and key:
            # Python reads certificates from files only: they are there for this one call.
            with temporary_path(Path(tempfile.mkdtemp(prefix="wattpack-"))) as folder:
                paths = folder / "certificate", folder / "key"
                for path, content in zip(paths, (certificate, key), strict=True):
                    path.touch(mode=0o600)
                    path.write_bytes(content)
                context.load_cert_chain(*map(str, paths))
    except (OSError, binascii.Error, ValueError) as fault:  # ssl.SSLError is an OSError
        raise UserError(f"{file}: certificates cannot be used: {' '.join(str(fault).split())}") from None
    return context


def _pem(user: Any, name: str, file: Path) -> bytes:
    if user.get(f"{name}-data"):
        return _decoded(user[f"{name}-data"])
    return _beside(file, user[name]).read_bytes() if user.get(name) else b""


def _decoded(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def exec_environment(command: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    """Arguments and environment of the program that prints a token."""
    arguments = [str(command["command"]), *map(str, command.get("args") or [])]
    extra = {str(pair["name"]): str(pair["value"]) for pair in command.get("env") or []}
    info = {"apiVersion": command.get("apiVersion"), "kind": "ExecCredential", "spec": {"interactive": False}}
    return arguments, {**os.environ, **extra, "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}


def exec_token(output: bytes, program: str) -> str:
    """The token in what such a program printed."""
    try:
        return str(msgspec.json.decode(output)["status"]["token"])
    except (msgspec.DecodeError, KeyError, TypeError):
        raise UserError(f"{program}: printed no token, expected an ExecCredential with status.token") from None

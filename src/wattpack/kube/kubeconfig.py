"""How to reach a cluster: kubeconfig files, merged as by kubectl, or the service account of our pod."""

from __future__ import annotations

import base64
import binascii
import os
import ssl
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
import yaml

from wattpack.errors import UserError
from wattpack.files import note_input, temporary_path
from wattpack.kube.exec_program import ExecProgram

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
TOKEN_FRESH_S = 60  # the kubelet renews tokens of service accounts: the file is read again this often
# Keys that change the user or the server: ignoring them, we would send requests as another user or to another server.
NOT_READ = {
    "clusters": ("proxy-url", "tls-server-name"),
    "users": ("as", "as-uid", "as-groups", "as-user-extra", "auth-provider", "username", "password"),
}


@dataclass
class Access:
    """One cluster: its address and our credentials."""

    server: str
    context: ssl.SSLContext | None
    token: str = ""
    token_file: Path | None = None
    command: ExecProgram | None = None  # `exec` in a kubeconfig: a program that prints a token
    _read_at_s: float = field(default=-1e9, repr=False)

    def authorization(self) -> str:
        """The token to send; "" with a client certificate. A token file is read again every TOKEN_FRESH_S."""
        if self.token_file is not None and time.monotonic() - self._read_at_s > TOKEN_FRESH_S:
            self.token = self.token_file.read_text(encoding="utf-8").strip()
            self._read_at_s = time.monotonic()
        return f"Bearer {self.token}" if self.token else ""


class Entry(NamedTuple):
    """A cluster, user or context, and its file: paths in it are relative to that file."""

    body: dict[str, Any]
    file: Path


def find_access(kubeconfig: Path | None) -> Access:
    """The cluster of `kubeconfig`, else of $KUBECONFIG, else of the pod we are in, else of ~/.kube/config."""
    if kubeconfig is not None:
        return read_kubeconfigs([kubeconfig])
    if os.environ.get("KUBECONFIG"):
        return read_kubeconfigs(files_of_environment(os.environ["KUBECONFIG"]))
    if os.environ.get("KUBERNETES_SERVICE_HOST") and (SERVICE_ACCOUNT / "token").exists():
        return in_cluster()
    home = Path("~/.kube/config")
    with suppress(RuntimeError):  # no home folder is known
        home = home.expanduser()
    if home.exists():
        return read_kubeconfigs([home])
    raise UserError("no cluster: expected --kubeconfig FILE, $KUBECONFIG, ~/.kube/config, or to run in a pod")


def files_of_environment(value: str) -> list[Path]:
    """The files of $KUBECONFIG that exist, each once."""
    named = [Path(name) for name in dict.fromkeys(value.split(os.pathsep)) if name]
    there = [file for file in named if not _missing(file)]
    if not there:
        gone = f"{', '.join(map(str, named))}: not there" if named else "names no file"
        raise UserError(f"$KUBECONFIG: {gone}, expected at least one kubeconfig")
    return there


def _missing(file: Path) -> bool:
    """Whether the file does not exist. One that may not be accessed is an error when it is read."""
    try:
        file.stat()
    except OSError as fault:
        return isinstance(fault, FileNotFoundError)
    return False


def in_cluster() -> Access:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    host = f"[{host}]" if ":" in host else host
    authority = SERVICE_ACCOUNT / "ca.crt"
    try:
        context = ssl.create_default_context(cafile=str(authority))
    except OSError as fault:  # ssl.SSLError is one too
        raise UserError(f"{authority}: {fault.strerror or fault}, expected the service account of a pod") from None
    return Access(f"https://{host}:{port}", context, token_file=SERVICE_ACCOUNT / "token")


def read_kubeconfigs(files: Sequence[Path]) -> Access:
    """The current context of one or more kubeconfig files.

    Merged as by kubectl: current-context and each cluster, user and context are taken whole from the first file that
    has them.
    """
    merged: dict[str, dict[str, Entry]] = {"clusters": {}, "users": {}, "contexts": {}}
    current = ""
    for file in files:
        read = _read(file)
        current = current or read["current-context"]
        for kind, known in merged.items():
            for name, body in read[kind].items():
                known.setdefault(name, Entry(body, file))
    where = ", ".join(map(str, files))
    if not current:
        raise UserError(f"{where}: no current-context, expected the name of a context")
    context = _named(merged, "contexts", current, where).body
    cluster = _named(merged, "clusters", str(context.get("cluster") or ""), where)
    # A context without a user is anonymous.
    user = _named(merged, "users", str(context["user"]), where) if context.get("user") else Entry({}, files[0])
    server = str(cluster.body.get("server") or "").rstrip("/")
    if not server:
        raise UserError(f"{cluster.file}: clusters {context['cluster']!r} has no server")
    if not _is_address(server):
        raise UserError(f"{cluster.file}: server {server!r}, expected an address like https://HOST:PORT")
    token_file = _beside(user.file, user.body["tokenFile"]) if user.body.get("tokenFile") else None
    return Access(
        server=server,
        context=_tls(cluster, user) if server.startswith("https:") else None,
        token=_text(token_file) if token_file else str(user.body.get("token") or ""),
        token_file=token_file,
        command=_program(user),
    )


def _is_address(server: str) -> bool:
    try:
        parts = urlsplit(server)
        port = parts.port  # parsed only when it is read
    except ValueError:  # the port is no number or too large, or half of an IPv6 address
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0


def _read(file: Path) -> dict[str, Any]:
    """current-context, and clusters, users and contexts by name, of one file. An empty file has none."""
    try:
        read = yaml.safe_load(file.read_text(encoding="utf-8"))
        note_input(file)
        if read is None:
            read = {}
        found: dict[str, Any] = {"current-context": msgspec.convert(read.get("current-context") or "", str)}
        for kind in ("clusters", "users", "contexts"):
            named: dict[str, dict[str, Any]] = {}
            found[kind] = named
            for entry in msgspec.convert(read.get(kind) or [], list[dict[str, Any]]):
                body = msgspec.convert(entry.get(kind[:-1]) or {}, dict[str, Any])
                named.setdefault(msgspec.convert(entry["name"], str), body)
    except OSError as fault:
        raise UserError(f"{file}: {fault.strerror or fault}, expected a kubeconfig") from None
    except RecursionError:
        raise UserError(f"{file}: nested too deeply, expected a kubeconfig") from None
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, msgspec.ValidationError) as fault:
        words = " ".join(str(fault).split())
        raise UserError(f"{file}: not a kubeconfig ({type(fault).__name__}: {words})") from None
    return found


def _named(merged: dict[str, dict[str, Entry]], kind: str, name: str, where: str) -> Entry:
    entry = merged[kind].get(name)
    if entry is None:
        raise UserError(f"{where}: {kind} has no {name!r}")
    for key in NOT_READ.get(kind, ()):
        if entry.body.get(key):
            raise UserError(f"{entry.file}: {kind} {name!r} has {key}, which wattpack does not read")
    return entry


def _beside(file: Path, path: Any) -> Path:
    """Paths in a kubeconfig are relative to the file."""
    beside = file.parent / str(path)
    note_input(beside)
    return beside


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as fault:
        raise UserError(f"{file}: {getattr(fault, 'strerror', None) or fault}, expected a text file") from None


def _program(user: Entry) -> ExecProgram | None:
    if not user.body.get("exec"):
        return None
    try:
        program = msgspec.convert(user.body["exec"], ExecProgram)
    except msgspec.ValidationError as fault:
        raise UserError(f"{user.file}: exec of a user: {fault}") from None
    if not program.command:
        raise UserError(f"{user.file}: exec of a user names no command")
    if os.sep in program.command:  # else it is looked up in $PATH
        program.command = str(_beside(user.file, program.command))
    return program


def _tls(cluster: Entry, user: Entry) -> ssl.SSLContext:
    body, file = cluster
    try:
        context = ssl.create_default_context()
        if body.get("insecure-skip-tls-verify"):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif body.get("certificate-authority-data"):
            context = ssl.create_default_context(cadata=_decoded(body["certificate-authority-data"]).decode())
        elif body.get("certificate-authority"):
            context = ssl.create_default_context(cafile=str(_beside(file, body["certificate-authority"])))
        file = user.file
        certificate, key = _pem(user, "client-certificate"), _pem(user, "client-key")
        if certificate and key:
            # Python reads certificates only from files: these exist for this one call.
            with temporary_path(Path(tempfile.mkdtemp(prefix="wattpack-"))) as folder:
                paths = folder / "certificate", folder / "key"
                for path, content in zip(paths, (certificate, key), strict=True):
                    path.touch(mode=0o600)
                    path.write_bytes(content)
                context.load_cert_chain(*map(str, paths))
    except (OSError, binascii.Error, ValueError, TypeError) as fault:  # ssl.SSLError is an OSError
        raise UserError(f"{file}: certificates cannot be used: {' '.join(str(fault).split())}") from None
    return context


def _pem(user: Entry, name: str) -> bytes:
    if user.body.get(f"{name}-data"):
        return _decoded(user.body[f"{name}-data"])
    return _beside(user.file, user.body[name]).read_bytes() if user.body.get(name) else b""


def _decoded(text: str) -> bytes:
    return base64.b64decode(text, validate=True)

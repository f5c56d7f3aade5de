"""How to reach a cluster: which files are read, which of them has the word, what is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from wattpack.errors import UserError
from wattpack.kube.exec_program import exec_environment
from wattpack.kube.kubeconfig import Access, find_access, read_kubeconfigs


def write(folder: Path, name: str, **parts: Any) -> Path:
    """A kubeconfig: clusters, users and contexts as {name: body}, `current` the current context."""
    text: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "current-context": parts.get("current", "")}
    for kind in ("clusters", "users", "contexts"):
        text[kind] = [{"name": name, kind[:-1]: body} for name, body in parts.get(kind, {}).items()]
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(text))
    return file


def whole(folder: Path, name: str, server: str, **user: Any) -> Path:
    """A kubeconfig that is enough by itself; its cluster, user and context are called after the file."""
    return write(
        folder,
        name,
        clusters={name: {"server": server}},
        users={name: user or {"token": f"token-{name}"}},
        contexts={name: {"cluster": name, "user": name, "namespace": f"space-{name}"}},
        current=name,
    )


def from_environment(monkeypatch: pytest.MonkeyPatch, *files: Path | str) -> Access:
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, files)))
    return find_access(None)


def refused(*files: Path) -> str:
    with pytest.raises(UserError) as fault:
        read_kubeconfigs(files)
    assert "\n" not in str(fault.value)
    return str(fault.value)


def test_the_first_file_that_sets_the_current_context_has_the_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = whole(tmp_path, "one", "http://one/"), whole(tmp_path, "two", "http://two")
    access = from_environment(monkeypatch, first, second)
    assert (access.server, access.token) == ("http://one", "token-one")
    assert from_environment(monkeypatch, second, first).server == "http://two"


def test_a_context_may_name_a_cluster_and_a_user_of_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = write(tmp_path, "context", contexts={"c": {"cluster": "k", "user": "u"}})
    cluster = write(tmp_path, "cluster", clusters={"k": {"server": "http://k"}}, current="c")
    user = write(tmp_path, "user", users={"u": {"token": "t"}})
    access = from_environment(monkeypatch, context, cluster, user)
    assert (access.server, access.token) == ("http://k", "t")


def test_of_two_entries_of_one_name_only_the_first_is_read_not_a_mixture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = whole(tmp_path / "a", "same", "http://a", token="")
    second = whole(tmp_path / "b", "same", "http://b", token="of-b")
    access = from_environment(monkeypatch, first, second)
    assert (access.server, access.token) == ("http://a", "")


def test_files_that_are_not_there_empty_names_and_empty_files_are_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    there = whole(tmp_path, "there", "http://there")
    assert from_environment(monkeypatch, "", tmp_path / "gone", empty, there, there).server == "http://there"


def test_a_file_of_the_list_that_cannot_be_read_is_named_not_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken"
    broken.write_text("clusters: [")
    with pytest.raises(UserError, match=r"broken: not a kubeconfig"):
        from_environment(monkeypatch, whole(tmp_path, "good", "http://good"), broken)
    (tmp_path / "folder").mkdir()
    with pytest.raises(UserError, match=r"folder: .*expected a kubeconfig"):
        from_environment(monkeypatch, tmp_path / "folder")


def test_a_list_of_which_no_file_is_there_is_an_error_that_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match=r"\$KUBECONFIG: .*gone.*lost"):
        from_environment(monkeypatch, tmp_path / "gone", tmp_path / "lost")
    with pytest.raises(UserError, match=r"\$KUBECONFIG: names no file"):
        from_environment(monkeypatch, "", "")


def test_the_file_of_the_command_line_is_read_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(whole(tmp_path, "environment", "http://environment")))
    assert find_access(whole(tmp_path, "option", "http://option")).server == "http://option"
    with pytest.raises(UserError, match=r"gone: No such file"):
        find_access(tmp_path / "gone")


def test_paths_are_relative_to_the_file_they_stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = write(tmp_path / "one", "config", contexts={"c": {"cluster": "k", "user": "u"}}, current="c")
    users = write(tmp_path / "two", "config", users={"u": {"tokenFile": "secret/token"}})
    clusters = write(tmp_path / "three", "config", clusters={"k": {"server": "http://k"}})
    (tmp_path / "two" / "secret").mkdir()
    (tmp_path / "two" / "secret" / "token").write_text("of-two\n")
    access = from_environment(monkeypatch, context, users, clusters)
    assert access.authorization() == "Bearer of-two"


def test_certificates_are_looked_for_beside_the_file_they_stand_in(tmp_path: Path) -> None:
    context = write(tmp_path / "one", "config", contexts={"c": {"cluster": "k", "user": "u"}}, current="c")
    body = {"server": "https://k", "certificate-authority": "ca.crt"}
    clusters = write(tmp_path / "two", "config", clusters={"k": body}, users={"u": {}})
    (tmp_path / "two" / "ca.crt").write_text("not a certificate")
    told = refused(context, clusters)
    assert told.startswith(f"{clusters}: certificates cannot be used")
    assert "No such file" not in told  # it was found, and is no certificate


def test_a_program_with_a_folder_in_its_name_is_relative_to_the_file_and_others_are_looked_up(tmp_path: Path) -> None:
    access = read_kubeconfigs([whole(tmp_path, "a", "http://a", exec={"command": "bin/login", "args": ["x"]})])
    assert access.command is not None
    assert exec_environment(access.command)[0] == [str(tmp_path / "bin" / "login"), "x"]
    access = read_kubeconfigs([whole(tmp_path, "b", "http://b", exec={"command": "login"})])
    assert access.command is not None
    assert exec_environment(access.command)[0] == ["login"]


def test_a_context_without_a_user_is_anonymous_as_kubectl_has_it(tmp_path: Path) -> None:
    file = write(tmp_path, "f", clusters={"k": {"server": "http://k"}}, contexts={"c": {"cluster": "k"}}, current="c")
    assert read_kubeconfigs([file]).authorization() == ""


def test_what_is_missing_is_named_with_the_files_that_were_read(tmp_path: Path) -> None:
    a = write(tmp_path, "a", contexts={"c": {"cluster": "nobody", "user": "u"}}, current="c")
    b = write(tmp_path, "b", users={"u": {}})
    assert refused(a, b) == f"{a}, {b}: clusters has no 'nobody'"
    assert "no current-context" in refused(b)
    assert "no server" in refused(whole(tmp_path, "s", ""))


@pytest.mark.parametrize("server", ["http://k:99999", "http://k:x", "https://[::1", "k:6443", "ftp://k", "http://"])
def test_a_server_that_is_no_address_is_refused(tmp_path: Path, server: str) -> None:
    assert f"server {server.rstrip('/')!r}, expected an address like https://HOST:PORT" in refused(
        whole(tmp_path, "s", server)
    )


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "1",
        "clusters: 3",
        "clusters: [3]",
        "clusters: [{}]",
        "users: [{name: u, user: 3}]",
        "current-context: [1]",
    ],
)
def test_what_is_not_a_kubeconfig_is_told_in_one_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    assert refused(file).startswith(f"{file}: not a kubeconfig")


@pytest.mark.parametrize(
    ("part", "key"),
    [
        ("users", "as"),
        ("users", "as-groups"),
        ("users", "auth-provider"),
        ("users", "username"),
        ("clusters", "proxy-url"),
        ("clusters", "tls-server-name"),
    ],
)
def test_what_we_do_not_read_and_would_change_who_we_are_or_whom_we_ask_is_refused(
    tmp_path: Path, part: str, key: str
) -> None:
    bodies: dict[str, dict[str, Any]] = {"users": {}, "clusters": {"server": "http://k"}}
    bodies[part][key] = "x"
    context = {"c": {"cluster": "e", "user": "e"}}
    file = write(
        tmp_path,
        "f",
        users={"e": bodies["users"]},
        clusters={"e": bodies["clusters"]},
        contexts=context,
        current="c",
    )
    assert refused(file).startswith(f"{file}: {part} 'e' has {key}, which wattpack does not read")


def test_a_token_file_that_is_not_there_is_told_at_the_start(tmp_path: Path) -> None:
    assert "token: No such file" in refused(whole(tmp_path, "f", "http://f", tokenFile="token"))


@pytest.mark.parametrize(
    "command", [{}, {"command": ""}, {"command": "x", "env": [3]}, [], {"command": "x", "args": 3}]
)
def test_a_program_that_is_not_described_is_told_at_the_start(tmp_path: Path, command: Any) -> None:
    told = refused(whole(tmp_path, "f", "http://f", exec=command or {"args": []}))
    assert "exec" in told


def test_the_service_account_of_a_pod_that_lacks_a_file_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setattr("wattpack.kube.kubeconfig.SERVICE_ACCOUNT", tmp_path)
    (tmp_path / "token").write_text("t")
    with pytest.raises(UserError, match=r"ca\.crt.*service account"):
        find_access(None)

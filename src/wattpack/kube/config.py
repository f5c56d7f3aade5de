"""The service's configuration: one strict TOML file. An unknown key, wrong type or bad value is an error."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from wattpack.datasets.power_files import load_power
from wattpack.datasets.sources import load_trace
from wattpack.engine.runs.learning import LEARNT
from wattpack.errors import UserError
from wattpack.files import note_input
from wattpack.kube.auto import Auto
from wattpack.kube.cluster import Cluster
from wattpack.kube.dialects import ALL, find_dialect
from wattpack.kube.dialects.dialect import Dialect
from wattpack.kube.dialects.dra import reads_claims
from wattpack.kube.reading import Reading
from wattpack.kube.sleep.config import SleepConfig, problems_of_sleep
from wattpack.model.policy import Mix
from wattpack.model.power import PAPER, PROFILES, PowerProfile
from wattpack.model.target import Target
from wattpack.policies.expression import canonical, is_auto, parse

UNTIL_CHOSEN = "fgd"
FILES = ("token_file", "metrics_token_file", "certificate", "key", "client_ca")  # of [server]


class Server(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Where the service listens and who may ask. The second listener, if any, serves only probes and metrics."""

    host: str = "127.0.0.1"
    port: int = 8888
    metrics_host: str = ""
    metrics_port: int = 0
    max_body_mib: int = 8
    timeout_s: float = 10
    token_file: str = ""
    metrics_token_file: str = ""  # opens /metrics alone; may appear later
    certificate: str = ""
    key: str = ""
    client_ca: str = ""
    metrics_namespaces: int = 100


class LeaseConfig(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The lease of the one replica that decides."""

    enabled: bool = True
    namespace: str = "kube-system"
    name: str = "wattpack"
    duration_s: float = 15


class Config(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What a user may set; docs/guide/serve.md describes each key."""

    policy: str = "pwr:0.1+fgd:0.9"
    power_profile: str = ""  # the one that the power file names, or paper
    power_file: str = ""
    target: str = LEARNT
    dialect: str | list[str] = ALL
    mode: Literal["choose", "score", "shadow"] = "choose"
    node_order: Literal["name", "seeded"] = "name"
    seed: int = 0
    events: Literal["all", "failures", "none"] = "all"
    gpu_memory_mib: int = 0
    gpu_model_label: str = "nvidia.com/gpu.product"
    cpu_model_label: str = ""
    prometheus: str = ""
    allocate_claims: bool = False
    server: Server = Server()
    lease: LeaseConfig = LeaseConfig()
    models: dict[str, str] = {}
    sleep: SleepConfig | None = None  # None: all nodes stay awake

    def mix(self) -> Mix:
        """The policy; of `auto`, the one until it has chosen."""
        return parse(UNTIL_CHOSEN if is_auto(self.policy) else self.policy)

    def auto(self) -> Auto | None:
        """None unless the policy is `auto`."""
        if not is_auto(self.policy):
            return None
        return Auto(canonical(self.policy), self.profile(), None if self.target == LEARNT else load_trace(self.target))

    def cluster(self) -> Cluster:
        """A cluster under this policy, without nodes and pods."""
        return Cluster(self.mix(), self.profile(), self.given_target(), self.node_order, self.seed, self.auto())

    def profile(self) -> PowerProfile:
        if self.power_file:
            return load_power(self.power_file, self.power_profile or None)
        return PROFILES[self.power_profile or PAPER.name]

    def reading(self) -> Reading:
        return Reading(
            dialect=find_dialect(self.dialect),
            profile=self.profile(),
            gpu_model_label=self.gpu_model_label,
            cpu_model_label=self.cpu_model_label,
            gpu_memory_mib=self.gpu_memory_mib,
            models=self.models,
        )

    def reads_claims(self) -> bool:
        """Whether resource claims are watched: to allocate them, or to shadow who does."""
        return self.allocate_claims

    def read_dialect(self) -> Dialect:
        return find_dialect(self.dialect)

    def given_target(self) -> Target | None:
        """The target workload of a trace; None: it is learnt from the pods that arrive."""
        return None if self.target == LEARNT else Target.of(load_trace(self.target))


Section = TypeVar("Section", bound=msgspec.Struct)
SECTIONS: dict[str, type[msgspec.Struct]] = {"server": Server, "lease": LeaseConfig, "sleep": SleepConfig}


def problems(config: Config) -> list[str]:
    """All errors in the values, one line each."""
    found = []

    def check(good: bool, line: str) -> None:
        if not good:
            found.append(line)

    for asked in (config.mix, config.given_target, config.read_dialect):
        try:
            asked()
        except UserError as fault:
            named = {"mix": "policy", "given_target": "target", "read_dialect": "dialect"}[asked.__name__]
            found.append(f"{named}: {fault}")
    if config.allocate_claims and not any(one.startswith("dialect") for one in found):
        check(reads_claims(config.read_dialect()), "allocate_claims: expected dialect dra, or all")
    profile = None
    if config.power_profile not in ("", *PROFILES):
        found.append(f"power_profile: {config.power_profile!r}, expected one of {', '.join(PROFILES)}")
    else:
        try:
            profile = config.profile()
        except UserError as fault:
            found.append(f"power_file: {fault}")
    check(config.gpu_memory_mib >= 0, f"gpu_memory_mib: {config.gpu_memory_mib}, expected 0 or more")
    check(config.seed >= 0, f"seed: {config.seed}, expected 0 or more")
    if profile is not None:
        known = profile.known_gpus
        for label, model in config.models.items():
            check(model in known, f"models: {label!r} = {model!r}, expected one of {', '.join(sorted(known))}")
    server, lease = config.server, config.lease
    check(0 <= server.port < 65536, f"server.port: {server.port}, expected 0 to 65535")
    check(0 <= server.metrics_port < 65536, f"server.metrics_port: {server.metrics_port}, expected 0 to 65535")
    check(
        0 <= server.metrics_namespaces <= 10_000,
        f"server.metrics_namespaces: {server.metrics_namespaces}, expected 0 to 10000",
    )
    check(1 <= server.max_body_mib <= 1024, f"server.max_body_mib: {server.max_body_mib}, expected 1 to 1024")
    check(0 < server.timeout_s <= 600, f"server.timeout_s: {server.timeout_s}, expected above 0 and at most 600")
    check(1 <= lease.duration_s <= 600, f"lease.duration_s: {lease.duration_s}, expected 1 to 600")
    check(lease.name != "" and lease.namespace != "", "lease: name or namespace is empty")
    if config.sleep is not None:
        found += problems_of_sleep(config.sleep, config.mode)
    return found


def checked(config: Config, where: str) -> Config:
    """`config`; raises UserError with all errors in it."""
    found = problems(config)
    if found:
        raise UserError(f"{where}: {'; '.join(found)}")
    return config


def parse_config(text: bytes, where: str, folder: Path | None = None) -> Config:
    """The configuration in a TOML text; `where` names it in messages, the files that it names are in `folder`."""
    config, faults = parse_all(text, where, folder)
    faults += problems(config)
    if faults:
        raise UserError(f"{where}: {'; '.join(faults)}")
    return config


def parse_all(text: bytes, where: str, folder: Path | None = None) -> tuple[Config, list[str]]:
    """What of the text can be used, and all that is wrong with the rest; raises UserError if it is not TOML."""
    try:
        read = tomllib.loads(text.decode("utf-8"))
        faults = nul_faults(read)
        config, wrong = _converted(read, Config, "")
    except ValueError as fault:  # not UTF-8, not TOML, or a number with thousands of digits
        raise UserError(f"{where}: not TOML: {fault}") from None
    except RecursionError:
        raise UserError(f"{where}: nested too deeply, expected a configuration") from None
    if faults:  # no file may be opened by such a name
        config = Config()
    return (beside(config, folder) if folder is not None else config), faults + wrong


def nul_faults(value: Any, path: str = "") -> list[str]:
    """Texts with a NUL in a value and all in it: no file, host or label has one."""
    if isinstance(value, str) and "\0" in value:
        return [f"{path}: {value!r} holds a NUL"]
    if isinstance(value, dict):
        named = [fault for name in value for fault in nul_faults(name, f"{path} key".strip())]
        return named + [fault for name, one in value.items() for fault in nul_faults(one, f"{path}.{name}".strip("."))]
    return [fault for one in value for fault in nul_faults(one, path)] if isinstance(value, list) else []


def _converted(read: dict[str, Any], kind: type[Section], path: str) -> tuple[Section, list[str]]:
    """The table with the keys that are good, and a line for each that is not."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    good: dict[str, Any] = {}
    faults = []
    for name, value in read.items():
        if name not in fields:
            faults.append(f"{path}{name}: unknown field `{name}`, known keys: {', '.join(fields)}")
            continue
        inner = SECTIONS.get(f"{path}{name}")
        try:
            if inner is not None and isinstance(value, dict):
                good[name], wrong = _converted(value, inner, f"{path}{name}.")
                faults += wrong
            else:
                good[name] = msgspec.convert(value, fields[name].type)
        except msgspec.ValidationError as fault:
            faults.append(f"{path}{name}: {fault}")
    return kind(**good), faults


def beside(config: Config, folder: Path) -> Config:
    """The same with the files that it names looked for in `folder`."""
    named = {name: getattr(config.server, name) for name in FILES}
    found = {name: str(folder / file) for name, file in named.items() if file}
    power = str(folder / config.power_file) if config.power_file else ""
    return msgspec.structs.replace(config, power_file=power, server=msgspec.structs.replace(config.server, **found))


def read_config(file: Path | None) -> Config:
    """The configuration of a file, or the default one."""
    return Config() if file is None else parse_config(_content(file), str(file), file.parent)


def read_all(file: Path | None) -> tuple[Config, list[str]]:
    """The same as far as it can be used, and all that is wrong with the file, one line each; values are not checked."""
    try:
        return (Config(), []) if file is None else parse_all(_content(file), str(file), file.parent)
    except UserError as fault:
        return Config(), [str(fault)]


def _content(file: Path) -> bytes:
    if found := nul_faults(str(file), "--config"):
        raise UserError(found[0])
    note_input(file)
    try:
        return file.read_bytes()
    except OSError as fault:
        raise UserError(f"{file}: {fault.strerror or fault}, expected a TOML file") from None

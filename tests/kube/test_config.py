"""The configuration is strict: what is not known or not possible is refused, all of it at once, in one line."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import wattpack
from wattpack.errors import UserError
from wattpack.kube.config import Config, LeaseConfig, Server, parse_config, read_config
from wattpack.kube.sleep.config import SleepConfig


def refused(text: str) -> str:
    with pytest.raises(UserError) as fault:
        parse_config(text.encode(), "here.toml")
    told = str(fault.value)
    assert told.startswith("here.toml: ")
    assert "\n" not in told
    return told


def test_an_empty_file_is_the_default_configuration() -> None:
    assert parse_config(b"", "here") == Config()


def test_every_key_can_be_set() -> None:
    text = b"""
        policy = "fgd"
        power_profile = "linear"
        target = "default"
        dialect = "kai"
        mode = "score"
        node_order = "seeded"
        seed = 7
        events = "none"
        gpu_memory_mib = 16384
        gpu_model_label = "gpu"
        cpu_model_label = "cpu"
        prometheus = "http://127.0.0.1:9090"
        [server]
        host = "127.0.0.2"
        port = 1
        metrics_host = "127.0.0.1"
        metrics_port = 2
        max_body_mib = 3
        timeout_s = 4
        [lease]
        enabled = false
        namespace = "a"
        name = "b"
        duration_s = 5.5
        [models]
        "My-GPU" = "A100"
    """
    config = parse_config(text, "here")
    assert (config.mix().expression, config.profile().name, config.seed) == ("fgd", "linear", 7)
    assert (config.server.max_body_mib, config.lease.duration_s, config.models) == (3, 5.5, {"My-GPU": "A100"})
    assert config.given_target() is not None


def test_every_key_is_read_by_the_service() -> None:
    """Looked at as `config.key` or `self.key` anywhere but where it is checked."""
    read = set()
    for folder in ("kube", "cli"):
        for file in (Path(wattpack.__file__).parent / folder).rglob("*.py"):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            checks = [f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) and f.name == "problems"]
            checked = {part for function in checks for part in ast.walk(function)}
            for part in ast.walk(tree):
                if isinstance(part, ast.Attribute) and part not in checked:
                    owner = ast.unparse(part.value).split(".")[-1]
                    read |= {part.attr} if owner in ("config", "self", "settings", "server", "lease") else set()
    keys = {key for part in (Config, Server, LeaseConfig) for key in part.__struct_fields__}
    assert keys - read == set()


def test_the_guide_tells_every_key_and_no_other() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guide" / "serve.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `\[?([a-z_]+)\]?` \|([^\n]*)$", guide, flags=re.MULTILINE)
    assert {name for name, _ in rows} == set(Config.__struct_fields__)
    told = dict(rows)
    for name, part in {"server": Server, "lease": LeaseConfig, "sleep": SleepConfig}.items():
        assert {key for key in part.__struct_fields__ if f"`{key}`" not in told[name]} == set()


def test_a_learnt_target_is_none_at_first() -> None:
    assert Config().given_target() is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("polcy = 'fgd'", "unknown field `polcy`"),
        ("[server]\nhots = '1'", "unknown field `hots`"),
        ("policy = 3", "Expected `str`"),
        ("mode = 'fast'", "Invalid enum value 'fast'"),
        ("policy = 'nonesuch'", "nonesuch"),
        ("power_profile = 'none'", "expected one of paper"),
        ("dialect = 'latin'", "expected one of alibaba"),
        ("target = 'nowhere.csv'", "nowhere.csv"),
        ("scheduler_name = 'mine'", "unknown field `scheduler_name`"),
        ("gpu_memory_mib = -1", "expected 0 or more"),
        ("[server]\nport = 70000", "server.port: 70000"),
        ("[server]\nmax_body_mib = 0", "expected 1 to 1024"),
        ("[server]\ntimeout_s = 0", "above 0"),
        ("[lease]\nduration_s = 0", "lease.duration_s"),
        ("[models]\n'X' = 'Y'", "'X' = 'Y'"),
        ("policy = ", "not TOML"),
    ],
)
def test_what_is_wrong_is_named(text: str, told: str) -> None:
    assert told in refused(text)


def test_all_problems_are_told_at_once() -> None:
    told = refused("policy = 'nonesuch'\ndialect = 'latin'\nseed = -1")
    assert "policy" in told
    assert "dialect" in told
    assert "seed" in told


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"missing\.toml"):
        read_config(tmp_path / "missing.toml")


def test_a_power_file_is_looked_for_beside_the_configuration_and_laid_over_the_profile(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('profile = "measured"\n[gpu.X]\nidle_w = 10\nmax_w = 100\n')
    file = tmp_path / "wattpack.toml"
    file.write_text('power_file = "own.toml"\n[models]\n"My-GPU" = "X"\n')
    config = read_config(file)
    assert (config.profile().name, config.profile().gpu("X").max_w) == ("measured+own", 100)
    assert config.reading().model("My-GPU") == "X"
    file.write_text('power_file = "own.toml"\npower_profile = "linear"\n')
    assert read_config(file).profile().name == "linear+own"


def test_a_power_file_that_cannot_be_read_is_refused_with_the_rest(tmp_path: Path) -> None:
    told = refused(f"power_file = '{tmp_path / 'none.toml'}'\nseed = -1")
    assert "power_file: " in told
    assert "cannot be read" in told
    assert "seed: -1" in told
    (tmp_path / "bad.toml").write_text("[gpu.X]\nidle_w = -1\n")
    assert 'gpu."X".idle_w: -1, expected watts' in refused(f"power_file = '{tmp_path / 'bad.toml'}'")

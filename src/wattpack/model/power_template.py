"""A power file to start from: an entry for each model of a datacenter, with what is known of it in comments."""

from __future__ import annotations

import json
from collections.abc import Iterable

from wattpack.model.catalog import CPUS, GPUS, PAPER_NAMES
from wattpack.model.power import PowerProfile

HEAD = """\
# Power file: your own watts. Remove the # of a line to set it; the rest is inherited from the profile.
# wattpack power --power FILE shows what it changes; commands take it with --power FILE.
profile = {profile}

[node]
# base_w = 80                   # each node beside sockets and GPUs: fans, NICs, disks, conversion losses
# base_share_of_limits = 0.15   # and this share of the limits of its GPUs; without figures of your own, take these two
# default_cpu = {cpu}
"""
UNKNOWN_GPU = """
# {name}: {known}. Fill in {wanted} and remove the #.
[gpu.{key}]
# idle_w =        # nothing on the GPU
# context_w =     # a task holds it and does nothing
# max_w =         # at full use
"""
UNKNOWN_CPU = """
# {name}: not known. Fill in all three and remove the #.
[cpu.{key}]
# cores =         # physical cores of one socket
# idle_w =
# max_w =
"""
HALF_KNOWN_CPU = """
# {name}: idle_w is not known. Fill it in and remove the #. The catalog has the rest: {source}.
[cpu.{key}]
# idle_w =
# cores = {cores}
# max_w = {max_w:g}
"""


def power_template(gpus: Iterable[str], cpus: Iterable[str], profile: PowerProfile) -> str:
    """TOML with an entry for each model. It changes no watts until somebody edits it."""
    parts = [HEAD.format(profile=json.dumps(profile.name), cpu=json.dumps(profile.default_cpu))]
    parts += [_gpu(name, profile) for name in dict.fromkeys(gpus)]
    parts += [_cpu(name, profile) for name in dict.fromkeys(cpus)]
    return "".join(parts)


def _gpu(name: str, profile: PowerProfile) -> str:
    entry, key = GPUS.get(PAPER_NAMES.get(name, name)), json.dumps(name, ensure_ascii=False)
    if name not in profile.known_gpus:
        if entry is None:
            wanted = "idle_w and max_w (or limit_w, the board's limit)"
            return UNKNOWN_GPU.format(name=name, key=key, known="not known", wanted=wanted)
        text = UNKNOWN_GPU.format(name=name, key=key, known="only the limit is known", wanted="idle_w")
        return f"{text}# limit_w = {entry.limit_w:g}   # the catalog: {entry.source}\n"
    gpu = profile.gpu(name)
    source = f" ({entry.confidence}: {entry.source})" if entry is not None and profile.name == "measured" else ""
    lines = [
        f"\n# {name} as the profile {profile.name} has it{source}",
        f"[gpu.{key}]",
        f"# idle_w = {gpu.idle_w:g}",
        f"# context_w = {gpu.context_w:g}",
        f"# max_w = {gpu.max_w:g}",
    ]
    if entry is not None and entry.limit_w != gpu.max_w:
        lines[-1] += f"   # {gpu.max_w / entry.limit_w:.2g} of the limit, {entry.limit_w:g} W"
    return "\n".join(lines) + "\n"


def _cpu(name: str, profile: PowerProfile) -> str:
    cpu, key = profile.cpus.get(name), json.dumps(name, ensure_ascii=False)
    if cpu is None:
        if (entry := CPUS.get(name)) is None:
            return UNKNOWN_CPU.format(name=name, key=key)
        values = {"cores": entry.cores, "max_w": entry.max_w, "source": entry.source}
        return HALF_KNOWN_CPU.format(name=name, key=key, **values)
    return f"\n[cpu.{key}]\n# cores = {cpu.cores}\n# idle_w = {cpu.idle_w:g}\n# max_w = {cpu.max_w:g}\n"

"""Small node and task files for tests of commands."""

from __future__ import annotations

from pathlib import Path

NODES = """sn,cpu_milli,memory_mib,gpu,model
g2-a,96000,393216,8,G2
g2-b,96000,393216,8,G2
t4-a,96000,393216,4,T4
"""
TASKS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec
eight,32000,65536,8,1000,
share-1,4000,8192,1,500,
share-2,4000,8192,1,500,
whole-1,8000,16384,1,1000,
cpu-1,8000,30517,0,0,
t4-only,4000,8192,1,300,T4
never,1000,1024,1,1000,H100
"""


def write_nodes(folder: Path, text: str = NODES) -> str:
    path = folder / "nodes.csv"
    path.write_text(text)
    return str(path)


def write_tasks(folder: Path, text: str = TASKS) -> str:
    path = folder / "tasks.csv"
    path.write_text(text)
    return str(path)


# The same tasks with times: the third of eight GPUs has to wait for the first, and one fits no node.
TIMED_TASKS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,duration,qos
eight-1,32000,65536,8,1000,,100,3600,LS
eight-2,32000,65536,8,1000,,110,3600,BE
eight-3,32000,65536,8,1000,,120,3600,BE
share-1,4000,8192,1,500,,130,1200,BE
cpu-1,8000,30517,0,0,,150,100,
never,1000,1024,1,1000,H100,4000,10,LS
t4-only,4000,8192,1,300,T4,4100,300,LS
"""


def write_timed_tasks(folder: Path, text: str = TIMED_TASKS) -> str:
    path = folder / "timed.csv"
    path.write_text(text)
    return str(path)

"""A plugin can be imported by its name, by `--plugin` and run as a program, in any order, with one compile cache."""

import subprocess
import sys
from itertools import pairwise, permutations
from pathlib import Path

import pytest

from wattpack.errors import UserError
from wattpack.experiments.plugins import import_file

BUSIEST = """import wattpack as wp


@wp.kernel
def free_gpus(node):
    return node.gpu_free


@wp.kernel
def score(node, task, world, params, memory, terms):
    terms[0] = 100 - free_gpus(node)
    return wp.ANY_GPU


wp.register(wp.Policy("busiest", "fewest free GPUs", score, pick=wp.Pick.TIGHTEST))

if __name__ == "__main__":
    assert wp.check_policy("busiest") == []
"""
WAYS = {
    "imported": ["-c", "import busiest, wattpack as wp; assert wp.check_policy('busiest') == []"],
    "plugin": [
        "-c",
        "from pathlib import Path; from wattpack.cli.plugins import load_plugins; load_plugins([Path('busiest.py')])",
    ],
    "program": ["busiest.py"],
}


@pytest.mark.e2e  # 13 s
@pytest.mark.compiled
def test_a_file_can_be_used_in_every_way_after_every_other(tmp_path: Path) -> None:
    (tmp_path / "busiest.py").write_text(BUSIEST)
    order = ("imported", "plugin", "program", "imported", "program", "plugin", "imported")
    assert set(pairwise(order)) == set(permutations(WAYS, 2))
    for way in order:
        done = subprocess.run([sys.executable, *WAYS[way]], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, (way, done.stderr[-2000:])


@pytest.mark.compiled
def test_a_policy_that_was_imported_by_name_runs_on_worker_processes(tmp_path: Path) -> None:
    (tmp_path / "busiest.py").write_text(BUSIEST)
    code = (
        "import busiest, wattpack as wp\n"
        "if __name__ == '__main__':\n"
        "    made = wp.compare(policies=['busiest'], seeds=1, out='out', on='processes', workers=2,\n"
        "                      plugins=['busiest.py'])\n"
        "    assert made.outcome.failed == [], made.outcome.failed\n"
    )
    (tmp_path / "use.py").write_text(code)
    done = subprocess.run([sys.executable, "use.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import sys\nsys.exit()\n", r"calls sys\.exit\(None\)"),
        ("import sys\nsys.exit(0)\n", r"calls sys\.exit\(0\)"),
        ("raise ValueError('one\\ntwo\\n\\n  three')\n", "ValueError: one two three, expected a file that can be"),
        ("import wattpack as wp\nraise wp.UserError('one\\ntwo')\n", "one two"),
        ("raise ValueError\n", "ValueError, expected a file that can be imported"),
    ],
)
def test_what_a_plugin_raises_is_one_line(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "faulty.py"
    file.write_text(text)
    with pytest.raises(UserError, match=said) as fault:
        import_file(file)
    assert "\n" not in str(fault.value)

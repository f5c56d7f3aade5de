"""wattpack: power- and fragmentation-aware scheduling for GPU datacenters.

    import wattpack as wp

    datacenter, trace = wp.load_datacenter("alibaba2023"), wp.load_trace("default")
    run = wp.simulate(datacenter, trace, "pwr:0.1+fgd:0.9", seed=42)
    run.power_w, run.grar, run.load        # columns, one row a task; run.columns explains them

    comparison = wp.compare(datacenter, trace, ["pwr", "ocs"], seeds=3)
    comparison.to_pandas(), comparison.plot(), comparison.save_report("report.html")

Importing this costs nothing: names are looked up when they are used.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # `typing` takes 12 ms to import
if TYPE_CHECKING:
    from wattpack.answers.bound import Bounds, bound
    from wattpack.answers.experiment import ExperimentRun, run_experiment
    from wattpack.answers.explain import Explained, explain
    from wattpack.answers.import_trace import ImportedTrace, import_trace
    from wattpack.answers.plan import Planned, plan
    from wattpack.answers.tune import Tuning, tune
    from wattpack.answers.tune_sleep import SleepTuning, tune_sleep
    from wattpack.comparison import Comparison, compare
    from wattpack.datasets.power_files import load_power
    from wattpack.datasets.sources import load_datacenter, load_trace
    from wattpack.engine.runs.record import Run
    from wattpack.errors import RunError, UserError
    from wattpack.experiments.curves import Curves
    from wattpack.experiments.policy_check.check import check_policy
    from wattpack.experiments.simulate import choose_policy, simulate
    from wattpack.experiments.simulate_time import TimedRun
    from wattpack.jit import kernel
    from wattpack.model.nodes import Datacenter
    from wattpack.model.policy import ANY_GPU, Normalise, Pick, Policy
    from wattpack.model.power import PROFILES, PowerProfile
    from wattpack.model.tasks import TaskClass, Workload
    from wattpack.policies import register
    from wattpack.policies.listing import PolicyList
    from wattpack.policies.listing import listed as policies

_HOME = {
    "load_datacenter": "datasets.sources",
    "load_trace": "datasets.sources",
    "load_power": "datasets.power_files",
    "simulate": "experiments.simulate",
    "choose_policy": "experiments.simulate",
    "compare": "comparison",
    "Comparison": "comparison",
    "Bounds": "answers.bound",
    "bound": "answers.bound",
    "ExperimentRun": "answers.experiment",
    "run_experiment": "answers.experiment",
    "Explained": "answers.explain",
    "explain": "answers.explain",
    "ImportedTrace": "answers.import_trace",
    "import_trace": "answers.import_trace",
    "Planned": "answers.plan",
    "plan": "answers.plan",
    "Tuning": "answers.tune",
    "tune": "answers.tune",
    "SleepTuning": "answers.tune_sleep",
    "tune_sleep": "answers.tune_sleep",
    "Curves": "experiments.curves",
    "Run": "engine.runs.record",
    "TimedRun": "experiments.simulate_time",
    "Datacenter": "model.nodes",
    "TaskClass": "model.tasks",
    "Workload": "model.tasks",
    "Policy": "model.policy",
    "Normalise": "model.policy",
    "Pick": "model.policy",
    "ANY_GPU": "model.policy",
    "PROFILES": "model.power",
    "PowerProfile": "model.power",
    "kernel": "jit",
    "register": "policies",
    "policies": "policies",
    "PolicyList": "policies.listing",
    "check_policy": "experiments.policy_check.check",
    "UserError": "errors",
    "RunError": "errors",
}
__all__ = [
    "ANY_GPU",
    "PROFILES",
    "Bounds",
    "Comparison",
    "Curves",
    "Datacenter",
    "ExperimentRun",
    "Explained",
    "ImportedTrace",
    "Normalise",
    "Pick",
    "Planned",
    "Policy",
    "PolicyList",
    "PowerProfile",
    "Run",
    "RunError",
    "SleepTuning",
    "TaskClass",
    "TimedRun",
    "Tuning",
    "UserError",
    "Workload",
    "__version__",
    "bound",
    "check_policy",
    "choose_policy",
    "compare",
    "explain",
    "import_trace",
    "kernel",
    "load_datacenter",
    "load_power",
    "load_trace",
    "plan",
    "policies",
    "register",
    "run_experiment",
    "simulate",
    "tune",
    "tune_sleep",
]


if not TYPE_CHECKING:  # a type checker shall know all names, and refuse others

    def __getattr__(name: str):
        if name not in _HOME:
            raise AttributeError(f"module 'wattpack' has no attribute {name!r}")
        from importlib import import_module

        home = import_module(f"wattpack.{_HOME[name]}")
        return home if name == "policies" else getattr(home, name)  # a package that can be called


def __dir__() -> list[str]:
    return __all__

"""`auto` becomes an expression here, and nowhere else. A choice is made once and kept in the user's cache folder."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from threading import Lock

from wattpack.choose.kept import read_kept, write_kept
from wattpack.choose.search import BASELINE, PORTFOLIO, STOCK, Found, Member, search
from wattpack.choose.small_fleet import columns_of, counted, in_order
from wattpack.jit import closure_digest
from wattpack.model.fit_anywhere import fit_anywhere
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Mix
from wattpack.model.power import PowerProfile, profile_text
from wattpack.model.tasks import Workload
from wattpack.policies.expression import AUTO, STEADY, WORDS, canonical, is_auto, parse

REMEMBERED = 64
NEARLY = 0.01  # of GRAR below FGD at most
WORTH_SAYING = 0.02  # share of the watts of what was chosen


@dataclass(frozen=True)
class Choice:
    """What `auto` stands for, and why."""

    expression: str
    because: str
    regime: str
    members: tuple[Member, ...] = ()  # what was tried, FGD first
    word: str = AUTO  # as the user named it

    @property
    def text(self) -> str:
        return f"{self.word} -> {self.expression}, because {self.because}"


def resolve(
    expression: str, datacenter: Datacenter, trace: Workload, profile: PowerProfile, regime: str
) -> tuple[Mix, Choice | None]:
    """The mix that an expression means, and the choice where it is `auto`.

    trace: the workload that the target is taken from. regime: of the run; `auto@steady` names one itself.
    """
    if not is_auto(expression):
        return parse(expression), None
    word = canonical(expression)
    choice = replace(choose(datacenter, trace, profile, WORDS[word] or regime), word=word)
    return parse(choice.expression), choice


def choose(datacenter: Datacenter, trace: Workload, profile: PowerProfile, regime: str) -> Choice:
    """The best member of the portfolio for this fleet, the same on every machine and for any order of nodes."""
    nothing = nothing_to_choose_by(datacenter, trace, profile)
    if nothing:
        return Choice(BASELINE, f"{nothing}: nothing to choose by", regime)
    name = choice_digest(datacenter, trace, profile, regime)
    with _lock:
        if name in _remembered:
            return _remembered[name]
    found = _read(name)
    if found is None:
        found = search(datacenter, trace, profile, regime)
        write_kept(name, asdict(found))
    choice = Choice(found.expression, _because(found, regime), regime, found.members)
    with _lock:
        _remembered[name] = choice
        while len(_remembered) > REMEMBERED:
            _remembered.popitem(last=False)
    return choice


def nothing_to_choose_by(datacenter: Datacenter, trace: Workload, profile: PowerProfile) -> str:
    """Why no policy serves a GPU here; "" if one does."""
    if datacenter.gpu_milli == 0:
        return "no node has a GPU"
    asking = [
        task for task, count in zip(trace.classes, trace.counts().tolist(), strict=True) if task.num_gpu and count
    ]
    if not asking:
        return "no task asks for a GPU"
    return "" if any(fit_anywhere(datacenter, asking, profile)) else "no task that asks for a GPU fits any node"


_remembered: OrderedDict[str, Choice] = OrderedDict()  # the scenarios of an experiment ask for each seed
_lock = Lock()


def choice_digest(datacenter: Datacenter, trace: Workload, profile: PowerProfile, regime: str) -> str:
    """Of everything that decides a choice: fleet, workload, watts, regime, portfolio and code; the order of nodes does
    not."""
    fleet, tasks = in_order(datacenter), counted(trace)
    digest = hashlib.sha256()
    for name, column in columns_of(fleet).items():
        digest.update(name.encode() + b"\0" + column.astype("<i8").tobytes())
    names = (fleet.models, fleet.cpu_models, fleet.pools)
    said = (names, tasks.classes, tasks.counts().tolist(), profile_text(profile), regime, PORTFOLIO)
    digest.update(json.dumps([*map(repr, said), _code_digest()]).encode())
    return digest.hexdigest()[:32]


@cache
def _code_digest() -> str:
    return closure_digest([__name__])


def _read(name: str) -> Found | None:
    kept = read_kept(name)
    if kept is None:
        return None
    try:
        members = tuple(Member(**member) for member in kept["members"])
        found = Found(str(kept["expression"]), members, float(kept["stock_w"]))
    except (KeyError, TypeError, ValueError):
        return None
    tried = {member.expression for member in members}
    return found if found.expression in PORTFOLIO and {found.expression, BASELINE} <= tried else None


def _because(found: Found, regime: str) -> str:
    by_name = {member.expression: member for member in found.members}
    best, base = by_name[found.expression], by_name[BASELINE]
    serving = [member for member in found.members if member.serves_as_much(regime)]
    where = "steady state" if regime == STEADY else regime
    tried = f"of {len(found.members)} expressions tried in a {where},"
    also = _nearly(found.members, best, regime)
    if found.expression == BASELINE:
        stock = _against(STOCK, found.stock_w, base.w_per_gpu)
        return f"{tried} none that serves as much draws less ({base.w_per_gpu:.0f} W per GPU served{stock}){also}"
    stock = _against(STOCK, found.stock_w, best.w_per_gpu)
    more = 100 * (best.w_per_gpu / min(member.w_per_gpu for member in serving) - 1)
    how = "it draws least" if more < 0.05 else f"it draws {more:.1f} % more than the least of them, to serve more"
    return (
        f"{tried} {len(serving)} serve as much as FGD and {how}: {best.w_per_gpu:.0f} W per GPU served"
        f"{stock}{_against('FGD', base.w_per_gpu, best.w_per_gpu)}{also}"
    )


def _against(name: str, watts: float, own_w: float) -> str:
    """What another policy draws per GPU served, and what that of `own_w` saves against it; nothing where unknown."""
    if watts <= 0:
        return ""
    saving = 1 - own_w / watts  # as everywhere: of the watts per GPU served
    return f", {name} {watts:.0f} ({100 * abs(saving):.1f} % {'less' if saving >= 0 else 'more'})"


def _nearly(members: Sequence[Member], chosen: Member, regime: str) -> str:
    """Who serves a little less than FGD and draws far less than what was chosen: for people who would take that."""
    near = [
        member
        for member in members
        if not member.serves_as_much(regime)
        and member.loss(regime) <= NEARLY
        and member.w_per_gpu < (1 - WORTH_SAYING) * chosen.w_per_gpu
    ]
    if not near:
        return ""
    one = min(near, key=lambda member: member.priced_w(regime))
    less = 100 * (1 - one.w_per_gpu / chosen.w_per_gpu)
    return (
        f"; {one.expression} draws {less:.1f} % less than {chosen.expression}, "
        f"but serves up to {100 * one.loss(regime):.1g} % less of the GPU asked for than FGD"
    )

"""Candidate chains of moves, from the tasks on each node. cost.py computes their gains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from wattpack.model.fit import allows
from wattpack.model.power import GPU_MILLI, VCPU_MILLI_PER_CORE
from wattpack.optimise.defrag.cost import FREE_CHOICE, Board

MOST_LEAVING = 16  # most tasks moved to empty a node or a socket
MOST_EVICTED = 6  # most tasks moved to make room for a large one
NODES_TRIED = 6  # nodes per model where room is made for a task


class Chain(NamedTuple):
    """Tasks that move one after another; see `try_chain`."""

    tasks: tuple[int, ...]
    leaving: bool = False
    aim: int = FREE_CHOICE


class Room(NamedTuple):
    """A node where `tasks` must leave before a larger task fits; sorted by what that costs."""

    busy_mw: int  # of one GPU of its model, above idle
    moves: int
    gpu_milli: int  # of the tasks that leave
    node: int
    tasks: tuple[int, ...]
    cpu_left: int  # milli-vCPU, once they have left


class Layout:
    """Which tasks are where, in plain lists: reading numpy records one by one took 12 of 14 s of a search."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.k: list[int] = board.sequence.tolist()
        self.cpu: list[int] = board.tasks.cpu_milli[board.sequence].tolist()
        self.kind: list[int] = board.tasks.kind[board.sequence].tolist()
        self.request: list[int] = board.tasks.gpu_request[board.sequence].tolist()
        self.gpus: list[int] = board.gpus.tolist()
        self.model: list[int] = board.nodes.model.tolist()
        self.size: list[int] = board.nodes.gpus.tolist()
        self.cpu_milli: list[int] = board.nodes.cpu_milli.tolist()
        self.socket_milli: list[int] = (board.nodes.socket_cores * VCPU_MILLI_PER_CORE).tolist()
        self.cpu_left: list[int] = board.nodes.cpu_left.tolist()
        self.gpu_free: list[int] = board.nodes.gpu_free.tolist()
        self.on: list[set[int]] = [set() for _ in self.model]
        for i, n in enumerate(board.node.tolist()):
            if n >= 0:
                self.on[n].add(i)

    def moved(self, task: int, source: int, to: int) -> None:
        """Follow a change of the board: `task` has moved from `source` to `to`."""
        self.on[source].discard(task)
        self.on[to].add(task)
        self.gpus[task] = int(self.board.gpus[task])
        for n in (source, to):
            self.cpu_left[n], self.gpu_free[n] = int(self.board.nodes[n].cpu_left), int(self.board.nodes[n].gpu_free)

    def largest_first(self, tasks: Iterable[int]) -> tuple[int, ...]:
        return tuple(sorted(tasks, key=lambda i: (-self.request[i], -self.cpu[i], i)))

    def chains_from(self, n: int) -> Iterator[Chain]:
        """Chains from node `n`: single tasks (one of each kind), those of one GPU, those of a socket, and all tasks."""
        tasks = sorted(self.on[n])
        single = {(self.k[i], self.gpus[i] if self.kind[i] == 0 else 0): i for i in tasks}
        yield from (Chain((i,)) for i in single.values())
        by_gpu = self.sharing(n)
        yield from (Chain(self.largest_first(found)) for found in by_gpu.values() if len(found) > 1)
        if 1 < len(tasks) <= MOST_LEAVING:
            yield Chain(self.largest_first(tasks), leaving=True)
        yield from self.socket_chains(n, tasks)

    def sharing(self, n: int) -> dict[int, list[int]]:
        """The sharing tasks of a node by their GPU (as a bit set)."""
        found: dict[int, list[int]] = {}
        for i in sorted(self.on[n]):
            if self.kind[i] == 0:
                found.setdefault(self.gpus[i], []).append(i)
        return found

    def socket_chains(self, n: int, tasks: Sequence[int]) -> Iterator[Chain]:
        """So few tasks that one socket less is powered: of those without GPU, and of all."""
        over = (self.cpu_milli[n] - self.cpu_left[n] - 1) % self.socket_milli[n] + 1  # in use on the last powered one
        found: set[tuple[int, ...]] = set()
        for candidates in ([i for i in tasks if self.kind[i] < 0], list(tasks)):
            enough = [i for i in candidates if self.cpu[i] >= over]
            if enough:
                found.add((min(enough, key=lambda i: (self.request[i], self.cpu[i])),))
            chosen, left = [], over
            for i in sorted(candidates, key=lambda i: (self.request[i], -self.cpu[i])):
                if left > 0 and self.cpu[i] > 0:
                    chosen.append(i)
                    left -= self.cpu[i]
            if left <= 0 and 1 < len(chosen) <= MOST_LEAVING:
                found.add(self.largest_first(chosen))
        yield from (Chain(chain, leaving=True) for chain in sorted(found) if len(chain) > 1)

    def room_chains(self) -> Iterator[Chain]:
        """Chains that move a whole-GPU task to a model that draws less, after other tasks have made room for it."""
        draw_mw = self.board.world.gpu_draw_mw
        busy_mw: list[int] = (draw_mw[:, GPU_MILLI] - draw_mw[:, 0]).tolist()
        wanted: dict[tuple[int, int], int] = {}  # one task per class and node
        for n, tasks in enumerate(self.on):
            wanted |= {(self.k[i], n): i for i in sorted(tasks, reverse=True) if self.kind[i] > 0}
        rooms: dict[int, list[Room]] = {}
        found: dict[tuple[int, int], list[tuple[int, tuple[int, ...]]]] = {}
        for (k, n), i in wanted.items():
            size, now_mw = self.kind[i], busy_mw[self.model[n]]
            if size not in rooms:
                every = (self.room_on(m, size, busy_mw[self.model[m]]) for m in range(len(self.on)))
                rooms[size] = sorted(room for room in every if room is not None)
            if (k, now_mw) not in found:
                found[k, now_mw] = list(self.best_rooms(i, rooms[size], now_mw))
            yield from (Chain((*leaving, i), True, to) for to, leaving in found[k, now_mw] if to != n)

    def room_on(self, n: int, size: int, busy_mw: int) -> Room | None:
        """The fewest tasks that must leave node `n` for `size` free GPUs; None if they are too many or too large."""
        missing, chosen = size - self.gpu_free[n], list[int]()
        if self.size[n] < size:
            return None
        if missing > 0:
            units = [(1, self.largest_first(tasks)) for tasks in self.sharing(n).values()]
            units += [(self.kind[i], (i,)) for i in sorted(self.on[n]) if self.kind[i] > 0]
            for gpus, tasks in sorted(units, key=lambda unit: (len(unit[1]) / unit[0], unit)):
                if missing > 0 and sum(self.request[i] for i in tasks) < size * GPU_MILLI:
                    chosen += tasks
                    missing -= gpus
        if missing > 0 or len(chosen) > MOST_EVICTED:
            return None
        cpu_left = self.cpu_left[n] + sum(self.cpu[i] for i in chosen)
        milli = sum(self.request[i] for i in chosen)
        return Room(busy_mw, len(chosen), milli, n, self.largest_first(chosen), cpu_left)

    def best_rooms(self, task: int, rooms: Sequence[Room], now_mw: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Per model that draws less, the nodes with the fewest moves; CPU-only tasks leave too where vCPU is short."""
        spec, tried = int(self.board.tasks[self.k[task]].gpu_models), dict[int, int]()
        for room in rooms:
            if room.busy_mw >= now_mw:
                return
            if tried.get(room.busy_mw, 0) >= NODES_TRIED or not allows(spec, self.model[room.node]):
                continue
            chosen, short = list(room.tasks), self.cpu[task] - room.cpu_left
            for i in sorted((i for i in self.on[room.node] if self.kind[i] < 0), key=lambda i: (-self.cpu[i], i)):
                if short > 0:
                    chosen.append(i)
                    short -= self.cpu[i]
            if short <= 0 and 0 < len(chosen) <= MOST_EVICTED:
                tried[room.busy_mw] = tried.get(room.busy_mw, 0) + 1
                yield room.node, self.largest_first(chosen)

"""How many nodes were sent to sleep within the last hour: the limit `per_hour` counts them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from wattpack.kube.objects import Node
from wattpack.kube.sleep.record import HOUR_S, sent_to_sleep


@dataclass
class Rate:
    """By this process's own clock, which does not jump, and by what the Nodes remember, which outlives a restart."""

    now_s: Callable[[], float]  # monotonic
    wall_s: Callable[[], float]
    sent_s: deque[float] = field(default_factory=deque)

    def count(self) -> None:
        """A node is sent to sleep now."""
        self.sent_s.append(self.now_s())

    def take_back(self) -> None:
        """The node counted last, or one like it, is not sent to sleep after all."""
        if self.sent_s:
            self.sent_s.pop()

    def used(self, nodes: Iterable[Node]) -> int:
        """Nodes sent to sleep within an hour by this process, or by any as the Nodes say: the larger number."""
        while self.sent_s and self.now_s() - self.sent_s[0] > HOUR_S:
            self.sent_s.popleft()
        wall_s = self.wall_s()
        return max(len(self.sent_s), sum(len(sent_to_sleep(node, wall_s)) for node in nodes))

"""Nodes awake as columns of the configuration LP: what a node gives while awake, and what it draws beyond sleep."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import UserError
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PowerProfile, draw_table_mw, unsettled_power_mw
from wattpack.optimise.bound.rows import Floats, Integers, socket_lines


@dataclass(frozen=True)
class Awake:
    """By group of nodes that are equal in everything: nodes of one type may differ in base power."""

    count: Integers  # nodes of the group
    gpus: Integers  # of one node
    gives: Floats  # [rows, groups]: coefficients of the capacity rows, whose limits are then 0
    cost_w: Floats  # of one node awake and empty beyond sleep, without the sockets that are always active
    asleep_w: float  # all nodes asleep


def awake_columns(
    datacenter: Datacenter, profile: PowerProfile, sleep_w: float, types: Any, limits: Floats, row_type: Integers
) -> Awake:
    """types: one empty node of each type; limits: of the capacity rows; row_type: the type of each row, -1 for none."""
    if isnan(sleep_w) or sleep_w < 0:
        raise UserError(f"sleep: {sleep_w:g} W, expected 0 or more")
    nodes: Any = datacenter.records(profile)
    draw_mw = draw_table_mw(datacenter.models, profile)
    groups = np.stack([nodes.type, nodes.base_mw], axis=1)
    _, first, count = np.unique(groups, axis=0, return_index=True, return_counts=True)
    of_type = nodes.type[first]
    idle_w = np.array([unsettled_power_mw(nodes[n], draw_mw) for n in first.tolist()]) / 1000
    asleep_w = np.minimum(np.rint(sleep_w * 1000) / 1000, idle_w)  # whole milliwatts, as in runs
    # The limits are those of all nodes of a type; one node awake gives its part of them.
    nodes_of_type = np.bincount(nodes.type, minlength=len(types))
    a_node = np.where(row_type >= 0, limits / nodes_of_type[row_type], 0.0)
    gives = np.where(row_type[:, None] == of_type[None, :], -a_node[:, None], 0.0)
    # The column of socket watts charges sockets that are active even when nothing is placed.
    always_w = np.array([max(at_zero for _, at_zero in socket_lines(node)) for node in types])
    return Awake(count, types.gpus[of_type], gives, idle_w - asleep_w - always_w[of_type], float(count @ asleep_w))


def row_types(types: Any, sizes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The type of each capacity row in the order of `capacity_rows` (-1: room in patterns), and of each socket line."""
    each = np.arange(len(types))
    of_line = np.repeat(each, [len(socket_lines(node)) for node in types])
    return np.concatenate([each, np.full(len(types) * sizes, -1), each, each, each, of_line]), of_line

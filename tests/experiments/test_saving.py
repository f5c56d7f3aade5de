"""What a saving is, in numbers that can be checked in the head; and whom it is against."""

import numpy as np
import pytest

from wattpack.datasets.sources import load_datacenter
from wattpack.errors import UserError
from wattpack.experiments.saving import DEFAULT_AGAINST, OWN_CLUSTER_AGAINST, in_files, saved
from wattpack.experiments.spec.chosen import chosen_against


def test_a_saving_is_of_watts_per_gpu_served() -> None:
    # 80 W for 8 GPUs are 10 W each, 120 W for 10 GPUs 12 W each: 1 - 10 / 12.
    assert float(saved(80, 8, 120, 10)) == pytest.approx(1 / 6)
    assert float(saved(60, 5, 120, 10)) == 0.0  # half of the work with half of the watts saves nothing


def test_where_both_serve_alike_it_is_the_papers_to_the_last_digit() -> None:
    own, other = np.array([0.1, 123.456, 7e5]), np.array([0.3, 130.7, 9.1e5])
    assert np.array_equal(saved(own, 0.7, other, 0.7), 1 - own / other)


@pytest.mark.parametrize("row", [(80, 0, 120, 10), (80, 8, 120, 0), (80, 8, 0, 10), (np.nan, 8, 120, 10)])
def test_where_one_serves_nothing_or_nothing_is_drawn_there_is_no_number(row: tuple[float, ...]) -> None:
    assert np.isnan(saved(*row))


def test_savings_are_against_fgd_or_whom_the_user_names_in_one_spelling_each_once() -> None:
    assert chosen_against(None, ["alibaba2023"]) == DEFAULT_AGAINST == ("fgd",)
    assert chosen_against(None, ["alibaba2023 --add 2xG2-8"]) == DEFAULT_AGAINST
    assert chosen_against(None, ["nodes.csv"]) == OWN_CLUSTER_AGAINST == ("kube", "fgd")
    assert chosen_against(None, [load_datacenter("alibaba2023")]) == OWN_CLUSTER_AGAINST
    assert chosen_against(["Kube", "FGD", "kube"], ["nodes.csv"]) == ("kube", "fgd")
    with pytest.raises(UserError, match="'nosuch'"):
        chosen_against("nosuch", ["alibaba2023"])


def test_files_keep_fgd_where_nobody_is_named() -> None:
    assert in_files(DEFAULT_AGAINST) == in_files(OWN_CLUSTER_AGAINST) == "fgd"
    assert in_files(("bestfit", "fgd")) == "bestfit"

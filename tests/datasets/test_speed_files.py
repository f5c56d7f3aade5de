"""Speeds of GPU models: the built-in table and files of one's own."""

from pathlib import Path

import numpy as np
import pytest

from wattpack.datasets.sources import load_datacenter
from wattpack.datasets.speed_files import load_speeds, mean_speed, speeds_by_model
from wattpack.errors import UserError


def test_typical_knows_the_models_of_the_built_in_datacenters() -> None:
    for name in ("alibaba2023", "alibaba2026"):
        datacenter = load_datacenter(name)
        found = speeds_by_model(load_speeds("typical"), datacenter.models, "typical")
        assert (found > 0).all()
        assert found.min() <= mean_speed(datacenter, found) <= found.max()


def test_a_file_gives_the_speed_of_each_model_also_by_another_of_its_names(tmp_path: Path) -> None:
    file = tmp_path / "speeds.csv"
    file.write_text("model,speed,note\nT4,0.25,x\nH100-80GB-HBM3,1.9,y\n")
    found = speeds_by_model(load_speeds(file), ("", "T4", "NVIDIA-H100-80GB-HBM3"), str(file))
    np.testing.assert_array_equal(found, [1.0, 0.25, 1.9])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model,speed\nT4,0\n", "line 2, column speed: '0', expected a number above 0"),
        ("model,speed\nT4,fast\n", "line 2, column speed: 'fast'"),
        ("model,speed\nT4,1\nT4,2\n", "line 3, column model: 'T4', expected a GPU model, each once"),
        ("model,speed\n,1\n", "line 2, column model: ''"),
        ("model\nT4\n", "no column 'speed'"),
        ("model,speed\n", "no speeds, expected a header"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "speeds.csv"
    file.write_text(text)
    with pytest.raises(UserError) as fault:
        load_speeds(file)
    assert said in str(fault.value)

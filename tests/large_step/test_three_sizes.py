"""The table behind the book's one curve: what its sizes say of the theory, and entries drawn afresh."""

import json

import numpy as np
import pytest

from onestep_lib import one_step
from onestep_lib.experiment.sweeps import THREE_SIZES, stored_table, sweep_chunk, sweep_setting

NAMES = list(THREE_SIZES)


def scores(name):
    """Gaps of the stored changes of train and test to the theory, and their errors, shape (2, 9)."""
    row, theory = stored_table("three-sizes")["cases"][name], one_step(sweep_setting(THREE_SIZES[name]))
    values = np.stack([getattr(theory, loss)[1:] - getattr(theory, loss)[0] for loss in ("train", "test")])
    cells = [row["change"][loss] for loss in ("train", "test")]
    means = np.array([[cell["mean"] for cell in line] for line in cells])
    return means - values, np.array([[cell["se"] for cell in line] for line in cells]), values


def test_the_table_holds_the_cases_of_the_module():
    table = stored_table("three-sizes")
    assert list(table["cases"]) == NAMES
    assert "three-sizes" in table["command"]
    for name, row in table["cases"].items():
        assert {key: row[key] for key in THREE_SIZES[name]} == json.loads(json.dumps(THREE_SIZES[name]))


@pytest.mark.parametrize("name", NAMES)
def test_theory_and_network_agree(name, deviation):
    gaps, errors, _ = scores(name)
    z = gaps / errors
    print(
        f"{name}: rms z {np.sqrt(np.mean(z**2)):.2f}, largest {np.abs(z).max():.1f}, {np.abs(gaps).max():.3f}"
    )
    deviation("one_curve.one_step", f"three sizes, {name}", z, 0, 1)
    # 1/d is 0.02 at d = 50, and the theory keeps only its leading terms.
    assert np.all(np.abs(gaps) < 3 * errors + 0.75 / THREE_SIZES[name]["d"])


def test_entries_drawn_afresh_are_the_table_s():
    case, row = THREE_SIZES["d = 50"], stored_table("three-sizes")["cases"]["d = 50"]
    draws = np.concatenate([sweep_chunk(case | {"seed": 1071}, chunk) for chunk in range(3)])
    change = draws[:, :2, 1:] - draws[:, :2, :1]
    cells = [row["change"][loss] for loss in ("train", "test")]
    means, errors = (np.array([[cell[key] for cell in line] for line in cells]) for key in ("mean", "se"))
    own = change.std(axis=0, ddof=1) / np.sqrt(len(draws))
    assert np.max(np.abs(change.mean(axis=0) - means) / np.hypot(own, errors)) < 4
    np.testing.assert_allclose(own * np.sqrt(len(draws)), errors * np.sqrt(case["repeats"]), rtol=0.6)


@pytest.mark.slow
def test_a_chunk_of_the_table_can_be_repeated():
    """Chunk 0 alone has the table's mean within its own error, seed and order being the same."""
    case, row = THREE_SIZES["d = 150"], stored_table("three-sizes")["cases"]["d = 150"]
    draws = sweep_chunk(case, 0)
    change = draws[:, 1, 1:] - draws[:, 1, :1]
    means = [cell["mean"] for cell in row["change"]["test"]]
    assert np.max(np.abs(change.mean(axis=0) - means) / (change.std(axis=0, ddof=1) / np.sqrt(10))) < 5

"""The table behind the book's one curve: what its sizes say of the theory, and entries drawn afresh."""

import numpy as np
import pytest
from stored_numbers import stored_cells

from onestep_lib import one_step
from onestep_lib.experiment import spec_settings, stored_table

SETTINGS, TABLE = spec_settings("three_sizes"), stored_table("three_sizes")


def scores(name):
    """Gaps of the stored changes of train and test to the theory, and their errors, shape (2, 9)."""
    theory = one_step(SETTINGS[name])
    values = np.stack([getattr(theory, loss)[1:] - getattr(theory, loss)[0] for loss in ("train", "test")])
    means, errors = np.moveaxis([stored_cells(TABLE, name, loss) for loss in ("train", "test")], 1, 0)
    return means[:, 1:] - values, errors[:, 1:]


@pytest.mark.parametrize("name", SETTINGS)
def test_theory_and_network_agree(name, deviation):
    gaps, errors = scores(name)
    z = gaps / errors
    print(
        f"{name}: rms z {np.sqrt(np.mean(z**2)):.2f}, largest {np.abs(z).max():.1f}, {np.abs(gaps).max():.3f}"
    )
    deviation("one_curve.one_step", f"three sizes, {name}", z, 0, 1)
    # 1/d is 0.02 at d = 50, and the theory keeps only its leading terms.
    assert np.all(np.abs(gaps) < 3 * errors + 0.75 / SETTINGS[name].d)

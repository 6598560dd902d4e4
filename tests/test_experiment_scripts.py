"""The scripts of tests/experiments, at sizes that take no time."""

import numpy as np
from experiments import (
    baselines_of_ba,
    correlated_rows,
    cost_of_training,
    many_small_steps,
    staircase_settings,
    two_directions,
    vocabularies,
)

TINY = {"n": 40, "d": 20, "N": 30}


def test_many_small_steps():
    found = many_small_steps.run(count=3, repeats=2, total=3.0, **TINY)
    assert len(found) == 4
    assert len({losses.test for losses in found.values()}) == 4


def test_baselines_of_ba():
    network, theory, others = baselines_of_ba.run(repeats=2, **TINY)
    assert network.test.shape == theory.test.shape == (4,)
    assert others["oracle"].test < others["linear on both"].test


def test_vocabularies():
    for losses, theory in vocabularies.run(repeats=2, **TINY).values():
        assert abs(losses.test - theory.test) < 0.5 * theory.test


def test_correlated_rows():
    for losses, theory in correlated_rows.run(repeats=2, step=2.0, **TINY).values():
        assert losses.test.shape == (2,)
        assert abs(losses.test[0] - theory.test) < 0.5 * theory.test


def test_two_directions():
    seen, limit, plane = two_directions.run(repeats=2, n=60, d=20, N=30)
    assert seen.shape == (2, 2)
    assert limit[0] > limit[1] > 0
    assert np.isfinite(plane.mean).all()


def test_cost_of_training():
    costs = cost_of_training.run(repeats=2, decay=0.01, n=60, d=6, N=15)
    assert costs["training"].flops > costs["steps"].flops


def test_staircase_settings():
    found = staircase_settings.run(exponents=(0.1, 0.3), repeats=8, n=200, d=50, N=100)
    ends = []
    for network, theory, plateaus in found.values():
        assert network.test.shape == theory.test.shape == (2,)
        assert np.all(np.abs(network.test - theory.test) < 4 * network.test_se)
        assert np.all(np.abs(network.objective - theory.objective) < 4 * network.objective_se)
        ends.append([losses.test for losses in plateaus])
    (first, second), (other_first, other_second) = ends
    print(
        f"plateaus of setting 1: {first:.3f} {second:.3f}, of setting 2: {other_first:.3f} {other_second:.3f}"
    )
    assert np.isclose(first, second)
    assert np.isclose(first, other_first)
    assert other_second < 0.9 * other_first

"""The learned function in bins: exact cases and refusals."""

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from onestep_lib import Setting
from onestep_lib.experiment import learned_profile, profiles

EDGES = np.linspace(-2, 2, 9)


def test_a_linear_target_is_learned_exactly_by_linear_features(deviation):
    s = Setting(n=200, d=5, N=20, activation="identity", target=(0, 1), ridge=0.0)
    profile = learned_profile(s, np.random.default_rng(1), EDGES, repeats=3)
    # f(x) = z, and the mean of a Gaussian in a bin is a ratio of densities and masses.
    z = np.linspace(-2, 2, 400_001)
    density = np.exp(-(z**2) / 2)
    bins = np.minimum(np.digitize(z, EDGES) - 1, 7)
    means = np.bincount(bins, z * density) / np.bincount(bins, density)
    np.testing.assert_allclose(profile.mean, means, atol=0.03)
    deviation(
        "profiles.learned_profile", "linear target, means in sampled bins", profile.mean, means, scale=1
    )
    np.testing.assert_allclose(profile.centres, (EDGES[:-1] + EDGES[1:]) / 2)


def test_paths_share_their_draws_and_lead_the_shape():
    s = Setting(n=60, d=10, N=30, target=(0, 1, 0.5), ridge=[0.1, 1.0], step=[0.0, 2.0, 8.0])
    path = learned_profile(s, np.random.default_rng(2), EDGES, repeats=2, test_size=1000)
    single = s.replace(ridge=1.0, step=2.0)
    one = learned_profile(single, np.random.default_rng(2), EDGES, repeats=2, test_size=1000)
    assert path.mean.shape == path.se.shape == (3, 2, 8)
    np.testing.assert_allclose(one.mean, path.mean[1, 1], rtol=1e-10)


def test_blas_runs_on_one_thread(monkeypatch):
    seen = set()

    def features(*arguments):
        seen.update(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
        return original(*arguments)

    original = profiles.feature_matrix
    monkeypatch.setattr(profiles, "feature_matrix", features)
    s = Setting(n=60, d=10, N=30, target=(0, 1), ridge=0.1)
    with threadpool_limits(2, user_api="blas"):
        learned_profile(s, np.random.default_rng(2), EDGES, repeats=2, test_size=1000)
    assert seen == {1}

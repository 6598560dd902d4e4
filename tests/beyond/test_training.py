"""Training both layers: the gradient, the end, and the two ends of the bridge; what each method costs."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from onestep_lib import ConvergenceError, Setting, simulate
from onestep_lib.beyond import compare_costs, train_to_convergence
from onestep_lib.beyond.costs import ridge_flops, step_flops, training_flops
from onestep_lib.beyond.training import trained_losses, training_loss
from onestep_lib.experiment import (
    feature_matrix,
    first_layer_gradient,
    initial_network,
    ridge_path,
    sample_batch,
    sample_direction,
)
from onestep_lib.experiment.network import Network
from onestep_lib.experiment.simulation import Draws
from onestep_lib.schedules import Schedule

S = Setting(n=60, d=6, N=20, activation="softplus", target=(0, 1, 0.7), noise=0.3, ridge=0.01)


def problem(setting=S, seed=0):
    rng = np.random.default_rng(seed)
    X, y = sample_batch(setting, setting.n, sample_direction(setting.d, rng), rng)
    return initial_network(setting, rng), X, y


@pytest.mark.parametrize("activation", ["tanh", "softplus", "erf", "relu"])
def test_the_gradient_is_that_of_finite_differences(activation, deviation):
    network, X, y = problem(S.replace(activation=activation, n=15, N=4))
    start, shape = network.weights + 0.1, network.weights.shape
    point = np.concatenate([network.weights.ravel(), network.readout])

    def loss(flat, part):
        moved = Network(flat[:24].reshape(shape), flat[24:], network.activation)
        value, *gradient = training_loss(moved, start, X, y, 0.3, 0.2)
        return value if part is None else np.concatenate([one.ravel() for one in gradient])

    gap = check_grad(loss, lambda flat, part: loss(flat, 1), point, None, epsilon=1e-7)
    assert gap < 1e-5 * np.linalg.norm(loss(point, 1))
    # Half of the unpenalised loss is what the gradient step of a raw network goes down.
    _, of_weights, _ = training_loss(network, network.weights, X, y, 0.0, 0.0)
    np.testing.assert_allclose(-of_weights / 2, first_layer_gradient(network, X, y, "raw"), rtol=1e-10)
    deviation("training.training_loss", "finite differences", gap, 0, scale=np.linalg.norm(loss(point, 1)))


def test_the_end_is_stationary_and_its_readout_is_the_ridge_fit():
    network, X, y = problem()
    trained = train_to_convergence(network, X, y, 0.01, tolerance=1e-6)
    fit = ridge_path(feature_matrix(trained.weights, X, trained.activation), y, 0.01)
    np.testing.assert_allclose(trained.readout, fit.coefficients, atol=1e-3)
    assert trained.train == pytest.approx(float(fit.train), rel=1e-3)
    start = ridge_path(feature_matrix(network.weights, X, network.activation), y, 0.01)
    moved = np.sum((trained.weights - network.weights) ** 2)
    assert trained.loss < float(start.objective)
    assert trained.loss == pytest.approx(
        trained.train + 0.01 * trained.readout @ trained.readout + 0.01 / 20 * moved, rel=1e-10
    )


def test_gradient_descent_with_momentum_ends_there_too(deviation):
    """Another optimiser from the same start: heavy ball, 40 000 small steps."""
    network, X, y = problem(S.replace(n=30, N=6, d=4))
    trained = train_to_convergence(network, X, y, 0.05, 0.05, tolerance=1e-7)
    a = ridge_path(feature_matrix(network.weights, X, network.activation), y, 0.05).coefficients
    moved, speed = Network(network.weights, a, network.activation), [0.0, 0.0]
    for _ in range(8000):
        loss, of_weights, of_readout = training_loss(moved, network.weights, X, y, 0.05, 0.05)
        speed = [0.95 * v - 0.01 * g for v, g in zip(speed, (of_weights, of_readout), strict=True)]
        moved = Network(moved.weights + speed[0], moved.readout + speed[1], moved.activation)
    assert loss == pytest.approx(trained.loss, rel=1e-5)
    deviation("training.train_to_convergence", "heavy ball from the same start", loss, trained.loss)


def test_without_freedom_it_is_random_features():
    """A decay so large that the rows stay: the losses of the ridge fit, repeat by repeat."""
    (stiff,) = trained_losses(S, np.random.default_rng(3), 2, (1e7,), both=False, test_size=2000)
    fixed = simulate(S, np.random.default_rng(3), repeats=2, test_size=2000)
    np.testing.assert_allclose(stiff.draws, fixed.draws, rtol=1e-4)


def test_training_learns_what_random_features_cannot():
    s = S.replace(n=200, d=20, N=60, target=(0, 0, 1), noise=0.1)
    (trained,) = trained_losses(s, np.random.default_rng(5), 2, (1e-4,), test_size=2000, tolerance=1e-3)
    fixed = simulate(s, np.random.default_rng(5), repeats=2, test_size=2000)
    print(f"He_2: trained {trained.test:.3f}, random features {fixed.test:.3f}")
    assert trained.test < 0.6 * fixed.test


def test_both_batches_are_the_step_s_and_the_ridge_s():
    streams = Draws(S, np.random.default_rng(6))
    X, y = streams.data(both=True)
    assert X.shape == (120, 6)
    np.testing.assert_array_equal(y[60:], streams.ridge_batch[1])
    np.testing.assert_array_equal(X[:60], streams.gradient_batch()[0])
    assert Draws(S.replace(fresh=False), np.random.default_rng(6)).data(both=True)[1].size == 60


def test_what_does_not_converge_raises():
    network, X, y = problem()
    with pytest.raises(ConvergenceError, match="train_to_convergence did not converge .*more evaluations"):
        train_to_convergence(network, X, y, 0.01, most=3)
    with pytest.raises(ValueError, match="ridge must be > 0, got 0"):
        train_to_convergence(network, X, y, 0)
    flat = initial_network(S.replace(activation="sign"), np.random.default_rng(0))
    with pytest.raises(ValueError, match="activation must have a derivative"):
        train_to_convergence(flat, X, y, 0.1)
    with pytest.raises(ValueError, match="ridge must be one number for training"):
        trained_losses(S.replace(ridge=[0.1, 1]), np.random.default_rng(0))


def test_operations():
    s = Setting(n=10, d=5, N=20, step=1.0)
    assert step_flops(s) == 4 * 10 * 20 * 5
    assert step_flops(s.replace(step=0.0)) == 0
    assert step_flops(s.replace(updates=3)) == (12 + 2 * 2 + 2) * 1000
    assert step_flops(s.replace(updates=3, output="raw")) == 12 * 1000
    assert step_flops(s.replace(updates=Schedule([1, 1], "fresh", [10, 30]), output="raw")) == 16 * 1000
    assert training_flops(s, 7, 20) == 7 * 4 * 20 * 100 + ridge_flops(s.replace(n=20))


def test_costs_beside_the_losses():
    s = S.replace(step=5.0)
    costs = compare_costs(s, np.random.default_rng(7), 3, 0.01, test_size=2000)
    assert list(costs) == ["random features", "steps", "training"]
    network = simulate(s.replace(step=[0.0, 5.0]), np.random.default_rng(7), repeats=3, test_size=2000)
    np.testing.assert_allclose(costs["random features"].losses.draws, network.draws[:, :, 0], rtol=1e-9)
    np.testing.assert_allclose(costs["steps"].losses.draws, network.draws[:, :, 1], rtol=1e-9)
    assert costs["random features"].flops < costs["steps"].flops < costs["training"].flops
    assert all(cost.seconds > 0 for cost in costs.values())
    with pytest.raises(ValueError, match="setting must have one step size > 0 and one penalty"):
        compare_costs(S, np.random.default_rng(0))

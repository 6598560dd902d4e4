"""Equality, hashes, pickles and copies: of every public dataclass, and by kinds of fields."""

import copy
import dataclasses
import importlib
import inspect
import pickle
import pkgutil
from dataclasses import dataclass
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pytest
from explorer_example import linked

import onestep_lib
from onestep_lib import Activation, Losses, Setting, Target, random_features, simulate
from onestep_lib._values import by_value
from onestep_lib.activations import activation, target
from onestep_lib.beyond import gordon_saddle, loss_scatter, second_gradient, validation_losses
from onestep_lib.beyond.costs import Cost
from onestep_lib.beyond.cross_validation import Validation
from onestep_lib.beyond.finite_size import PredictedLosses
from onestep_lib.beyond.gordon import GordonSaddle
from onestep_lib.beyond.scatter import LossScatter
from onestep_lib.beyond.second_step import SecondGradient
from onestep_lib.beyond.training import TrainedNetwork
from onestep_lib.beyond.two_steps import TwoStepSpectrum
from onestep_lib.conventions import CONVENTIONS, Convention, PaperLosses, PaperProblem, losses_in, problem_in
from onestep_lib.experiment import (
    initial_network,
    learned_profile,
    measured_outliers,
    measured_weight_spectrum,
    ridge_path,
    step_portrait,
    take_steps,
)
from onestep_lib.experiment.network import Network
from onestep_lib.experiment.portraits import Portrait
from onestep_lib.experiment.profiles import Profile
from onestep_lib.experiment.ridge import RidgePath
from onestep_lib.experiment.steps import SteppedNetwork
from onestep_lib.figures import Bars, Dots, Explorer, HLine, Line, Panel, Readout, Slider, VLine
from onestep_lib.figures.plotting import Picture, picture
from onestep_lib.figures.series import Column, Mark, Series
from onestep_lib.figures.svg import Axis
from onestep_lib.hermite import hermite_series
from onestep_lib.initialisation import GivenRows, Vocabulary
from onestep_lib.large_step import spike_map, two_step_spectrum
from onestep_lib.large_step.batch_signed import SignedSpectrum, signed_covariance
from onestep_lib.large_step.batch_squared import SquaredResolvents, squared_resolvents
from onestep_lib.large_step.best_choice import Best, best_stepped_ridge
from onestep_lib.large_step.labels import LabelLaw, label_law
from onestep_lib.large_step.row_lengths import RowLengths, expected_lengths
from onestep_lib.large_step.stepped_model import SpikeMap
from onestep_lib.no_step import error_parts, feature_law, marchenko_pastur_means, resolvent_traces
from onestep_lib.no_step.decomposition import ErrorParts
from onestep_lib.no_step.edges import Averages, LawShape
from onestep_lib.no_step.gaussian_equivalence import Traces
from onestep_lib.no_step.laws import FeatureLaw, WeightLaw, weight_law
from onestep_lib.no_step.marchenko_pastur import MarchenkoPasturMeans
from onestep_lib.quadrature import gaussian_quadrature
from onestep_lib.schedules import Schedule
from onestep_lib.small_step import (
    finite_staircase,
    gradient_of,
    gradient_spike,
    label_moments,
    one_spike,
    second_direction,
    staircase_gain,
)
from onestep_lib.small_step.gradient import Gradient, LabelMoments, SecondDirection, Spike
from onestep_lib.small_step.outliers import Outliers
from onestep_lib.small_step.spiked_noise import OneSpike
from onestep_lib.small_step.stairs import Gain
from onestep_lib.small_step.weights import WeightSpectrum
from onestep_lib.spiked_features import SpikedModel, feature_means, kappa_grid, solve_spiked, target_means
from onestep_lib.spiked_features.conditional_means import FeatureMeans, TargetMeans
from onestep_lib.spiked_features.fixed_point import FixedPoint, Sweep
from onestep_lib.spiked_features.inner_average import InnerPanels, inner_panels
from onestep_lib.spiked_features.kappa import KappaGrid
from onestep_lib.spiked_features.model import BulkCovariance, GroupTable, SpikedTable, isotropic_covariance
from onestep_lib.spiked_features.second_moments import SpikedSolution
from onestep_lib.two_index import TwoIndexTarget


def setting(**changes):
    fields = {"n": 40, "d": 20, "N": 30, "activation": "centred relu", "target": (0, 1, 0.5), "noise": 0.3}
    return Setting(**fields | {"ridge": (0.1, 1.0), "step": (0.0, 1.0)} | changes)


def rng():
    return np.random.default_rng(5)


def stepped():
    X, y = rng().standard_normal((40, 20)), rng().standard_normal(40)
    return next(take_steps(initial_network(setting(), rng()), X, y, 2.0))


def spiked():
    return SpikedModel(activation("tanh"), [1.0, -0.5], [0.4, 0.6], target((0, 1, 0.5)), 0.7, 0.3)


def one_spiked():
    return SpikedModel(activation("tanh"), [1.0], [1.0], target((0, 1, 0.5)), 0.7, 0.3, row_variance=0)


def drawn():
    fig, ax = plt.subplots(figsize=(1, 1))
    ax.plot([0, 1])
    return picture(fig, alt="A line.")


def numbers(*shape):
    return rng().standard_normal(shape)


# A way to make one of each class; called twice, it makes two equal objects that share nothing they need not.
EXAMPLES = {
    Best: lambda: best_stepped_ridge(setting(), partial(finite_staircase, level=1)),
    Validation: lambda: validation_losses(setting(), count=2),
    Activation: lambda: activation("centred relu"),
    Averages: lambda: Averages(numbers(3), numbers(3), numbers(3), numbers(3)),
    Axis: lambda: linked().panels[0].y_axis,
    Bars: lambda: Bars([0.0, 1.0, 2.0], numbers(2)),
    SquaredResolvents: lambda: squared_resolvents(target("tanh"), 0.3, 2.0, np.array([0.1, 1.0])),
    BulkCovariance: lambda: isotropic_covariance(2),
    MarchenkoPasturMeans: lambda: marchenko_pastur_means(np.array([0.5, 2.0]), 1.5),
    LawShape: lambda: LawShape(0.2, 2.0, 1.3),
    Column: lambda: Column(np.arange(6).reshape(2, 3), (0,)),
    Cost: lambda: Cost(Losses(0.1, 0.3, 0.2), 1e6, 0.5),
    Convention: lambda: pickle.loads(pickle.dumps(CONVENTIONS["cui"])),
    Dots: lambda: Dots(numbers(3), numbers(3), [0.1, 0.2, 0.3]),
    Explorer: linked,
    FeatureLaw: lambda: feature_law(setting(step=0.0)),
    FeatureMeans: lambda: feature_means(activation("tanh"), np.array([1.0]), np.array([-1.0, 0.5])),
    GroupTable: lambda: spiked().table.features,
    GivenRows: lambda: GivenRows(numbers(3, 2)),
    Gain: lambda: staircase_gain(setting(step=0.0), 1),
    Gradient: lambda: gradient_of(setting()),
    HLine: lambda: HLine(0.5),
    InnerPanels: lambda: inner_panels([0.0], np.array([-1.0, 0.5]), 1.0, 32),
    KappaGrid: kappa_grid,
    LabelLaw: lambda: label_law(target("tanh"), 0.0),
    LabelMoments: lambda: label_moments(target("tanh"), 0.3),
    Line: lambda: Line(numbers(3), np.array([1.0, np.nan, 2.0])),
    Losses: lambda: simulate(setting(), rng(), repeats=2, test_size=10),
    Mark: lambda: linked()._marks[0][0],
    Network: lambda: initial_network(setting(), rng()),
    Outliers: lambda: measured_outliers(numbers(6, 5), numbers(6), 2, 1),
    Panel: lambda: linked().panels[0],
    PaperLosses: lambda: losses_in("ba", random_features(setting(step=0.0)), setting(output="scaled")),
    PaperProblem: lambda: problem_in("ba", setting(output="scaled")),
    Picture: drawn,
    Portrait: lambda: step_portrait(setting(step=[1.0, 2.0], ridge=0.1), rng(), [-9.0, 0.0, 9.0], 2, 50),
    LossScatter: lambda: loss_scatter(spiked(), 40, 20, 30, 0.1),
    PredictedLosses: lambda: PredictedLosses(Losses(0.1, 0.3, 0.2), np.full((4, 3), 0.01)),
    Profile: lambda: learned_profile(setting(), rng(), [-9.0, 0.0, 9.0], 2, 50),
    Readout: lambda: linked().readouts[2],
    Traces: lambda: resolvent_traces(0.5, 0.7, [0.1, 1.0], 0.3, 0.1),
    ErrorParts: lambda: error_parts(0.5, 0.7, [0.1, 1.0], 0.3, 0.1, 1.0, 0.5),
    RidgePath: lambda: ridge_path(numbers(6, 5), numbers(6), [0.1, 1.0]),
    RowLengths: lambda: expected_lengths(setting()),
    SecondDirection: lambda: second_direction(setting()),
    TwoStepSpectrum: lambda: two_step_spectrum(setting(output="scaled", step=1.0, activation="tanh"), 2.0),
    SecondGradient: lambda: second_gradient(setting(output="scaled", step=1.0, activation="tanh")),
    Schedule: lambda: Schedule([0.5, 0.2], "fresh", [30, 40]),
    Series: lambda: Series(label="theory", colour="blue"),
    Setting: setting,
    SignedSpectrum: lambda: SignedSpectrum(*numbers(7, 4)),
    Slider: lambda: Slider("ridge", [0.1, 1.0]),
    OneSpike: lambda: one_spike(2.0, 0.5),
    Spike: lambda: gradient_spike(setting()),
    SpikeMap: lambda: spike_map(setting(readout="signs"), 3.0),
    SpikedModel: spiked,
    FixedPoint: lambda: solve_spiked(spiked(), 0.5, 0.7, 0.1).point,
    GordonSaddle: lambda: gordon_saddle(one_spiked(), 0.5, 0.7, 0.1),
    SpikedSolution: lambda: solve_spiked(spiked(), 0.5, 0.7, 0.1),
    SpikedTable: lambda: spiked().table,
    SteppedNetwork: stepped,
    Sweep: lambda: Sweep(*(numbers(2, 2) for _ in dataclasses.fields(Sweep))),
    Target: lambda: target((0, 1, 0.5)),
    TargetMeans: lambda: target_means(target("tanh"), np.array([-1.0, 0.5]), 0.7, 0.3),
    TrainedNetwork: lambda: TrainedNetwork(numbers(3, 2), numbers(3), activation("tanh"), 0.1, 0.2, 7),
    TwoIndexTarget: lambda: TwoIndexTarget(np.multiply, "kappa z", [0.0]),
    Vocabulary: lambda: Vocabulary((1, -2), (0.8, 0.2)),
    VLine: lambda: VLine([0.5, 1.0], sliders="ridge"),
    WeightLaw: lambda: weight_law(setting()),
    # Its threshold is nan.
    WeightSpectrum: lambda: measured_weight_spectrum(stepped(), np.eye(20)[0]),
}


def modules():
    found = pkgutil.walk_packages(onestep_lib.__path__, "onestep_lib.")
    return [importlib.import_module(info.name) for info in found if not info.name.endswith("__main__")]


def public_dataclasses():
    exported = [getattr(module, name) for module in modules() for name in getattr(module, "__all__", ())]
    classes = {item for item in exported if inspect.isclass(item) and dataclasses.is_dataclass(item)}
    return {cls for cls in classes if not inspect.isabstract(cls)}


def test_every_public_dataclass_has_an_example():
    assert public_dataclasses() == set(EXAMPLES)


def holds_what_can_change(value):
    """Whether an array, a list or a dict is in a value; a function counts as one thing."""
    if isinstance(value, tuple):
        return any(map(holds_what_can_change, value))
    if dataclasses.is_dataclass(value):
        return any(holds_what_can_change(getattr(value, f.name)) for f in dataclasses.fields(value))
    return isinstance(value, np.ndarray | list | dict)


def warm(example):
    """Ask for everything that an object keeps."""
    cached = [
        name
        for cls in type(example).__mro__
        for name, entry in vars(cls).items()
        if type(entry).__name__ == "cached_property"
    ]
    for name in cached:
        getattr(example, name)
    if not holds_what_can_change(example):
        hash(example)
    return cached


each_class = pytest.mark.parametrize("cls", EXAMPLES, ids=lambda cls: f"{cls.__module__}.{cls.__name__}")


@each_class
def test_equal_values_are_equal(cls):
    example, twin = EXAMPLES[cls](), EXAMPLES[cls]()
    assert type(example) is cls
    warm(example)
    assert (example == twin) is (twin == example) is True
    assert (example != twin) is False
    assert twin in [None, example]
    assert [example, None].index(twin) == 0
    for other in (None, 0, "x", np.ones(3), object(), dataclasses.astuple(Spike(1.0, 0.5))):
        assert not np.any(example == other)
    assert (example == Box(1)) is False


@each_class
def test_every_field_counts(cls):
    example = EXAMPLES[cls]()
    for field in dataclasses.fields(cls):
        changed = copy.copy(example)
        object.__setattr__(changed, field.name, "another value")
        assert (changed == example) is (example == changed) is (not field.compare)
        value = getattr(example, field.name)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size and field.compare:
            value = value.copy()
            value.flat[-1] = np.nextafter(value.flat[-1], np.inf) if np.isfinite(value.flat[-1]) else 7.0
            object.__setattr__(changed, field.name, value)
            assert (changed == example) is False


@each_class
def test_a_hash_where_nothing_can_change(cls):
    example, twin = EXAMPLES[cls](), EXAMPLES[cls]()
    if holds_what_can_change(example):
        with pytest.raises(TypeError, match=f"a {cls.__name__} that holds an array, a list or a dict has no"):
            hash(example)
    else:
        assert hash(example) == hash(twin)
        assert {example: 1}[twin] == 1
        assert len({example, twin}) == 1


@each_class
@pytest.mark.parametrize(
    "copied",
    [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy, dataclasses.replace],
    ids=["pickle", "copy", "deepcopy", "replace"],
)
def test_copies_are_equal_and_carry_the_fields_alone(cls, copied):
    example = EXAMPLES[cls]()
    cached = warm(example)
    found = copied(example)
    assert found is not example
    assert found == example
    assert "_hash" not in vars(found)
    if copied is not dataclasses.replace:
        assert set(vars(found)) == {field.name for field in dataclasses.fields(cls)}
    for name in cached:
        value, expected = getattr(found, name), getattr(example, name)
        assert np.array_equal(value, expected) if isinstance(value, np.ndarray) else value == expected


@by_value
@dataclass(frozen=True)
class Box:
    value: object


EQUAL = {
    "arrays": (np.array([1.0, 2.0]), np.array([1.0, 2.0])),
    "whole numbers": (np.array([1, 2]), np.array([1.0, 2.0])),
    "nan": (np.array([1.0, np.nan]), np.array([1.0, np.nan])),
    "complex nan": (np.array([1j * np.nan]), np.array([1j * np.nan])),
    "infinities": (np.array([np.inf, -np.inf]), np.array([np.inf, -np.inf])),
    "signed zeros": (np.array([0.0]), np.array([-0.0])),
    "one nan": (float("nan"), np.float64("nan")),
    "no numbers": (np.empty((0, 3)), np.empty((0, 3))),
    "a scalar array": (np.array(1.0), 1.0),
    "a list": ([1.0, 2.0], np.array([1.0, 2.0])),
    "a list of lists": (np.eye(2), [[1, 0], [0, 1]]),
    "a list and a tuple": ([1, 2], (1, 2)),
    "arrays in a list": ([np.ones(2), None], [np.ones(2), None]),
    "texts": (np.array(["a", "b"]), np.array(["a", "b"])),
    "objects": (np.array([np.ones(2), "a"], dtype=object), np.array([np.ones(2), "a"], dtype=object)),
    "a dict": ({"a": np.ones(2)}, {"a": np.ones(2)}),
    "partial": (partial(hermite_series, (0.0, 1.0)), partial(hermite_series, (0.0, 1.0))),
    "named arguments": (partial(np.add, out=None, where=True), partial(np.add, where=True, out=None)),
    "partial of a partial": (partial(partial(max, 1), 2), partial(partial(max, 1), 2)),
}
DIFFERENT = {
    "values": (np.array([1.0, 2.0]), np.array([1.0, 3.0])),
    "places of nan": (np.array([1.0, np.nan]), np.array([np.nan, 1.0])),
    "nan and a number": (np.array([np.nan]), np.array([1.0])),
    "shapes": (np.ones(2), np.ones(3)),
    "shapes that broadcast": (np.ones((2, 2)), np.ones(2)),
    "no numbers": (np.empty((0, 3)), np.empty((3, 0))),
    "a number": (np.ones(1), 1.0),
    "None": (np.ones(2), None),
    "texts": (np.array(["a", "b"]), np.array(["a", "c"])),
    "texts and numbers": (np.array(["1"]), np.array([1.0])),
    "lists": ([1, 2], [1, 2, 3]),
    "a list and its text": ([1, 2], "[1, 2]"),
    "keys": ({"a": 1}, {"b": 1}),
    "functions": (lambda x: x, lambda x: x),
    "arguments": (partial(hermite_series, (0.0, 1.0)), partial(hermite_series, (0.0, 2.0))),
    "argument names": (partial(max, key=abs), partial(max, default=abs)),
    "a partial and its function": (partial(np.tanh), np.tanh),
    # They may change, and a cache would not see it.
    "arguments that can change": (partial(hermite_series, np.ones(2)), partial(hermite_series, np.ones(2))),
}


@pytest.mark.parametrize("name", EQUAL)
def test_fields_of_equal_value(name):
    a, b = map(Box, EQUAL[name])
    assert (a == b) is (b == a) is True
    try:
        hashes = hash(a), hash(b)
    except TypeError:
        return
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize("name", DIFFERENT)
def test_fields_of_different_value(name):
    a, b = map(Box, DIFFERENT[name])
    assert (a == b) is (b == a) is False
    assert (a != b) is True


def test_an_object_of_another_class_is_different():
    network = stepped()
    bare = Network(network.weights, network.readout, network.activation)
    assert bare != network
    assert network != bare


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"activation": "centred softplus", "target": "sign"},
        {"activation": np.tanh, "target": np.sin},
        {"activation": Activation("shifted", partial(np.add, 1.0), (), np.ones_like)},
        {"target": partial(hermite_series, (0.0, 1.0, 0.25))},
    ],
    ids=["series", "named", "callable", "partial", "partial series"],
)
def test_a_setting_is_a_key_also_after_a_journey(changes):
    s = setting(**changes)
    kept = {s: "answer"}
    for copied in (pickle.loads(pickle.dumps(s)), copy.copy(s), copy.deepcopy(s), s.replace(noise=s.noise)):
        assert copied == s
        assert kept[copied] == "answer"
        assert copied.activation.nonlinear_power == s.activation.nonlinear_power
    assert setting(**changes) in kept
    assert s.replace(noise=0.31) not in kept


def test_a_lambda_is_equal_to_itself_alone():
    def line(x):
        return 2 * x

    assert setting(activation=line, target=line) == setting(activation=line, target=line)
    assert copy.deepcopy(setting(target=line)) == setting(target=line)
    assert setting(target=line) != setting(target=lambda x: 2 * x)


def test_a_target_whose_array_changed_is_not_taken_for_the_old_one():
    slope, power = np.array([1.0]), 0.3**2

    def growth():
        # Of the rows, in proportion to E y^2 for labels of mean 0; kept by target.
        return expected_lengths(setting(activation="tanh", target=partial(np.multiply, slope))).mean[2]

    before = growth()
    slope[0] = 3.0
    assert growth() / before == pytest.approx((9 + power) / (1 + power), rel=1e-12)


def test_repeated_simulations_are_equal():
    one, two, other = (simulate(setting(), np.random.default_rng(k), 2, test_size=10) for k in (1, 1, 2))
    assert one == two
    assert one != other
    assert one != dataclasses.replace(one, draws=None)


def test_a_loss_and_its_error_by_name():
    losses = simulate(setting(), rng(), repeats=2, test_size=10)
    for name in ("train", "test", "objective"):
        mean, se = losses[name]
        assert mean is getattr(losses, name)
        assert se is getattr(losses, f"{name}_se")
    assert random_features(setting(step=0.0, ridge=0.1))["test"][1] == 0.0
    for name in ("loss", "test_se", 0, None, ["test"]):
        with pytest.raises(ValueError, match="name must be one of 'train', 'test', 'objective', got"):
            losses[name]
    with pytest.raises(ValueError, match="name must be one of"):
        list(losses)


def write(array):
    array[...] = 7.0


HANDED_OUT = {
    "gaussian_quadrature": lambda: gaussian_quadrature((0.5,))[0],
    "expected_lengths": lambda: expected_lengths(setting()).mean,
    "expected_lengths, covariance": lambda: expected_lengths(setting()).covariance,
    "signed_covariance": lambda: signed_covariance(target("tanh"), 0.3, 2.0, [0.0], [0.1]).weights,
    "SpikedModel": lambda: spiked().spikes,
    "SpikedModel, scales": lambda: spiked().scales,
    "SpikedModel, table": lambda: spiked().table.columns,
    "SpikedModel, grid": lambda: spiked().table.grid.nodes,
    "SpikedModel, features": lambda: spiked().table.features.moments,
}


@pytest.mark.parametrize("name", HANDED_OUT)
def test_what_a_cache_hands_out_is_read_only(name):
    with pytest.raises(ValueError, match="read-only"):
        write(HANDED_OUT[name]())


@pytest.mark.parametrize("theory", [random_features, lambda s: staircase_gain(s, 1)])
def test_a_result_is_its_callers_own(theory):
    s = setting(step=0.0)
    found, expected = theory(s), copy.deepcopy(theory(s))
    write(found.test)
    write(found.objective)
    assert theory(s) == expected


def test_a_model_keeps_what_it_was_given():
    spikes, fractions, scales = np.array([1.0, -0.5]), np.array([0.4, 0.6]), np.array([1.0, 1.2])
    bulk = isotropic_covariance(2)
    model = SpikedModel(activation("tanh"), spikes, fractions, target("tanh"), scales=scales, bulk=bulk)
    before = solve_spiked(model, 0.5, 0.7, 0.1)
    for array in (spikes, fractions, scales, bulk.scales):
        write(array)
    assert solve_spiked(model, 0.5, 0.7, 0.1) == before
    assert solve_spiked(copy.deepcopy(model), 0.5, 0.7, 0.1) == before

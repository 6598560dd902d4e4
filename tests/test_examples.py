"""The examples in the docstrings: every public function has one, and each prints what it says."""

import doctest
import importlib
import inspect
import pkgutil

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import onestep_lib

MODULES = sorted(info.name for info in pkgutil.walk_packages(onestep_lib.__path__, "onestep_lib."))
# NumPy's defaults, whatever an earlier test has set.
PRINTED = {
    "precision": 8, "threshold": 1000, "edgeitems": 3, "linewidth": 75, "suppress": False,
    "nanstr": "nan", "infstr": "inf", "sign": "-", "floatmode": "maxprec", "formatter": None, "legacy": False,
}  # fmt: skip


def public_functions() -> dict[str, object]:
    """What the library's modules hand out, by the full names."""
    found = {}
    for module in map(importlib.import_module, MODULES):
        for name in getattr(module, "__all__", ()):
            defined = getattr(module, name)
            if inspect.isfunction(defined) and defined.__module__.startswith("onestep_lib"):
                found[f"{defined.__module__}.{name}"] = defined
    return found


def test_every_public_function_has_an_example():
    functions = public_functions()
    assert len(functions) > 60
    lacking = [name for name, function in functions.items() if ">>>" not in (function.__doc__ or "")]
    assert not lacking, "no example in the docstring of " + ", ".join(sorted(lacking))


@pytest.fixture
def _undrawn():
    """What examples draw is closed, and what they set is undone."""
    with matplotlib.rc_context():
        yield
    plt.close("all")


@pytest.mark.usefixtures("_undrawn")
@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_say(name):
    # No names but those that the example imports, as for a reader who copies it.
    examples = doctest.DocTestFinder().find(importlib.import_module(name), globs={})
    runner, report = doctest.DocTestRunner(verbose=False, optionflags=0), []
    with np.printoptions(**PRINTED):
        for example in examples:
            runner.run(example, out=report.append)
    assert runner.failures == 0, "".join(report)

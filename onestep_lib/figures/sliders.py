"""Sliders that stop at given values, and tables of a function over all their positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import (
    as_floats,
    check_callable,
    check_choice,
    check_items,
    check_number,
    check_text,
    check_vector,
    shown,
)
from onestep_lib.figures.svg import number_text

__all__ = [
    "Slider",
    "tabulate",
]


@dataclass(frozen=True, eq=False)
class Slider:
    """A slider that stops at given values.

    Parameters
    ----------
    name : str
        The name by which series and read-outs say that they follow it; for `live`, the name of
        the argument.
    values : sequence of float or of str
        Where it stops, in order.
    label : str
        What the reader sees, by default the name. Symbols in Unicode: "penalty λ".
    initial : float or str, optional
        First position, one of `values` (of numbers, the nearest); by default the middle one.
    format : str
        How a number is written, as for `str.format`.

    Examples
    --------
    >>> from onestep_lib.figures import Slider
    >>> ridge = Slider("ridge", [0.01, 0.1, 1, 10], label="penalty λ", initial=0.1)
    >>> ridge.texts, ridge.start
    (['0.01', '0.1', '1', '10'], 1)
    """

    name: str
    values: Sequence[float] | Sequence[str] | np.ndarray
    label: str = ""
    initial: float | str | None = None
    format: str = "{:.3g}"

    def __post_init__(self) -> None:
        for name in ("name", "label", "format"):
            check_text(name, getattr(self, name))
        if not isinstance(self.values, Sequence | np.ndarray) or len(self.values) < 2:
            raise ValueError(f"values must be two or more, got {shown(self.values)}")
        _ = self.start

    def __len__(self) -> int:
        return len(self.values)

    @property
    def start(self) -> int:
        """Index of the first position."""
        if isinstance(self.values[0], str):
            names = [check_text("values", value) for value in self.values]
            initial = names[len(self) // 2] if self.initial is None else self.initial
            return names.index(check_choice("initial", initial, names))
        values = check_vector("values", self.values)
        if self.initial is None:
            return len(self) // 2
        return int(np.argmin(np.abs(values - check_number("initial", self.initial))))

    @property
    def texts(self) -> list[str]:
        """Every value as the reader sees it."""
        return [value_text(value, self.format) for value in self.values]


def value_text(value: float | str, template: str) -> str:
    """A number by the template of its slider or read-out; a text stays as it is."""
    return value if isinstance(value, str) else number_text(value, template)


def tabulate(function: Callable[..., ArrayLike], *sliders: Slider) -> np.ndarray:
    """Values of a function at every position of the sliders.

    Parameters
    ----------
    function : callable
        Takes one value of each slider, in the order given; returns a number or an array.
    *sliders : Slider

    Returns
    -------
    ndarray of shape (len(slider_1), ..., *shape of one result)

    Examples
    --------
    >>> from onestep_lib.figures import Slider, tabulate
    >>> eta, ridge = Slider("eta", [0, 1, 2]), Slider("ridge", [0.5, 1])
    >>> tabulate(lambda eta, ridge: eta / ridge, eta, ridge)
    array([[0., 0.],
           [2., 1.],
           [4., 2.]])
    """
    check_callable("function", function)
    sliders = check_items("sliders", sliders, Slider)
    sizes = tuple(len(slider) for slider in sliders)
    results = []
    for position in np.ndindex(sizes):
        values = [slider.values[k] for slider, k in zip(sliders, position, strict=True)]
        results.append(as_floats("the values of function", function(*values), "numbers"))
    shapes = {result.shape for result in results}
    if len(shapes) > 1:
        raise ValueError(f"function must return one shape at all positions, got {sorted(shapes)}")
    return np.stack(results).reshape(sizes + results[0].shape)

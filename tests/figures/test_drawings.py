"""Drawings: what is named in them, that nothing lies outside, that no meaning rests on colour."""

import numpy as np
import pytest

from onestep_lib.figures import network_drawing, pipeline_drawing, shared_direction_drawing

KAPPA = np.linspace(-2, 2, 9)
HINGES = np.maximum(KAPPA - np.array([[-1.0], [0.0], [1.0]]), 0)
DRAWINGS = {
    "frozen": network_drawing,
    "stepped": lambda **size: network_drawing(stepped=True, **size),
    "pipeline": pipeline_drawing,
    "pipeline, step": lambda **size: pipeline_drawing(highlight="step", **size),
    "shared": lambda **size: shared_direction_drawing(KAPPA, HINGES, HINGES.sum(axis=0), **size),
}


def texts(drawn):
    return " ".join(text.get_text() for ax in drawn.axes for text in [*ax.texts, ax.title])


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
def test_every_word_lies_inside_and_none_on_another(draw):
    drawn = draw()
    drawn.canvas.draw()
    boxes = [
        text.get_window_extent() for ax in drawn.axes for text in [*ax.texts, ax.title] if text.get_text()
    ]
    width, height = drawn.canvas.get_width_height()
    for box in boxes:
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= width
        assert box.y1 <= height
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[k + 1 :])


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
def test_a_size_is_kept_and_the_ground_is_transparent(draw):
    drawn = draw(size=(4.0, 3.0))
    assert np.array_equal(drawn.get_size_inches(), (4.0, 3.0))
    assert drawn.get_facecolor()[3] == 0


def test_frozen_and_stepped_layers_differ_in_words_and_in_dashes():
    frozen, stepped = network_drawing().axes[0], network_drawing(stepped=True).axes[0]
    assert "frozen" in texts(frozen.figure)
    assert "frozen" not in texts(stepped.figure)
    assert frozen.lines[0].is_dashed()
    assert not stepped.lines[0].is_dashed()


def test_pipeline_names_batches_in_their_order():
    words = texts(pipeline_drawing())
    places = [words.index(name) for name in ("batch 1", "batch 2", "test samples")]
    assert places == sorted(places)


def test_one_stage_stands_out():
    colours = {
        text.get_text(): text.get_color() for text in pipeline_drawing(highlight="readout").axes[0].texts
    }
    (own,) = {c for text, c in colours.items() if text.startswith("batch 2")}
    assert all(c != own for text, c in colours.items() if text.startswith(("batch 1", "test")))


def test_the_callers_curves_are_drawn():
    *_, outputs, total = shared_direction_drawing(KAPPA, HINGES, HINGES.sum(axis=0)).axes
    assert np.array_equal([line.get_ydata() for line in outputs.lines], HINGES)
    assert np.array_equal(total.lines[0].get_xydata(), np.column_stack([KAPPA, HINGES.sum(axis=0)]))


def test_shapes_must_fit():
    with pytest.raises(ValueError, match="one value for each of the 9 points of kappa"):
        shared_direction_drawing(KAPPA, HINGES[:, :5], HINGES.sum(axis=0))

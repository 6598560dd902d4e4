"""The graders are tested: right answers, written differently, get every point; wrong ones are told why."""

import functools
import re

import matplotlib
import matplotlib.pyplot as plt
import pytest
import sheets

from book._tools import assignments, checks

matplotlib.use("Agg")
STATES: dict = {}
TASKS = [(name, task) for name in sheets.assignments() for task in sheets.tasks(name)]
ANSWERS = [(name, answer) for name in sheets.assignments() for answer in sheets.answers(name)]


def label(value: object) -> str:
    return f"{value.task}: {value.name}" if isinstance(value, sheets.Answer) else str(value)[:2]


@functools.cache
def full(name, task):
    return sheets.graded(name, task, sheets.own(name, task), STATES)[0]


@functools.cache
def scored(name, answer):
    """The points that an answer loses, and the messages that say why."""
    found, points = sheets.graded(name, answer.task, answer.code, STATES)
    right = full(name, answer.task)
    lost = sum(points[cell] * (1 - verdict.share(right[cell])) for cell, verdict in found.items())
    return lost, [verdict.message for verdict in found.values() if verdict.message]


def test_every_task_has_its_bank():
    kinds = {}
    for name, answer in ANSWERS:
        kinds.setdefault((name, answer.task), []).append(answer.kind)
    assert kinds == {task: ["right", "wrong", "wrong", "copied"] for task in TASKS}


@pytest.mark.parametrize(("name", "answer"), ANSWERS, ids=label)
def test_answer(name, answer):
    lost, messages = scored(name, answer)
    if answer.kind == "right":
        assert (lost, messages) == (0, [])
    else:
        assert lost > 0
        assert answer.message, "a wrong answer names the message that stops it"
        assert any(answer.message in message for message in messages), messages


@pytest.mark.parametrize(("name", "task"), TASKS, ids=str)
def test_a_mistake_that_is_named_costs_no_more_than_copying(name, task):
    """Else a student who makes it does better with the numbers of the example."""
    lost = {
        (answer.kind, answer.name): scored(name, answer)[0]
        for where, answer in ANSWERS
        if (where, answer.task) == (name, task)
    }
    copied = [cost for (kind, _), cost in lost.items() if kind == "copied"]
    assert all(cost <= min(copied) + 1e-9 for (kind, _), cost in lost.items() if kind == "wrong"), lost


def run_solved(name, seed):
    """Run a variant with the source's own answers; the tests that failed."""
    space, failed = {}, []
    for cell in sheets.code_cells(name, seed):
        if sheets.kind(cell) == "test":
            message = checks.check(cell.source, space).message
            failed += [f"{assignments.name(cell)}: {message}"] if message else []
        else:
            sheets.run(assignments.MARK.sub("", cell.source), space)
        plt.close("all")
    return failed


@pytest.mark.parametrize("name", sheets.assignments())
@pytest.mark.parametrize("seed", [None, "a"])
def test_own_answers_get_every_point(name, seed):
    assert run_solved(name, seed) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", sheets.assignments())
def test_no_draw_of_a_variant_fails_a_right_answer(name):
    """25 variants: the tolerances of four standard errors are as wide as they say."""
    failed = {seed: found for seed in range(25) if (found := run_solved(name, f"seed {seed}"))}
    assert not failed


@pytest.mark.parametrize("name", sheets.assignments())
def test_variants_are_drawn_from_the_seed_alone(name):
    texts = [[cell.source for cell in sheets.source(name, seed).cells] for seed in ("a", "a", "b", None)]
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]
    assert not any("# variant:" in cell for cells in texts for cell in cells)
    hidden = [re.findall(r"secret = np.random.default_rng\((\d+)\)", "\n".join(cells)) for cells in texts]
    assert len(hidden[0]) >= 3
    assert len(set(hidden[0] + hidden[2] + hidden[3])) == 3 * len(hidden[0]), (
        "hidden tests draw differently in each"
    )


@pytest.mark.parametrize("name", sheets.assignments())
def test_feedback_is_the_same_everywhere(name):
    text = (sheets.SOURCES / "feedback.py").read_text(encoding="utf-8").strip()
    assert sum(cell.source == text for cell in sheets.source(name).cells) == 1


def test_one_wrong_number_is_no_normalisation():
    space: dict = {}
    sheets.run("import numpy as np\n" + (sheets.SOURCES / "feedback.py").read_text(encoding="utf-8"), space)
    for found, right, words in (([2.0, 4.0], [1, 2], "2 times what"), (2.0, 1.0, "1. is expected")):
        with pytest.raises(AssertionError, match=words):
            space["compare"]("x", found, right, 1e-6)

"""The graders are tested: right answers, written differently, get every point; wrong ones are told why."""

import re

import matplotlib
import matplotlib.pyplot as plt
import pytest
import sheets

from book._tools import assignments, checks

matplotlib.use("Agg")
STATES: dict = {}
TASKS = [(name, task) for name in sheets.assignments() for task in sheets.tasks(name)]


@pytest.mark.parametrize(("name", "task"), TASKS, ids=str)
def test_answers_to_a_task(name, task):
    """Right ones get every point, wrong ones are told why, and a mistake that is named costs no more than
    copying the example: else a student who makes it does better with the numbers that are shown."""
    answers = [answer for answer in sheets.answers(name) if answer.task == task]
    assert [answer.kind for answer in answers] == ["right", "wrong", "wrong", "copied"]
    full, points = sheets.graded(name, task, sheets.own(name, task), STATES)
    lost = {}
    for answer in answers:
        found, _ = sheets.graded(name, task, answer.code, STATES)
        lost[answer.kind, answer.name] = sum(
            points[cell] * (1 - found[cell].share(full[cell])) for cell in found
        )
        messages = [verdict.message for verdict in found.values() if verdict.message]
        assert answer.message or answer.kind == "right", "a wrong answer names the message that stops it"
        told = not messages if answer.kind == "right" else any(answer.message in text for text in messages)
        assert told, (answer.name, messages)
    right, *wrong, copied = lost.values()
    assert right == 0, lost
    assert min(wrong) > 0, lost
    assert max(wrong) <= copied + 1e-9, lost


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

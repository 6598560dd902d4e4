"""The graders are tested: right answers, written differently, get every point; wrong ones are told why."""

import re

import matplotlib
import matplotlib.pyplot as plt
import pytest
import sheets

from book._tools import assignments

matplotlib.use("Agg")
STATES: dict = {}
TASKS = [(name, task) for name in sheets.assignments() for task in sheets.tasks(name)]
ANSWERS = [(name, answer) for name, task in TASKS for answer in sheets.answers(name, task)]


def label(value: object) -> str:
    return f"{value.task}: {value.name}" if isinstance(value, sheets.Answer) else str(value)[:2]


@pytest.mark.parametrize(("name", "task"), TASKS, ids=str)
def test_every_task_has_its_bank(name, task):
    found = sheets.answers(name, task)
    assert sum(answer.right for answer in found) >= 3
    assert sum(not answer.right for answer in found) >= 5
    assert all(answer.right or answer.message for answer in found), (
        "a wrong answer names the message that stops it"
    )


@pytest.mark.parametrize(("name", "answer"), ANSWERS, ids=label)
def test_answer(name, answer):
    namespace, tests = sheets.before(name, answer.task, STATES)
    messages = []
    try:
        sheets.run(answer.code, namespace)
    except Exception as error:
        messages.append(f"the cell itself: {error!r}")
    for test in tests:
        try:
            sheets.run(test, namespace)
        except AssertionError as error:
            messages.append(str(error))
        except Exception as error:
            messages.append(repr(error))
    if answer.right:
        assert not messages
    else:
        assert messages, "a wrong answer got every point"
        assert any(answer.message in message for message in messages), messages


def run_solved(name, seed):
    """Run a variant with the source's own answers; the tests that failed."""
    notebook, namespace, failed = assignments.variant(sheets.SOURCES / f"{name}.ipynb", seed), {}, []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            try:
                sheets.run(sheets.plain(cell.source), namespace)
            except Exception as error:
                failed.append(f"{cell.metadata.get('nbgrader', {}).get('grade_id')}: {error!r}")
            plt.close("all")
    return failed


@pytest.mark.parametrize("name", sheets.assignments())
@pytest.mark.parametrize("seed", [None, "a", "b"])
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
    path = sheets.SOURCES / f"{name}.ipynb"
    sources = [
        [cell.source for cell in assignments.variant(path, seed).cells] for seed in ("a", "a", "b", None)
    ]
    assert sources[0] == sources[1]
    assert sources[0] != sources[2]
    assert not any("# variant:" in cell for cells in sources for cell in cells)
    hidden = [re.findall(r"secret = np.random.default_rng\((\d+)\)", "\n".join(cells)) for cells in sources]
    assert len(hidden[0]) >= 3
    assert len(set(hidden[0] + hidden[2] + hidden[3])) == 3 * len(hidden[0]), (
        "hidden tests draw differently in each"
    )


@pytest.mark.parametrize("name", sheets.assignments())
def test_feedback_is_the_same_everywhere(name):
    text = (sheets.SOURCES / "feedback.py").read_text(encoding="utf-8").strip()
    cells = [cell.source for cell in assignments.variant(sheets.SOURCES / f"{name}.ipynb").cells]
    assert sum(cell == text for cell in cells) == 1
    assert all(text in cell for cell in cells if "BEGIN HIDDEN" in cell and "compare(" in cell)

"""The graders are tested: right answers, written differently, get every point; wrong ones are told why."""

import matplotlib
import pytest
import sheets

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
    assert all(answer.right or answer.message for answer in found), "a wrong answer names the message that stops it"


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

"""nbval compares what the chapters' checked cells print as words and numbers, see `book._tools.outputs`."""

from types import MethodType

import pytest
from nbformat import NotebookNode
from nbval.plugin import IPyNbCell

from book._tools.outputs import differences


def compare(cell: IPyNbCell, found: list[NotebookNode], stored: list[NotebookNode]) -> bool:
    cell.comparison_traceback = differences(stored, found)
    return not cell.comparison_traceback


def pytest_itemcollected(item: pytest.Item) -> None:
    if isinstance(item, IPyNbCell):
        item.compare_outputs = MethodType(compare, item)

"""Bars that unfold what a cell has printed say which table it is.

A page has up to six of them, and MyST-NB calls each "Show code cell outputs": in a list of the page's
buttons, as a screen reader gives it, all are alike. A cell may name its bar itself (`code_prompt_show`).
"""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

TABLE = re.compile(r"^(\S.*?) {2,}theory +simulation\b.*\n((?:.+\n)*?)largest gap", re.MULTILINE)
"""A table by `onestep_lib.figures.gap_table`: its title before the columns' names, and its rows."""
SUMMARY = re.compile(r"^(\S.*?): (\d+) numbers?, rms gap", re.MULTILINE)
"""A line by `onestep_lib.figures.gap_summary`: its title, and of how many rows it speaks."""


def connect(app: Sphinx) -> None:
    app.add_post_transform(NameBars)


def name(printed: str, before: str = "") -> str | None:
    """What a bar says of the tables behind it, or None if there are none.

    A table is called what a line above the bar, printed `before`, calls as many rows, if one line does.

    >>> name("overlap   theory  simulation  s.e.\\na         1.0    1.1         0.2\\nlargest gap: 0.5\\n")
    'table: overlap (1 row)'
    """
    lines = SUMMARY.findall(before)
    counts = [count for _, count in lines]
    told = {int(count): title for title, count in lines if counts.count(count) == 1}
    tables = [(title, rows.count("\n")) for title, rows in TABLE.findall(printed)]
    if not tables:
        return None
    count = sum(rows for _, rows in tables)
    titles = "; ".join(told.get(rows, title) for title, rows in tables)
    return f"{'table' if len(tables) == 1 else 'tables'}: {titles} ({count} row{'s' * (count > 1)})"


class NameBars(SphinxPostTransform):
    """Names for the bars over printed tables, before MyST-NB makes the bars."""

    default_priority = 198
    formats = ("html",)

    def run(self, **_: object) -> None:
        before = ""
        for cell in self.document.findall(nodes.container):
            if cell.get("nb_element") != "cell_code":
                continue
            printed = "".join(f"{block.astext()}\n" for block in cell.findall(nodes.literal_block))
            unnamed = cell.get("hide_mode") == "output" and "{type}" in cell["prompt_show"]
            if unnamed and (named := name(printed, before)):
                cell["prompt_show"], cell["prompt_hide"] = f"Show the {named}", f"Hide the {named}"
            before = printed

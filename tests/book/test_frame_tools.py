"""The book's tools: reading docstrings, repairing pages."""

import sys
from pathlib import Path

import pytest
from docutils import nodes
from docutils.utils import new_document

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "book" / "_ext"))

from onestep_book import docstrings, pages, repository, unfolding  # noqa: E402

from onestep_lib.figures.plotting import gap_summary, gap_table  # noqa: E402


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("the loss |y - F a|^2", r"the loss \|y - F a\|^2"),
        ("sigma_* and c_{*,1}", r"sigma\_\* and c\_{\*,1}"),
        (":math:`|a|_2` and ``c_*``", ":math:`|a|_2` and ``c_*``"),
        ("* ``train`` is |r|", r"* ``train`` is \|r\|"),
        ("**bold** and *word*", "**bold** and *word*"),
    ],
)
def test_docstring_signs_are_escaped_outside_markup(written, read):
    assert docstrings.escape([written]) == [read]


def test_docstring_maths_blocks_are_left_alone():
    block = [".. math::", "", "   |x|_* + a_", "", "then |x|"]
    assert docstrings.escape(block) == [*block[:-1], r"then \|x\|"]


def test_module_headings_become_rubrics():
    assert docstrings.headings_to_rubrics(["Functions", "---------", "a"]) == [
        ".. rubric:: Functions", "", "a",
    ]  # fmt: skip


def test_the_table_of_functions_becomes_a_list_of_links():
    read = docstrings.table_to_list(
        [
            ".. rubric:: Functions",
            "",
            "spike_level    the l",
            "spike_error, spike_norms  two",
            "    lines",
            "",
        ]
    )
    assert read[2:] == ["* `spike_level`: the l", "* `spike_error`, `spike_norms`: two", "  lines", ""]
    assert docstrings.escape([read[2]], "onestep_lib.small_step.spikes") == [
        "* :py:obj:`~onestep_lib.small_step.spikes.spike_level`: the l"
    ]  # fmt: skip
    assert docstrings.escape(
        ["as `onestep_lib.small_step.gradient.Spike`, or `level`"], "onestep_lib.small_step.spikes"
    ) == ["as :py:obj:`~onestep_lib.small_step.gradient.Spike`, or ``level``"]


def test_repairs_are_stable():
    page = '<summary><span class="toctree-toggle">x</span></summary><input autocorrect="off">'
    once = pages.repair(page)
    assert "aria-label" in once
    assert "autocorrect" not in once
    assert pages.repair(once) == once


def test_the_space_before_a_link_to_an_exercise_stands_before_it():
    title = '<p class="admonition-title">Solution to<a class="reference" href="#ex"> Exercise 3.1</a></p>'
    once = pages.repair(title)
    assert 'Solution to <a class="reference" href="#ex">Exercise 3.1</a>' in once
    assert pages.repair(once) == once


def test_a_bar_is_named_by_the_tables_behind_it():
    rows = [("train", 0.1, 0.102, 0.001), ("test", 0.5, 0.49, 0.02)]
    first, second = gap_table(rows, title="losses, step 3"), gap_table(rows[:1], title="overlap")
    assert unfolding.name(first + "\n") == "table: losses, step 3 (2 rows)"
    assert unfolding.name(second + "\n") == "table: overlap (1 row)"
    assert unfolding.name(f"{first}\n{second}\n") == "tables: losses, step 3; overlap (3 rows)"
    assert unfolding.name("1.0 2.0\n") is None
    line = gap_summary(rows, title="networks")
    assert unfolding.name(f"{first}\n{second}\n", line) == "tables: networks; overlap (3 rows)"
    alike = f"{line}\n{gap_summary(rows, title='surrogates')}"
    assert unfolding.name(first + "\n", alike) == "table: losses, step 3 (2 rows)"


def test_the_placeholder_is_recognised_and_nothing_else():
    assert repository.is_placeholder("https://github.com/your-account/one-gradient-step")
    assert repository.is_placeholder("")
    assert not repository.is_placeholder("https://github.com/some-lab/one-gradient-step")


def test_a_page_does_not_carry_the_environment_of_an_inner_document():
    page, inner = new_document("page"), new_document("inner")
    paragraph = nodes.paragraph("", "", nodes.Text("words"))
    inner += paragraph
    section = nodes.section("", paragraph)
    page += section
    assert paragraph.document is inner
    docstrings.drop_inner_documents(None, page)
    assert {id(node.document) for node in page.findall()} == {id(page)}


def test_the_licence_of_mathjax_lies_beside_it():
    licence = (ROOT / "book/_static/vendor/mathjax/LICENSE").read_text("utf-8")
    assert "Apache License" in licence
    assert "Version 2.0, January 2004" in licence

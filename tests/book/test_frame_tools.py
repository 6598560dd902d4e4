"""The book's extension: reading docstrings, where their source stands, the address."""

import sys
from pathlib import Path

import pytest
from docutils import nodes
from docutils.utils import new_document

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "book" / "_ext"))

from onestep_book import reference, repository  # noqa: E402

from onestep_lib.small_step import spikes  # noqa: E402


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
    assert reference.escape([written]) == [read]


def test_docstring_maths_blocks_are_left_alone():
    block = [".. math::", "", "   |x|_* + a_", "", "then |x|"]
    assert reference.escape(block) == [*block[:-1], r"then \|x\|"]


def test_module_headings_become_rubrics():
    assert reference.headings_to_rubrics(["Functions", "---------", "a"]) == [
        ".. rubric:: Functions", "", "a",
    ]  # fmt: skip


def test_names_in_backquotes_are_links_to_public_names_and_code_otherwise():
    public = spikes.__all__[0]
    lines = [f"as `{public}`, `onestep_lib.settings.Setting` or `level`"]
    assert reference.escape(lines, spikes) == [
        f"as :py:obj:`~{spikes.__name__}.{public}`, :py:obj:`~onestep_lib.settings.Setting` or ``level``"
    ]


def test_source_links_lead_to_a_file_that_defines_the_name():
    link = reference.source_link("py", {"module": "onestep_lib.settings", "fullname": "Setting"})
    assert link.endswith("_sources/onestep_lib/settings.py.txt#:~:text=class%20Setting")


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
    reference.drop_inner_documents(None, page)
    assert {id(node.document) for node in page.findall()} == {id(page)}

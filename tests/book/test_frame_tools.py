"""The book's extension: reading docstrings, where their source stands, the address."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "book" / "_ext"))

from onestep_book import reference, repository  # noqa: E402


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


def test_source_links_lead_to_a_file_that_defines_the_name():
    link = reference.source_link("py", {"module": "onestep_lib.settings", "fullname": "Setting"})
    assert link.endswith("_sources/onestep_lib/settings.py.txt#:~:text=class%20Setting")


def test_the_placeholder_is_recognised_and_nothing_else():
    assert repository.is_placeholder("https://github.com/your-account/one-gradient-step")
    assert repository.is_placeholder("")
    assert not repository.is_placeholder("https://github.com/some-lab/one-gradient-step")

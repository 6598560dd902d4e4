"""Slides: what of a chapter they show, and that they need no network."""

import nbformat
import pytest
from browser import chromium
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from book._tools import slides

CHAPTER = [
    new_markdown_cell(
        "# 1. A title\n\n**The question.** What is it? And why?\n\n**Predict** Which?\n\n- This.\n- That.\n\n"
        "<details><summary>The answer, with reasons</summary>\n\n- **Right:** This.\n\n</details>\n\n"
        "**The answer.** It is $1.5$. Always."
    ),
    new_code_cell(
        "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([0, 1]);",
        metadata={"jupyter": {"source_hidden": True}},
    ),
    new_markdown_cell("**Fig. 1.1** A line, of slope 1. It rises.\n\n**Ten minutes:** all of it."),
    new_markdown_cell("## A formula\n\nIt reads, at $x=0.5$,\n\n$$\nx^2 < x\n\\tag{1.1}\n$$\n\n"
        "| a | b |\n| --- | --- |\n| 1 | 2 |"),
    new_code_cell("import sys\nfrom math import (\n    pi,\n)"),
    new_code_cell("print(1 + 1)"),
    new_markdown_cell("## Exercises\n\n**Exercise 1.1** Much."),
    new_markdown_cell("### Check yourself\n\nMore."),
    new_markdown_cell("## Open question\n\nNone is known. Yet."),
]  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The slides of a chapter in a folder, and the list of them."""
    folder = tmp_path_factory.mktemp("slides")
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    path = folder / "01-a.ipynb"
    nbformat.write(new_notebook(cells=CHAPTER, metadata=kernel), path)
    slides.copy_assets(folder)
    return slides.make(path, folder), slides.cut(slides.run(path))


def test_a_slide_holds_the_gist_and_the_notes_hold_the_rest(made):
    title, answer, formula, code, last = made[1]
    assert [s.heading for s in made[1]] == ["1. A title"] * 2 + ["A formula"] * 2 + ["Open question"]
    shown = ["".join(s.shown) for s in made[1]]
    for k, text in (
        (0, "And why?"), (0, "<li>That.</li>"), (1, "Always."), (1, "<svg"),
        (2, "\\[x^2 &lt; x"), (2, "<table>"),
        (3, "print(1 + 1)"), (3, "<pre>2</pre>"),
    ):  # fmt: skip
        assert text in shown[k]
    assert "Right:" not in "".join(shown), "no answer is given away"
    for slide, text in ((title, "Right:"), (answer, "It rises"), (last, "Yet.")):
        assert text in "".join(slide.notes)
        assert text not in "".join(slide.shown)
    assert "import sys" not in "".join(shown)
    assert shown[4] == "<p>None is known.</p>\n"
    assert not any("Much" in text or "More" in text for s in (formula, code) for text in s.shown + s.notes)


@pytest.mark.parametrize(
    ("paragraph", "found"),
    [
        ("One. Two.", "One."),
        ("**Bold.** One. Two.", "**Bold.** One."),
        ("Chapter [5. Exact](05.ipynb) has it. More.", "Chapter [5. Exact](05.ipynb) has it."),
        ("With $a. B$ and `f. G` too. More.", "With $a. B$ and `f. G` too."),
        ("See Fig. 7.1, where it is. More.", "See Fig. 7.1, where it is."),
        ("no end", "no end"),
    ],
)
def test_the_gist_of_a_paragraph(paragraph, found):
    assert slides.gist(paragraph) == found


def test_a_full_slide_goes_on_with_the_same_heading():
    pages = [slides.Slide("A", 2)]
    for _ in range(10):
        slides.add(pages, "x", slides.FORMULA)
    assert [p.heading for p in pages] == ["A"] * 4
    assert max(p.used for p in pages) <= slides.ROOM


def test_names_of_two_pictures_do_not_meet():
    svg = '<?xml version="1.0"?><svg><g id="a"/><use href="#a"/><path clip-path="url(#a)"/></svg>'
    assert (
        slides.own_ids(svg, 3) == '<svg><g id="s3-a"/><use href="#s3-a"/><path clip-path="url(#s3-a)"/></svg>'
    )


def test_they_need_no_network_and_set_their_formulas(made):
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1200, "height": 720})
        faults = []
        page.on("requestfailed", lambda request: faults.append(request.url))
        page.on("request", lambda request: request.url.startswith("file:") or faults.append(request.url))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(made[0].as_uri() + "#/2")
        page.wait_for_selector("mjx-container svg")
        assert page.evaluate("Reveal.getTotalSlides()") == 5
        assert page.locator("section.present h2").inner_text() == "A formula"
        assert not faults


def test_an_unknown_chapter_is_named(capsys):
    assert slides.main(["99-none"]) == 2
    assert "01-the-question" in capsys.readouterr().out

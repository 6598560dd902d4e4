"""The slides of each chapter: few words, and nothing that a screen cuts."""

import pytest
from pages import CHAPTERS, SLIDES
from visits import AXE, violations

WORDS, WIDTH, HEIGHT = 40, 1280, 720
# Of each slide the heading, how many words (a formula is one), whether it has a picture, and what sticks out.
READ = """() => [...document.querySelectorAll(".os-slide")].map(slide => {
  const copy = slide.cloneNode(true), frame = slide.getBoundingClientRect();
  copy.querySelectorAll(".katex").forEach(formula => formula.replaceWith("x"));
  const text = [...copy.querySelectorAll(":scope > p")].map(p => p.textContent).join(" ");
  const parts = slide.querySelectorAll(":scope > *, .os-picture *:not(.katex *, svg *)");
  const out = [...parts].filter(e => e.checkVisibility()).filter(e => {
    const box = e.getBoundingClientRect();
    return box.width && (Math.max(box.bottom - frame.bottom, box.right - frame.right) > 1
      || Math.min(box.top - frame.top, box.left - frame.left) < -1);
  });
  const words = text.match(/[\\p{L}\\p{N}][\\p{L}\\p{N}'’-]*/gu) ?? [];
  return [slide.querySelector("h2").textContent.trim(), words.length,
    !!slide.querySelector(".os-picture :is(img, svg, .katex, input)"), out.map(e => e.outerHTML.slice(0, 9))];
})"""


def test_each_chapter_has_slides():
    assert [page.removeprefix("slides/") for page in SLIDES] == [
        page.removeprefix("book/") for page in CHAPTERS
    ]


@pytest.mark.parametrize("path", SLIDES)
def test_a_slide_is_a_claim_a_picture_and_few_words_and_nothing_is_cut(open_page, path):
    page = open_page(path)
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    *slides, summary = page.evaluate(READ)
    assert summary[0] == "Summary"
    for heading, words, shown, out in slides:
        assert heading
        assert words <= WORDS, heading
        assert shown, heading
        assert not out, (heading, out)
    page.evaluate(AXE)
    assert violations(page) == []

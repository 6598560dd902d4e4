"""Questions on a page: nothing is given away, choosing shows the reason, also without scripts."""

import re
import subprocess
import sys
from pathlib import Path

import axe_playwright_python
import pytest
import yaml
from browser import chromium
from docutils import nodes
from docutils.core import publish_doctree
from myst_parser.parsers.docutils_ import Parser

ROOT = Path(__file__).resolve().parents[2]
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
sys.path.append(str(ROOT / "book" / "_ext"))

from onestep_book import predict  # noqa: E402

SETTINGS = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
EXTENSIONS = SETTINGS["sphinx"]["config"]["extensions"]
# The book's own extensions, style and script.
CONFIG = f"""\
title: Small
bibtex_bibfiles: [book/references.bib]
only_build_toc_files: true
sphinx:
  local_extensions: {{onestep_book: {str(ROOT / "book" / "_ext")!r}}}
  config:
    extensions: [{", ".join(EXTENSIONS)}]
    nb_ipywidgets_js: {{}}
    html_static_path: [{str(ROOT / "book" / "_static")!r}]
    html_css_files: [onestep.css]
    html_js_files: [[onestep.js, {{defer: defer}}]]
"""
TOC = "format: jb-book\nroot: book/intro\n"
PAGE = """\
# Questions

:::{predict} What happens to the loss $L(\\lambda)$ when $\\lambda$ grows?
:name: predict-loss
It is the *test* loss.

- [ ] It falls for every $\\lambda$.

  Not so: beyond the best penalty *bias* wins,

  $$
  L \\to \\tfrac{9}{4}.
  $$
- [x] It falls
  and rises again.

  First variance, then bias; see {ref}`below <later>`.
- [ ] Nothing.

  The penalty is part of the solution.
:::

## More

:::{selfcheck} Which is larger?
- [x] The first

  Because.
- [ ] The second

  Since.
:::

:::{predict} What is $1 - 0.59$?
:answer: 0.41
:tolerance: 0.02

A subtraction: $1 - 0.59 = 0.41$.
:::

(later)=

## Later

Text, see {ref}`the question <predict-loss>`.
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The page above as the book builds it, with every warning an error."""
    root = tmp_path_factory.mktemp("small")
    (root / "book").mkdir()
    (root / "_config.yml").write_text(CONFIG, "utf-8")
    (root / "_toc.yml").write_text(TOC, "utf-8")
    (root / "book" / "references.bib").touch()
    (root / "book" / "intro.md").write_text(PAGE, "utf-8")
    code = "import sys; from pathlib import Path; from book._tools import build; "
    code += "sys.exit(build.main(Path(sys.argv[1])))"
    reply = subprocess.run(
        [sys.executable, "-c", code, str(root)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert reply.returncode == 0, reply.stdout + reply.stderr
    return root / "_build" / "html" / "book" / "intro.html"


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture
def show(browser, built):
    """show(scripts=, width=, theme=) -> the page, of which no fault may have been reported."""
    contexts, faults = [], []

    def open_it(scripts=True, width=1280, theme="light"):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, java_script_enabled=scripts, color_scheme=theme
        )
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(built.as_uri())
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert faults == []


def seen(block) -> str:
    """The text of a block that a reader sees, in one line; formulas as their source."""
    return " ".join(block.inner_text().split())


def test_no_answer_is_given_away_before_the_reader_chose(show):
    for scripts in (True, False):
        page = show(scripts)
        for block in page.locator(".os-predict").all():
            assert not re.search("Right|Wrong|variance|Because|subtraction|Answer:", seen(block)), scripts


def test_choosing_shows_the_verdict_and_the_reason_alone(show):
    block = show().locator("#predict-loss")
    reply = block.get_by_role("status")
    assert seen(reply) == "Choose one: the reason appears here."
    block.get_by_role("radio").nth(0).check()
    assert seen(reply).startswith("Wrong: Not so: beyond the best penalty bias wins,")
    assert reply.locator(".katex-display:visible").count() == 1
    assert "part of the solution" not in seen(block)
    block.get_by_role("radio").nth(1).check()
    assert seen(reply) == "Right: First variance, then bias; see below."
    assert block.locator("input:checked").count() == 1


def test_it_is_a_group_of_radio_buttons_by_keyboard(show):
    page = show()
    name = re.compile("Predict What happens to the loss .* grows")
    assert page.get_by_role("group", name=name).count() == 1
    block = page.locator("#predict-loss")
    block.get_by_role("radio").nth(0).focus()
    page.keyboard.press("Space")
    assert seen(block.get_by_role("status")).startswith("Wrong:")
    page.keyboard.press("ArrowDown")
    assert seen(block.get_by_role("status")).startswith("Right:")
    second = page.get_by_role("group", name="Check yourself Which is larger?")
    second.get_by_role("radio", name="The first").check()
    assert seen(second.get_by_role("status")) == "Right: Because."
    assert block.locator("input:checked").count() == 1, "each question has its own choice"


TYPED = {
    "0.41": "Right. Answer: 0.41 A subtraction:",
    "0,39": "Right.",
    ".43": "Right.",
    "41/100": "Right.",
    "0.3": "Too small.",
    "1": "Too large.",
    "−0.41": "Too small.",
    "": "Type a number",
    "many": "Type a number",
}


def test_a_number_is_compared_with_its_tolerance(show):
    page = show()
    group = page.get_by_role("group", name=re.compile("^Predict What is"))
    reveal = group.get_by_role("button", name="Show the answer")
    for typed, reply in TYPED.items():
        group.get_by_label("Your number").fill(typed)
        page.keyboard.press("Enter")
        assert seen(group.get_by_role("status")).startswith(reply), typed
        assert reveal.is_visible() != reply.startswith("Right"), typed
    reveal.click()
    assert seen(group.get_by_role("status")).startswith("Answer: 0.41 A subtraction")


def test_without_scripts_the_reasons_stand_behind_a_click(show):
    block = show(scripts=False).locator("#predict-loss")
    assert "bias" not in seen(block)
    block.locator("summary").click()
    text = seen(block)
    assert text.count("Wrong:") == 2
    assert "Right: It falls and rises again. First variance, then bias" in text


def test_paper_shows_every_reason(show):
    for scripts in (True, False):
        page = show(scripts)
        if scripts:
            page.locator("#predict-loss").get_by_role("radio").nth(0).check()
        page.emulate_media(media="print")
        text = seen(page.locator("#predict-loss"))
        for part in ("Not so: beyond", "First variance, then bias", "part of the solution"):
            assert text.count(part) == 1, part
        assert "A subtraction" in seen(page.locator(".os-predict").nth(2))


def test_axe_finds_nothing_and_nothing_spills_on_a_phone(show):
    page = show(width=375, theme="dark")
    page.locator("#predict-loss").get_by_role("radio").nth(0).check()
    page.evaluate(AXE)
    found = page.evaluate("() => axe.run('.os-predict')")["violations"]
    assert [(v["id"], [n["html"] for n in v["nodes"]]) for v in found] == []
    spills = """e => [...e.querySelectorAll("*")].some(
      i => i.getBoundingClientRect().right > e.getBoundingClientRect().right)"""
    assert not page.locator("article").evaluate(spills)
    assert not any(block.evaluate(spills) for block in page.locator(".os-predict").all())
    heights = [box.bounding_box()["height"] for box in page.locator(".os-choice").all()]
    assert min(heights) >= 24


GOOD = ["- [ ] a", "", "  why", "- [x] b", "", "  why"]


def choices(lines: list[str]) -> list[nodes.Node]:
    settings = {"myst_enable_extensions": ["tasklist"]}
    body = publish_doctree("\n".join(lines), parser=Parser(), settings_overrides=settings)
    return predict.choices(body.children)


@pytest.mark.parametrize(
    "lines",
    [
        GOOD[:3],
        ["No answers."],
        GOOD * 3,
        GOOD[:3] * 2,
        GOOD[3:] * 2,
        [*GOOD, "- [ ] c"],
        [*GOOD, "- [y] c", "", "  why"],
        [*GOOD, "", "More."],
    ],
)
def test_a_malformed_question_says_what_is_wrong(lines):
    with pytest.raises(ValueError, match="2 to 4 answers"):
        choices(lines)


def test_answers_are_split_from_the_question_and_their_reasons():
    question, first, second, reasons = choices(["More.", "", *GOOD[:3], "", "  and", "  so", *GOOD[3:]])
    assert [node.astext() for node in (question, first, second)] == ["More.", "a", "b"]
    assert [reason["right"] for reason in reasons] == [False, True]
    assert [node.astext() for node in reasons[0]] == ["Wrong: a", "why", "and\nso"]

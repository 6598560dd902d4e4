"""Tests of the tests: a page in which everything is wrong, and each check reports its own defect."""

import random
from pathlib import Path

import pytest
from conftest import served
from pages import CHOSEN, sample
from test_html import broken_links, faults_of_head, invalid, loaded_from_elsewhere, repeated_ids, undescribed
from visits import Visit, visit

PAGE = "book/intro.html"
WRONG = """
<script>console.error("seeded message"); setTimeout(() => { throw new Error("seeded exception"); });</script>
<img src="http://outside.invalid/seeded.png" alt="From elsewhere."><img src="seeded-lost.png" alt="Lost.">
<img src="../_static/favicon.svg"><img src="heavy.png" alt="Weighs more than a page may.">
<a href="nowhere.html">A dead link</a><a href="#nowhere">A dead anchor</a>
<p id="seeded-twice">One</p><p id="seeded-twice">Two</p><div><script>var a = "widget-state";</script></div>
<div class="seeded-wide" style="width: 700px">Wider than a phone.</div>
<button class="seeded-button"></button><p><div class="seeded-invalid"></p></div>
<style>
  .seeded-pale {color: #eee; background: #fff}
  [data-theme=light] .seeded-light {color: #ddd; background: #fff}
  [data-theme=dark] .seeded-dark {color: #333; background: #111}
</style>
<p class="seeded-pale">Pale</p><p class="seeded-dark">Pale at night</p><p class="seeded-light">By day</p>
<pre>a <span>b</span> <span class="seeded-dark">c</span> <span class="seeded-dark">delta</span>
<span>e</span> <a href="#seeded-twice" class="seeded-nameless"></a> <span role="nosuch">e</span></pre>
<p><span class="math">\\(x^1^2\\) and \\(\\nosuchmacro\\)</span></p>
<figure class="onestep-explorer"><div class="os-slider os-controls"><output>1</output>
  <input type="range" min="0" max="5" value="2" aria-label="seeded slider"></div>
  <p class="os-still" hidden>Still</p>
  <svg role="img" aria-label="Nothing"><path data-mark="line"></path></svg></figure>
<details class="seeded-folded" ontoggle="this.open = false"><summary>Hint</summary>Unprinted</details>
<pre class="seeded-cut">Code</pre><h1 class="seeded-title">Printed twice</h1>
<style>@media print {
  .seeded-cut.seeded-cut {width: 2000px !important; max-width: none !important}
  body {background: #111 !important}
}</style>
<script>
  addEventListener("load", () => setTimeout(() => {
    document.querySelector("article h1").style.marginTop = "300px";
    for (const end = performance.now() + 400; performance.now() < end; );
  }, 100));
</script>
"""
DEAF = (
    '<script>addEventListener("load", () => { document.documentElement.dataset.theme = "light"; });</script>'
)


def copy_with(site: Path, folder: Path, seeds: str) -> Path:
    """A site with one page, into which seeds are put; everything beside the page is the real site's."""
    root = folder / "html"
    (root / "book").mkdir(parents=True)
    for there in site.iterdir():
        if there.name != "book":
            (root / there.name).symlink_to(there)
    text = (site / PAGE).read_text(encoding="utf-8")
    assert text.count("</article>") == 1
    (root / PAGE).write_text(text.replace("</article>", f"{seeds}</article>"), encoding="utf-8")
    (root / "book" / "heavy.png").write_bytes(random.Random(0).randbytes(1_600_000))
    return root


@pytest.fixture(scope="module")
def wrong(site, tmp_path_factory) -> Path:
    return copy_with(site, tmp_path_factory.mktemp("wrong"), WRONG) / PAGE


@pytest.fixture(scope="module")
def seen(browser, wrong) -> Visit:
    root = wrong.parents[1]
    with served(root) as url:
        return visit(browser, root, url, PAGE)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("console", "seeded message"),
        ("exception", "seeded exception"),
        ("failed", "seeded-lost.png"),
        ("outside", "outside.invalid/seeded.png"),
    ],
)
def test_a_fault_is_told_once_a_load(seen, kind, words):
    assert len([text for text in seen.told(kind) if words in text]) >= 2, "over HTTP and from disk"


def test_an_overflow_at_the_width_of_a_phone_is_told(seen):
    for view, found in seen.views.items():
        phone = view.startswith("phone")
        assert (found.excess > 0) == phone
        assert ("DIV.seeded-wide" in found.spilling) == phone


@pytest.mark.parametrize("view", ["desktop-light", "desktop-dark", "phone-light", "phone-dark"])
def test_axe_reports_what_is_wrong_in_each_view(seen, view):
    found = seen.views[view].violations
    # A window's second mode is asked for colours alone.
    first = view in ("desktop-light", "phone-dark")
    for rule, part in (
        ("button-name", "seeded-button"),
        ("image-alt", "favicon.svg"),
        ("link-name", "seeded-nameless"),
        ("aria-roles", 'role="nosuch"'),
    ):
        assert any(x.startswith(rule) and part in x for x in found) == first
    pale = [x for x in found if x.startswith("color-contrast")]
    assert any("seeded-pale" in x for x in pale)
    assert any('<p class="seeded-dark"' in x for x in pale) == view.endswith("dark")
    assert any('<p class="seeded-light"' in x for x in pale) == view.endswith("light")


@pytest.mark.parametrize("view", ["desktop-dark", "phone-dark"])
def test_one_pale_token_of_a_listing_is_found(seen, view):
    assert any('<span class="seeded-dark"' in x for x in seen.views[view].violations)


def test_a_second_heading_and_a_wrong_formula_are_counted(seen):
    for opening in seen.openings.values():
        assert (opening.headings, opening.wrong) == (2, 2)


def test_a_heavy_page_is_weighed(seen):
    assert seen.weight > 1_600_000


def test_a_slider_that_moves_nothing_and_an_explorer_that_needs_scripts_are_told(seen):
    assert seen.stuck == ["explorer 1: seeded slider"]
    assert seen.still[1:] == [{"controls": True, "still": False, "drawn": False}]


def test_a_jump_and_a_long_task_are_told(seen):
    for opening in seen.openings.values():
        assert opening.jumps > 0.1
        assert opening.longest > 300


def test_what_paper_loses_is_told(seen):
    assert seen.paper.folded == ["DETAILS.seeded-folded"]
    assert seen.paper.cut == ["PRE.seeded-cut"]
    assert len(seen.paper.titles) == 2
    assert seen.paper.ground == "rgb(17, 17, 17)"


def test_a_page_that_keeps_one_mode_is_told(browser, site, tmp_path):
    root = copy_with(site, tmp_path, DEAF)
    with served(root) as url:
        views = visit(browser, root, url, PAGE).views
    assert {view: found.theme for view, found in views.items()}["phone-dark"] == "light"


def test_links_pictures_and_ids_are_checked(wrong):
    assert [x for x in broken_links(wrong) if x.startswith(("nowhere.html", "#nowhere"))] == [
        "nowhere.html: no such file",
        "#nowhere: no such anchor",
    ]
    assert loaded_from_elsewhere(wrong) == ["http://outside.invalid/seeded.png", "widget-state"]
    assert [image["src"] for image in undescribed(wrong)] == ["../_static/favicon.svg"]
    assert repeated_ids(wrong) == ["seeded-twice"]


def test_a_head_that_lacks_something_is_told(tmp_path):
    page = tmp_path / "bare.html"
    page.write_text("<!DOCTYPE html><html><head><title>Bare</title></head></html>", encoding="utf-8")
    assert faults_of_head(page) == ["description of 40 to 210 letters", "card", "title", "icon"]


def test_invalid_html_is_told_with_its_page(wrong):
    assert any(PAGE in x and "seeded-twice" in x for x in invalid([wrong]))


def test_the_sample_has_the_index_the_longest_page_and_others_with_the_content(tmp_path):
    pages = ["api/index.html", *(f"api/{k}.html" for k in range(40))]
    (tmp_path / "api").mkdir()

    def chosen(words: str) -> set[str]:
        for k, page in enumerate(pages):
            (tmp_path / page).write_text(f"{words} {k}" + " long" * (page == "api/7.html"), encoding="utf-8")
        return sample(pages, tmp_path)

    first, second = chosen("one"), chosen("two")
    for found in (first, second):
        assert found >= {"api/index.html", "api/7.html"}
        assert CHOSEN <= len(found) <= CHOSEN + 2
    assert first != second
    assert chosen("one") == first

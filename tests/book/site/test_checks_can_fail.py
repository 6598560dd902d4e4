"""Tests of the tests: a page in which everything is wrong, and each check reports its own defect."""

import random
from pathlib import Path

from conftest import served
from test_html import faults, invalid, missing_in_head
from visits import look, visit, window

PAGE = "book/intro.html"
WRONG = """
<script>console.error("seeded message"); setTimeout(() => { throw new Error("seeded exception"); });</script>
<img src="http://outside.invalid/seeded.png" alt="From elsewhere."><img src="seeded-lost.png" alt="Lost.">
<img src="../_static/favicon.svg"><img src="heavy.png" alt="Weighs more than a page may.">
<a href="nowhere.html">A dead link</a><a href="#nowhere">A dead anchor</a>
<a href="#seeded-twice?step=1">No such state</a>
<p><code><span class="pre">seeded/test_long.py::test_name</span></code></p>
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
<p><span class="math"><span class="katex-error">x^1^2</span></span></p>
<figure class="onestep-explorer"><div class="os-slider os-controls"><output>1</output>
  <input type="range" min="0" max="5" value="2" aria-label="seeded slider"></div>
  <p class="os-still" hidden>Still</p>
  <svg role="img" aria-label="Nothing"><path data-mark="line"></path></svg></figure>
<details class="seeded-folded" ontoggle="this.open = false"><summary>Hint</summary>Unprinted</details>
<!-- searchindex.js --><pre class="seeded-cut">Code</pre><h1 class="seeded-title">Printed twice</h1>
<style>@media print {
  .seeded-cut.seeded-cut {width: 2000px !important; max-width: none !important}
  body {background: #111 !important}
}</style>
<script>
  addEventListener("load", () => {
    setTimeout(() => { document.querySelector("article h1").style.marginTop = "300px"; }, 100);
    for (const end = performance.now() + 900; performance.now() < end; );
  });
</script>
"""
TOLD = [
    ("over HTTP: console", "seeded message"),
    ("from disk: exception", "seeded exception"),
    ("over HTTP: failed", "seeded-lost.png"),
    ("from disk: outside", "outside.invalid/seeded.png"),
    ("phone, dark", "DIV.seeded-wide"),
    ("desktop, light: button-name", "seeded-button"),
    ("phone, dark: image-alt", "favicon.svg"),
    ("desktop, light: link-name", "seeded-nameless"),
    ("desktop, light: aria-roles", 'role="nosuch"'),
    ("desktop, light: color-contrast", "seeded-light"),
    ("phone, dark: color-contrast", '<p class="seeded-dark"'),
    ("phone, dark: color-contrast", '<span class="seeded-dark"'),  # one pale token of a listing
    ("over HTTP", "2 headings"),
    ("from disk: of", "set and 1 wrong"),
    ("a first visit loads", "bytes"),
    ("explorer 1", "seeded slider changes nothing"),
    ("without scripts", "explorer 1"),
    ("over HTTP: things jump", ""),
    ("from disk: it does not answer", ""),
    ("on paper: folded", "DETAILS.seeded-folded"),
    ("on paper: cut", "PRE.seeded-cut"),
    ("on paper: 2 titles", ""),
    ("on paper: the page is light", "rgb(17, 17, 17)"),
    ("nowhere.html", "no such file"),
    ("#nowhere", "no such anchor"),
    ("#seeded-twice?step=1", "no such state"),
    ("from elsewhere", "http://outside.invalid/seeded.png"),
    ("from elsewhere", "widget-state"),
    ("no description", "favicon.svg"),
    ("id twice", "seeded-twice"),
    ("no size", "heavy.png"),
    ("loads", "searchindex.js"),
    ("breaks anywhere", "test_long"),
    ("book/intro.html", "seeded-twice"),  # of the validator
]
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


def test_each_check_reports_its_own_defect(browser, site, tmp_path):
    root = copy_with(site, tmp_path, WRONG)
    with served(root) as url:
        seen = visit(browser, root, url, PAGE)
    seen += faults(root, PAGE) + invalid([root / PAGE])
    for kind, words in TOLD:
        assert [fault for fault in seen if fault.startswith(kind) and words in fault], (kind, words)
    # What is wrong in one mode or at one width is not told of the others.
    for view, words in (
        ("desktop", "seeded-wide"),
        ("desktop, light", '<p class="seeded-dark"'),
        ("phone, dark", '<p class="seeded-light"'),
    ):
        assert not [fault for fault in seen if fault.startswith(view) and words in fault], (view, words)


def test_a_page_that_keeps_one_mode_is_told(browser, site, tmp_path):
    root, told = copy_with(site, tmp_path, DEAF), []
    with window(browser, "phone", "dark") as page:
        page.goto((root / PAGE).as_uri())
        look(page, "phone", "dark", told.append)
    assert told[:1] == ["phone, dark: the page is light"]


def test_a_head_that_lacks_something_is_told(tmp_path):
    page = tmp_path / "bare.html"
    page.write_text("<!DOCTYPE html><html><head><title>Bare</title></head></html>", encoding="utf-8")
    assert missing_in_head(page) == ["description of 40 to 210 letters", "card", "title", "icon"]

"""The document that is printed: each page once, names that are unique, links that lead inside."""

import re

from book._tools import paper

FRAME = '<html><head></head><h1>List</h1><article class="bd-article">{}</article></html>'
PAGE = """<section class="a" id="{0}"><h1>{0}<a class="headerlink" href="#{0}">#</a></h1>
<p id="one" aria-describedby="one two"><a href="#one">here</a> <a href="b.html#one">there</a>
<a href="b.html">b</a> <a href="api/x.html#one">code</a> <a href="https://example.org/#one">out</a></p><script>"x"</script>
<svg><path clip-path="url(#one)"></path></svg></section>"""


def test_links_lead_to_names_that_are_there_once(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.html").write_text(FRAME.format(PAGE.format(name)), "utf-8")
    whole = paper.combine(tmp_path, ["a", "b"], "A & B")
    names = re.findall(r'\bid="([^"]+)"', whole)
    assert sorted(names) == ["a", "a--a", "a--one", "b", "b--b", "b--one"]
    assert 'aria-describedby="b--one b--two"' in whole
    assert set(re.findall(r'href="#([^"]+)"', whole)) <= set(names)
    assert whole.count('href="#b--one"') == 3  # from a, and twice from b
    assert whole.count('href="https://example.org/#one"') == 2
    assert "url(#a--one)" in whole
    assert "api/x" not in whole
    assert "<script>" not in whole
    assert "A &amp; B" in whole

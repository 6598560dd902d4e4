"""The document that is printed, and the EPUB: each page once, unique names, links that lead inside."""

import re
from xml.etree import ElementTree
from zipfile import ZIP_STORED, ZipFile

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


def test_an_epub_names_and_holds_all_that_its_pages_show(tmp_path):
    for name in ("_static/pygments.css", "_images/one.svg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    page = '<p><a id="{0}"></a><a href="#b--one?step=8">x</a><a href="#a">y</a><i id="{0}--one"/>{1}</p>'
    pages = [
        ("a", "A & B", page.format("a", '<img src="../_images/one.svg"/><img src="data:,"/>')),
        ("b", "B", page.format("b", "<math/>")),
    ]
    paper.bind(tmp_path / "x.epub", tmp_path, pages, {"title": "T & U", "author": "V", "copyright": "W"})
    with ZipFile(tmp_path / "x.epub") as book:
        first, *names = book.infolist()
        assert (first.filename, first.compress_type) == ("mimetype", ZIP_STORED)
        texts = {one.filename: book.read(one).decode() for one in names}
    trees = {name: ElementTree.fromstring(text) for name, text in texts.items() if not name.startswith("_")}
    items = {item.get("href"): item for item in trees["book.opf"].findall(".//{*}item")}
    assert {*items, "book.opf", "META-INF/container.xml"} == set(texts)
    assert [items[name].get("properties") for name in ("contents.xhtml", "b.xhtml")] == ["nav", "mathml"]
    assert items["_images/one.svg"].get("media-type") == "image/svg+xml"
    order = [item.get("idref") for item in trees["book.opf"].findall(".//{*}itemref")]
    assert order == [items[f"{name}.xhtml"].get("id") for name in ("contents", "a", "b")]
    targets = {
        f"{name}#{part.get('id')}" for name, tree in trees.items() for part in tree.iter() if part.get("id")
    }
    for link in re.findall(r'<a href="([^"]+)"', "".join(texts.values())):
        assert link in targets | set(texts)

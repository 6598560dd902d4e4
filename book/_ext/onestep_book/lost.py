"""The page for addresses that lead nowhere: hosts show `404.html` under any of them."""

from pathlib import Path

from sphinx.application import Sphinx

# The address it is shown under may lie at any depth, so a script makes its links from that address.
LOST_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Page not found — One Gradient Step</title>
<style>
:root { color-scheme: light dark; }
body { font: 1.1rem/1.6 system-ui, sans-serif; max-width: 36rem; margin: 12vh auto; padding: 0 1.25rem; }
a { color: light-dark(#0f55bd, #7db3ff); }
</style>
</head>
<body><main>
<h1>There is no such page</h1>
<p>The address may be mistyped, or the page has moved: chapters were renumbered in the second edition.</p>
<ul>
<li><a href="book/intro.html">Welcome</a></li>
<li><a href="book/map.html">Map of the book</a></li>
<li><a href="search.html">Search the book</a></li>
</ul>
</main>
<script>
const [before, within, after] = location.pathname.split(/\\/(book|_modules)\\//);
const root = within ? before : location.pathname.replace(/\\/[^/]*$/, "");
const words = (after || "").replace(/\\.\\w+$/, "").replace(/[^a-z]+/gi, " ").trim();
for (const link of document.links) link.href = root + "/" + link.getAttribute("href");
if (words) document.links[2].href += "?q=" + encodeURIComponent(words);
</script>
</body>
</html>
"""


def connect(app: Sphinx) -> None:
    app.connect("build-finished", write_lost_page)


def write_lost_page(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        (Path(app.outdir) / "404.html").write_text(LOST_PAGE, encoding="utf-8")

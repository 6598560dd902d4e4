"""Search: words and numbers as readers type them, and which page a word finds first.

Sphinx's search drops numbers, takes "č" for another letter than "c", and looks words up in plain objects,
where "constructor" is always found. Pages and queries are therefore split by one rule, written in Python and
in JavaScript: accents fall away, a number keeps its points, and what Sphinx would misread ends in a point.

A page's words (`book/keywords.yml`, and `onestep: terms` in a chapter's metadata) become entries of the
index, which the search prefers to mentions in the text; `search-scorer.js` puts chapters before other pages.
"""

import json
import re
import unicodedata
from pathlib import Path

import yaml
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.search.en import SearchEnglish
from sphinx.transforms import SphinxTransform

SCORER = "search-scorer.js"
WORD = re.compile(r"\d+(?:\.\d+)*|[^\W\d]\w*")
MISREAD = re.compile(r"\d+|constructor|__proto__", re.IGNORECASE)


class Words(SearchEnglish):
    """English, split as above."""

    js_splitter_code = r"""
var splitQuery = (query) => (query.normalize("NFKD").replace(/\p{M}/gu, "")
  .match(/\d+(?:\.\d+)*|[\p{L}_][\p{L}\p{N}_]*/gu) ?? [])
  .map((word) => /^(\d+|constructor|__proto__)$/i.test(word) ? word + "." : word);
"""

    def split(self, text: str) -> list[str]:
        plain = "".join(
            sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign)
        )
        return [f"{word}." if MISREAD.fullmatch(word) else word for word in WORD.findall(plain)]


def connect(app: Sphinx) -> None:
    app.add_search_language(Words)
    app.add_transform(IndexKeywords)
    app.connect("config-inited", use_scorer)


def use_scorer(app: Sphinx, config: Config) -> None:
    config.html_search_scorer = str(Path(__file__).with_name(SCORER))


class IndexKeywords(SphinxTransform):
    """Enter a page's words into the index, above its first section."""

    default_priority = 400  # before Sphinx gathers index entries

    def apply(self) -> None:
        words = keywords(Path(self.env.srcdir), self.env.docname)
        if words:
            entries = [("single", word, "", "main", None) for word in words]
            self.document.insert(0, addnodes.index("", entries=entries))
        self.env.note_dependency(str(Path(self.env.srcdir) / "book" / "keywords.yml"))


def keywords(root: Path, page: str) -> list[str]:
    """The page's words, each once."""
    file = root / "book" / "keywords.yml"
    words = yaml.safe_load(file.read_text("utf-8")).get(page, []) if file.is_file() else []
    notebook = root / f"{page}.ipynb"
    if notebook.is_file():
        words += json.loads(notebook.read_text("utf-8"))["metadata"].get("onestep", {}).get("terms", [])
    return list(dict.fromkeys(words))

"""What a search finds first: the chapter that explains a word, then the glossary, then mentions.

A page's words (`book/keywords.yml`, and `onestep: terms` in a chapter's metadata) become entries of the
index, which Sphinx's search prefers to mentions in the text. `SCORER` puts chapters before other pages and
the reference last among results that are as good otherwise.
"""

import json
from pathlib import Path

import yaml
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms import SphinxTransform

SCORER = "search-scorer.js"


def connect(app: Sphinx) -> None:
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

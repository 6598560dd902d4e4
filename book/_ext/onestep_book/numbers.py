"""Numbers outside the chapters, and references to numbered things without reading a page again for each.

Sphinx counts through what stands on pages without a number, from the first such page to the last: the
figures of one would begin at 6. So an appendix has a letter, which its title shows and its numbers begin
with, and any other page counts for itself.

For every `numref` Sphinx unpickles the whole page it points to, to look up one node: a fifth of a build. The
pages are only read there, so that the last few can be kept.
"""

from functools import lru_cache
from string import ascii_uppercase
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.domains.std import StandardDomain
from sphinx.environment import BuildEnvironment

APPENDIX = "book/appendix-"
KEPT = 8  # pages: a chapter refers to itself and to a few others


def connect(app: Sphinx) -> None:
    app.add_domain(RememberingDomain, override=True)
    app.connect("env-get-updated", number_other_pages, priority=900)  # after Sphinx has counted


def number_other_pages(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Letters for the appendices, and counts of their own for all pages that are no chapter."""
    appendices = [page for page in env.collect_relations() if page.startswith(APPENDIX)]
    letters = dict(zip(appendices, ascii_uppercase, strict=False))
    for page, letter in letters.items():
        env.toc_secnumbers[page] = {"": (letter,)}
        env.titles[page]["secnumber"] = (letter,)
        next(env.tocs[page].findall(nodes.reference))["secnumber"] = (letter,)
    others = [page for page in env.toc_fignumbers if page in letters or page not in env.toc_secnumbers]
    for page in others:
        for numbers in env.toc_fignumbers[page].values():
            for count, label in enumerate(numbers, start=1):
                numbers[label] = (letters[page], count) if page in letters else (count,)
    return others


class Reading:
    """An environment that keeps the pages it has read, for those who do not change them."""

    def __init__(self, env: BuildEnvironment) -> None:
        self._env = env
        self.get_doctree = lru_cache(KEPT)(env.get_doctree)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)


class RememberingDomain(StandardDomain):
    """Sphinx's domain of labels, which looks numbers up in pages that were read once."""

    reading: Reading | None = None

    def _resolve_numref_xref(
        self, env: BuildEnvironment, fromdocname: str, builder: Builder, *found: Any
    ) -> nodes.Element | None:
        # Post-transforms run when all pages are read, so that no page changes any more.
        if self.reading is None:
            self.reading = Reading(env)
        return super()._resolve_numref_xref(self.reading, fromdocname, builder, *found)  # type: ignore[arg-type]

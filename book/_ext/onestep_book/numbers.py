"""References to numbered things, without reading a page again for each of them.

For every `numref` Sphinx unpickles the whole page it points to, to look up one node: a fifth of a build. The
pages are only read there, so that the last few can be kept.
"""

from functools import lru_cache
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.domains.std import StandardDomain
from sphinx.environment import BuildEnvironment

KEPT = 8  # pages: a chapter refers to itself and to a few others


def connect(app: Sphinx) -> None:
    app.add_domain(RememberingDomain, override=True)


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

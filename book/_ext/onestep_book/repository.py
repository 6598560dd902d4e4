"""What depends on the public repository's address, one value in _config.yml.

While it is the placeholder, the site shows no link to it. The pages mark the places that need a kernel by an
empty `<span class="onestep-binder">`, with `data-notebook="..."` where it is another notebook than theirs;
each becomes links to that notebook in Binder and Colab, or, without an address, the command that opens all.
"""

import re
from html import escape
from typing import Any
from urllib.parse import quote, urlsplit

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

PLACEHOLDER_OWNER = "your-account"
MARK = re.compile(r'<span class="onestep-binder"(?: data-notebook="([\w./-]+)")?\s*>\s*</span>')


def connect(app: Sphinx) -> None:
    app.connect("config-inited", hide_links_to_the_placeholder, priority=100)
    app.connect("html-page-context", fill_marks)


def is_placeholder(address: str) -> bool:
    return urlsplit(address).path.strip("/").split("/")[0] in ("", PLACEHOLDER_OWNER)


def hide_links_to_the_placeholder(app: Sphinx, config: Config) -> None:
    options = config.html_theme_options
    if is_placeholder(options.get("repository_url", "")):
        options["use_repository_button"] = options["use_issues_button"] = False
        options["launch_buttons"] = {}
    else:  # cards on other sites need whole addresses
        owner, name = urlsplit(options["repository_url"]).path.strip("/").split("/")
        config.ogp_site_url = f"https://{owner.lower()}.github.io/{name}/"


def launch_links(app: Sphinx, page: str, notebook: str) -> str:
    """Where `notebook`, a path in the branch of notebooks, runs."""
    options = app.config.html_theme_options
    places = {"Run it with make lab": app.builder.get_relative_uri(page, "book/how-to-run")}
    if buttons := options.get("launch_buttons"):
        repository = urlsplit(options["repository_url"]).path.strip("/")
        branch, path = quote(options["repository_branch"], safe=""), quote(notebook)
        places = {
            "Binder": f"{buttons['binderhub_url']}/v2/gh/{repository}/{branch}?urlpath=lab/tree/{path}",
            "Colab": f"{buttons['colab_url']}/github/{repository}/blob/{branch}/{path}",
        }
    name = escape(notebook)
    return " · ".join(
        f'<a class="onestep-binder" href="{escape(address)}" aria-label="{place}: {name}">{place}</a>'
        for place, address in places.items()
    )


def fill_marks(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    context["body"] = MARK.sub(
        lambda found: launch_links(app, pagename, found[1] or f"{pagename}.ipynb"), context.get("body", "")
    )

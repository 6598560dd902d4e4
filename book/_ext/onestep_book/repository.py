"""What depends on the public repository's address, one value in _config.yml.

While it is the placeholder, the site shows no link to it. The chapters mark the places that need a
kernel by an empty `<span class="onestep-binder">`; each becomes a link to that chapter in Binder, or,
without an address, the way to run the chapter on one's own machine. An empty `<span class="onestep-launch"
data-notebook="...">` becomes links to that notebook in Binder and Colab.
"""

import re
from html import escape
from typing import Any
from urllib.parse import quote, urlsplit

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

PLACEHOLDER_OWNER = "your-account"
MARK = re.compile(r'<span class="onestep-binder"\s*>\s*</span>')
LAUNCH = re.compile(r'<span class="onestep-launch" data-notebook="([\w./-]+)"\s*>\s*</span>')


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


def binder_link(options: dict[str, Any], source: str) -> str:
    """Address that opens `source` (a path in the branch of notebooks) in JupyterLab on Binder."""
    owner_and_name = urlsplit(options["repository_url"]).path.strip("/")
    hub = options["launch_buttons"]["binderhub_url"].rstrip("/")
    branch = quote(options.get("repository_branch", "main"), safe="")
    return f"{hub}/v2/gh/{owner_and_name}/{branch}?urlpath=lab/tree/{quote(source)}"


def kernel_note(app: Sphinx, pagename: str) -> str:
    """The link that stands where a chapter needs a running kernel."""
    options = app.config.html_theme_options
    if options.get("launch_buttons"):
        address, words = binder_link(options, f"{pagename}.ipynb"), "Run this chapter in Binder"
    else:
        address = app.builder.get_relative_uri(pagename, "book/how-to-run")
        words = "Run this chapter on your machine"
    return f'<a class="onestep-binder" href="{escape(address)}">{words}</a>'


def launch_links(app: Sphinx, source: str) -> str:
    """Binder and Colab for a notebook; without an address, the command that opens all."""
    options = app.config.html_theme_options
    if not options.get("launch_buttons"):
        return "<code>make lab</code>"
    owner_and_name = urlsplit(options["repository_url"]).path.strip("/")
    hub = options["launch_buttons"]["colab_url"].rstrip("/")
    branch = quote(options.get("repository_branch", "main"), safe="")
    colab = f"{hub}/github/{owner_and_name}/blob/{branch}/{quote(source)}"
    stem = escape(source.rpartition("/")[2].removesuffix(".ipynb"))
    return " · ".join(
        f'<a href="{escape(address)}" aria-label="Open {stem} in {place}">{place}</a>'
        for place, address in (("Binder", binder_link(options, source)), ("Colab", colab))
    )


def fill_marks(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    if "onestep-binder" in context.get("body", ""):
        context["body"] = MARK.sub(lambda _: kernel_note(app, pagename), context["body"])
    if "onestep-launch" in context.get("body", ""):
        context["body"] = LAUNCH.sub(lambda found: launch_links(app, found[1]), context["body"])

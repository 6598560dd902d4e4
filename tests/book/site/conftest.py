"""The built site, served in a subfolder of a local server, and pages that watch themselves."""

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from browser import chromium
from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parents[3]
SITE = Path(os.environ.get("ONESTEP_SITE", ROOT / "_build" / "html"))
SUBFOLDER = "some/folder"
PATIENCE = 120_000  # ms: a busy machine is slow, and speed is not what these tests are about
SIZES = {"desktop": (1280, 900), "phone": (375, 812)}


def html_pages() -> list[str]:
    """Every page of the site, as a path relative to its root."""
    found = (p.relative_to(SITE).as_posix() for p in SITE.rglob("*.html"))
    return sorted(p for p in found if not p.startswith(("_static/", "_sources/")))


def book_pages() -> list[str]:
    """The pages a reader reads: no search page, index, redirect or source listing."""
    return [p for p in html_pages() if p.startswith("book/")]


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves the site below SUBFOLDER only, as a host that is not ours would."""

    def translate_path(self, path: str) -> str:
        prefix = f"/{SUBFOLDER}/"
        inside = path[len(prefix) - 1 :] if path.startswith(prefix) else "/outside-the-site"
        return super().translate_path(inside)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="session")
def site() -> Path:
    if not (SITE / "book" / "intro.html").exists():
        pytest.fail(f"{SITE} holds no site: run `make book` first")
    return SITE


@pytest.fixture(scope="session")
def site_url(site: Path) -> Iterator[str]:
    """Address of the site's root, with a slash at its end."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/{SUBFOLDER}/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@dataclass
class Watched:
    """A page with what went wrong on it since it was opened."""

    page: Page
    root: str
    faults: list[str] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)

    def open(self, path: str) -> Page:
        """Open a page of the site and wait until its formulas are set and nothing loads."""
        self.page.goto(self.root + path, wait_until="load")
        self.page.wait_for_function(
            "() => !document.querySelector('.math') || "
            "(window.MathJax && MathJax.startup && document.querySelector('mjx-container'))"
        )
        self.page.evaluate("() => window.MathJax?.startup?.promise")
        self.page.wait_for_load_state("networkidle")
        return self.page


def watch(page: Page, root: str) -> Watched:
    watched = Watched(page, root)
    faults = watched.faults
    page.on("console", lambda m: m.type in ("error", "warning") and faults.append(f"console: {m.text}"))
    page.on("pageerror", lambda e: faults.append(f"exception: {e}"))
    page.on("requestfailed", lambda r: faults.append(f"failed: {r.url}"))
    page.on("response", lambda r: r.status >= 400 and faults.append(f"{r.status}: {r.url}"))

    def inside_only(request) -> None:
        if not request.url.startswith((root, "data:", "blob:")):
            faults.append(f"outside: {request.url}")

    page.on("request", inside_only)
    return watched


@pytest.fixture
def open_page(browser: Browser, site_url: str, site: Path) -> Iterator[Callable[..., Watched]]:
    """open_page(path, size="desktop", mode="light", over="http", scripts=True) -> Watched.

    Closing the test asserts that no page it opened asked another host, failed a request or
    wrote an error or a warning to the console.
    """
    contexts, opened = [], []

    def open_it(path, size="desktop", mode="light", over="http", scripts=True) -> Watched:
        width, height = SIZES[size]
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=mode,
            java_script_enabled=scripts,
            reduced_motion="reduce",
        )
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        root = site_url if over == "http" else f"{site.resolve().as_uri()}/"
        watched = watch(context.new_page(), root)
        opened.append((path, watched))
        if scripts:
            watched.open(path)
        else:
            watched.page.goto(root + path, wait_until="load")
        return watched

    yield open_it
    for context in contexts:
        context.close()
    assert not [(path, w.faults) for path, w in opened if w.faults]

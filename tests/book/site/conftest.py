"""The built site, served in a subfolder of a local server, and a browser."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from browser import chromium
from pages import SITE
from playwright.sync_api import Browser, Page
from visits import enter, window

SUBFOLDER = "some/folder"


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves the site below SUBFOLDER only, as a host that is not ours would."""

    def translate_path(self, path: str) -> str:
        prefix = f"/{SUBFOLDER}/"
        inside = path[len(prefix) - 1 :] if path.startswith(prefix) else "/outside-the-site"
        return super().translate_path(inside)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Address of a folder's root, with a slash at its end."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/{SUBFOLDER}/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="session")
def site() -> Path:
    if not (SITE / "book" / "intro.html").exists():
        pytest.fail(f"{SITE} holds no site: run `make book` first")
    return SITE


@pytest.fixture(scope="session")
def site_url(site: Path) -> Iterator[str]:
    with served(site) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture
def open_page(browser: Browser, site_url: str) -> Iterator[Callable[..., Page]]:
    """open_page(path, size="desktop") -> page; closing the test asserts that nothing went wrong on it."""
    faults: list[str] = []
    with contextlib.ExitStack() as windows:

        def open_it(path: str, size: str = "desktop") -> Page:
            page = windows.enter_context(window(browser, size, "light"))
            enter(page, site_url, path, faults.append)
            return page

        yield open_it
    assert faults == []

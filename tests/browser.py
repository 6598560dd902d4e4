"""Chromium for the tests: found or skipped, started once, watched for what pages must not do."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def required() -> bool:
    """True where a missing browser is a failure and not a reason to skip."""
    return bool(os.environ.get("ONESTEP_REQUIRE_BROWSER"))


def missing(what: str) -> None:
    """Skip the test for want of a program, or fail where everything is required."""
    (pytest.fail if required() else pytest.skip)(f"{what} is not installed")


def executable() -> str:
    """Path of a Chromium; skips the test (or fails, where required) if there is none."""
    named = os.environ.get("ONESTEP_BROWSER")
    path = named or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        missing("Chromium")
    return path


@contextmanager
def chromium() -> Iterator[Browser]:
    path = executable()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()

"""A fresh environment, as Binder would install it, and a JupyterLab running in it."""

import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from browser import chromium
from playwright.sync_api import Browser, BrowserContext, Page

ROOT = Path(__file__).resolve().parents[3]
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab: its address, its token and its process."""

    url: str
    token: str
    process: int


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def window(browser: Browser) -> Iterator[BrowserContext]:
    """One browser profile for all chapters: JupyterLab's scripts are fetched and compiled once."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield context
    context.close()


@pytest.fixture(scope="session")
def branch(tmp_path_factory) -> Path:
    """What Binder opens: the branch of notebooks, so that no run changes the repository."""
    folder = tmp_path_factory.mktemp("branch")
    command = [sys.executable, "-m", "book._tools.notebooks", "--branch", folder]
    subprocess.run(command, check=True, cwd=ROOT)
    return folder


@pytest.fixture(scope="session")
def binder_environment(browser: Browser, branch: Path, tmp_path_factory) -> Path:
    """Folder of a new environment holding exactly what .binder/requirements.txt asks for.

    ONESTEP_LAB_ENVIRONMENT names an existing one, to look at a single chapter without the wait.
    """
    if named := os.environ.get("ONESTEP_LAB_ENVIRONMENT"):
        return Path(named)
    folder = tmp_path_factory.mktemp("binder") / "environment"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "-r", ".binder/requirements.txt"]
    subprocess.run(pip, check=True, cwd=branch)
    return folder


@pytest.fixture(scope="session")
def lab(binder_environment: Path, branch: Path) -> Iterator[Lab]:
    """JupyterLab serving the branch."""
    home = branch
    # JupyterLab 4.4 keeps cells that nobody has scrolled to out of the page; here all are looked at.
    chosen = binder_environment / "share/jupyter/lab/settings/overrides.json"
    chosen.parent.mkdir(parents=True, exist_ok=True)
    chosen.write_text('{"@jupyterlab/notebook-extension:tracker": {"windowingMode": "defer"}}')
    port, token = free_port(), secrets.token_hex(16)
    command = [binder_environment / "bin" / "jupyter", "lab", "--no-browser", f"--port={port}"]
    command += ["--ip=127.0.0.1", "--allow-root", f"--IdentityProvider.token={token}"]
    command += [f"--ServerApp.root_dir={home}", "--LabApp.news_url=None", "--LabApp.check_for_updates_class="]
    command[-1] += "jupyterlab.NeverCheckForUpdate"
    command += ["--LabApp.expose_app_in_browser=True"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "ONESTEP"))}
    environment |= ONE_THREAD | {"HOME": str(home), "VIRTUAL_ENV": str(binder_environment)}
    environment["PATH"] = f"{binder_environment / 'bin'}:{environment['PATH']}"
    log = (home / "lab.log").open("w", encoding="utf-8")
    process = subprocess.Popen(
        command, cwd=home, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
    )
    url = f"http://127.0.0.1:{port}/"
    try:
        wait_for(f"{url}api?token={token}", log.name)
        yield Lab(url, token, process.pid)
    finally:
        process.terminate()
        process.wait(30)
        log.close()


@pytest.fixture
def opened(window: BrowserContext, lab: Lab) -> Iterator[Callable[[str], Page]]:
    """Open a notebook and wait for its kernel; the page is closed and the kernel stopped after the test."""
    page = window.new_page()
    page.set_default_timeout(60_000)

    def open_notebook(path: str) -> Page:
        page.goto(f"{lab.url}lab/workspaces/{Path(path).stem[:2]}/tree/{path}?token={lab.token}&reset")
        page.wait_for_function("() => window.jupyterapp?.shell?.currentWidget?.content?.widgets?.length")
        page.wait_for_function(
            "() => jupyterapp.shell.currentWidget.sessionContext?.session?.kernel?.status === 'idle'"
        )
        return page

    yield open_notebook
    stop_kernels(lab)
    page.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(url: str, log: str, seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return
        except OSError:
            time.sleep(0.5)
    pytest.fail(f"JupyterLab did not answer: {Path(log).read_text(encoding='utf-8')[-2000:]}")


def stop_kernels(lab: Lab) -> None:
    """Free the memory before the next chapter is measured."""
    headers = {"Authorization": f"token {lab.token}"}
    request = urllib.request.Request(f"{lab.url}api/kernels", headers=headers)
    with urllib.request.urlopen(request) as reply:
        kernels = json.load(reply)
    for kernel in kernels:
        stop = urllib.request.Request(
            f"{lab.url}api/kernels/{kernel['id']}", headers=headers, method="DELETE"
        )
        urllib.request.urlopen(stop).close()

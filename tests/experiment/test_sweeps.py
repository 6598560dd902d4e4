"""Sweeps: killed, they lose nothing that was finished and leave nobody working; tables are whole."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from onestep_lib import Setting, cache, simulate
from onestep_lib.experiment import sweeps

ROOT = Path(__file__).resolve().parents[2]
CASE = {
    "n": 30, "d": 15, "N": 20, "activation": "tanh", "target": (0.0, 1.0), "ridge": 0.1,
    "exponents": (0.0, 0.3), "repeats": 40, "seed": 5,
}  # fmt: skip


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """The sweep's one case; draws are kept in this test's folder."""
    monkeypatch.setenv("ONESTEP_CACHE", str(tmp_path / "kept"))
    monkeypatch.setitem(sweeps.ONE_CURVE, "tiny", CASE)
    return tmp_path / "table.json"


def run(path):
    sweeps.write_table("one-curve", path, ["tiny"], 1)
    return json.loads(path.read_text())["cases"]["tiny"]


def test_a_row_is_what_its_chunks_draw(tiny):
    row = run(tiny)
    steps = [0.0, 1.0, 30**0.3]
    fields = {key: CASE[key] for key in ("n", "d", "N", "activation", "target", "ridge")}
    draws = [
        simulate(Setting(**fields, step=steps), np.random.default_rng([5, chunk]), 10).draws
        for chunk in range(4)
    ]
    test = np.concatenate(draws)[:, 1]
    assert row["level"]["test"]["mean"] == pytest.approx(test[:, 0].mean(), rel=1e-12)
    change = test[:, 2] - test[:, 0]
    assert row["change"]["test"][1]["mean"] == pytest.approx(change.mean(), rel=1e-12)
    assert row["change"]["test"][1]["se"] == pytest.approx(change.std(ddof=1) / 40**0.5, rel=1e-12)


def test_finished_chunks_are_not_simulated_again(tiny, monkeypatch):
    first = run(tiny)
    monkeypatch.setattr(sweeps, "sweep_chunk", None)
    assert run(tiny) == first
    # Another number in the case is another case.
    monkeypatch.setitem(sweeps.ONE_CURVE, "tiny", CASE | {"ridge": np.nextafter(0.1, 1)})
    with pytest.raises(TypeError, match="not callable"):
        run(tiny)


def test_chunks_of_another_library_are_not_mixed_in(tiny, monkeypatch):
    with pytest.raises(RuntimeError, match="edited while the sweep ran"):
        sweeps._kept_chunk("another version", CASE, 0)
    run(tiny)
    monkeypatch.setattr(cache, "_imported", lambda: "edited")
    monkeypatch.setattr(cache, "_source", lambda: ("edited", 0))
    monkeypatch.setattr(sweeps, "sweep_chunk", None)
    with pytest.raises(TypeError, match="not callable"):
        run(tiny)


def test_a_full_disk_leaves_the_old_table(tiny, monkeypatch):
    run(tiny)
    before = tiny.read_text()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        run(tiny)
    assert tiny.read_text() == before
    assert {path.name for path in tiny.parent.iterdir()} == {"table.json", "kept"}


SWEEP = """
import sys
from onestep_lib.experiment import sweeps
sweeps.ONE_CURVE["tiny"] = {case} | {{"repeats": 100_000}}
sweeps.main(["one-curve", sys.argv[1], "--cases", "tiny", "--jobs", "2"])
"""


def alive(session):
    """Running processes of a session."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, number = status.read_text().rpartition(")")[2].split()[:4]
        except OSError:  # it ended meanwhile
            continue
        if int(number) == session and state != "Z":
            found.append(int(status.parent.name))
    return found


def usual_signals():
    """As in a terminal: under nohup, or in a shell's background, signals reach a process as ignored."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def wait_for(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_killed_sweep_keeps_what_was_finished_and_leaves_no_worker(tmp_path, number):
    kept, table = tmp_path / "kept", tmp_path / "table.json"
    env = os.environ | {"ONESTEP_CACHE": str(kept), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", SWEEP.format(case=CASE), str(table)]
    sweep = subprocess.Popen(
        command,
        env=env,
        start_new_session=True,
        preexec_fn=usual_signals,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(lambda: kept.exists() and len(list(kept.glob("*.kept"))) > 3)
        assert len(alive(sweep.pid)) > 2  # itself and two workers
        # To the sweep alone, as `kill` does; Ctrl-C would reach the workers too.
        sweep.send_signal(number)
        assert sweep.wait(120) != 0
        wait_for(lambda: not alive(sweep.pid))
    finally:
        for process in alive(sweep.pid):
            os.kill(process, signal.SIGKILL)
        sweep.wait(60)
    assert len(list(kept.glob("*.kept"))) > 3
    assert not table.exists()


def test_a_signal_that_nohup_ignores_stays_ignored():
    before = {number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGTERM)}
    try:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        sweeps._raise_on_signals()
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        with pytest.raises(SystemExit) as ended:
            signal.raise_signal(signal.SIGTERM)
        assert ended.value.code == 128 + signal.SIGTERM
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

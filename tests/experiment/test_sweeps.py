"""Sweeps: rows of the table, signals."""

import json
import signal

import numpy as np
import pytest

from onestep_lib import Setting, simulate
from onestep_lib.experiment import sweeps

CASE = {
    "n": 30, "d": 15, "N": 20, "activation": "tanh", "target": (0.0, 1.0), "ridge": 0.1,
    "exponents": (0.0, 0.3), "repeats": 40, "seed": 5,
}  # fmt: skip


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """The sweep's one case."""
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

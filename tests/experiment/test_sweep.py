"""Sweeps in real processes: killed, cut short or damaged, they lose nothing and keep nothing wrong."""

import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from onestep_lib import Setting, one_step, simulate
from onestep_lib.__main__ import main
from onestep_lib.experiment import run_sweep, spec_settings, stored_table
from onestep_lib.experiment.simulation import _seconds_each, one_repeat
from onestep_lib.experiment.sweep import points_of, sweep_cost

try:
    import resource
except ImportError:  # Windows
    resource = None
posix = pytest.mark.skipif(resource is None, reason="kills and limits processes as POSIX does")

ROOT = Path(__file__).resolve().parents[2]
SPEC = {
    "setting": {"d": 15, "N": 20, "exponents": [0.0, 0.3], "target": [0, 1, 0.5]},
    "grid": {"n": [30, 40], "noise": [0.0, 0.5]},
    "repeats": 11,
    "seed": 5,
}
# The same as a file, with repeats that take long enough to be killed in.
TOML = """
repeats = 11
seed = 5
[setting]
d = 100
N = 150
exponents = [0.0, 0.3]
[grid]
n = [200, 300]
"""


def same(one, other):
    assert list(one) == list(other)
    for key, values in one.items():
        assert values.tolist() == other[key].tolist() or np.array_equal(values, other[key], equal_nan=True), (
            key
        )


@pytest.fixture(scope="module")
def table():
    return run_sweep(SPEC)


def test_the_table_is_what_the_simulator_and_the_theory_say(table):
    setting = Setting(n=40, d=15, N=20, target=(0, 1, 0.5), noise=0.5, step=(0.0, 1.0, 40**0.3))
    assert spec_settings(SPEC)["n = 40, noise = 0.5"] == setting
    seed = points_of({**SPEC, "case": {}})["n = 40, noise = 0.5"]["seed"]
    assert len(seed) == 5
    draws = [one for k, count in ((0, 10), (1, 10)) for one in tens(setting, [*seed, k], count)][:11]
    rows = {key: values[(table["n"] == 40) & (table["noise"] == 0.5)] for key, values in table.items()}
    test = np.array(draws)[:, 1]
    np.testing.assert_allclose(rows["test"], test.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(rows["test_se"], test.std(axis=0, ddof=1) / 11**0.5, rtol=1e-13)
    change = test - test[:, :1]
    np.testing.assert_allclose(rows["test_change"], change.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(rows["test_change_se"], change.std(axis=0, ddof=1) / 11**0.5, rtol=1e-13)
    np.testing.assert_array_equal(rows["test_theory"], one_step(setting).test)
    np.testing.assert_array_equal(rows["step"], setting.step)
    np.testing.assert_array_equal(rows["exponent"], [np.nan, 0.0, 0.3])


def tens(setting, seed, count):
    return simulate(setting, np.random.default_rng(seed), count).draws


def test_numbers_do_not_depend_on_workers_or_other_points(table):
    same(run_sweep(SPEC, jobs=2), table)
    turned = run_sweep({**SPEC, "grid": {"noise": [0.5], "n": [50, 40]}, "repeats": 11})
    ours = (table["n"] == 40) & (table["noise"] == 0.5)
    assert turned["test"][turned["n"] == 40].tolist() == table["test"][ours].tolist()
    more = run_sweep({**SPEC, "seed": 6})
    assert not np.any(more["test"] == table["test"])


def test_a_seed_of_a_case_pairs_cases():
    base = {"setting": {"n": 30, "d": 15, "N": 20}, "repeats": 2}
    own = run_sweep({**base, "case": {"a": {"seed": 1}, "b": {"seed": 1, "noise": 0.0}, "c": {"seed": 2}}})
    assert own["point"].tolist() == ["a", "b", "c"]
    assert own["test"][0] == own["test"][1] != own["test"][2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"repeat": 3}, "repeat is not known here; what is: setting, grid"),
        ({"setting": {"activaton": "tanh"}}, "setting.activaton is not known here"),
        ({"case": {"a": {"nn": 3}}}, "case.a.nn is not known here"),
        ({"grid": {"n": 30}}, "grid.n must be a list of values, got 30"),
        ({"grid": {"n": [30, -1]}}, "point 'n = -1': n must be an integer >= 1, got -1"),
        ({"grid": {}}, "point 'all': n must be an integer >= 1, got None"),
        ({"grid": {"d": [3]}, "setting": {}}, "point 'd = 3': n and N must be given"),
        ({"repeats": 1}, "repeats must be an integer >= 2, got 1"),
        ({"seed": -1}, "seed must be an integer >= 0, got -1"),
        ({"theory": "all"}, "theory must be one of"),
        ({"setting": {"d": 3, "N": 4, "exponents": [0.1], "step": 2}}, "exponents and step must not both"),
        ({"setting": {"d": 3, "N": 4, "activation": np.tanh}}, "is not JSON serializable"),
    ],
)
def test_an_error_in_a_spec_names_the_key(change, message):
    with pytest.raises((TypeError, ValueError), match=message):
        run_sweep({**SPEC, **change})


def test_a_file_is_named_too(tmp_path, capsys):
    path = tmp_path / "a.toml"
    path.write_text("repeats = = 3")
    with pytest.raises(ValueError, match=r"a\.toml: Invalid value \(at line 1"):
        run_sweep(path)
    path.write_text(TOML.replace("exponents", "exponent"))
    with pytest.raises(SystemExit):
        main(["sweep", str(path), "--out", str(tmp_path)])
    assert "a.toml: setting.exponent is not known here" in capsys.readouterr().err
    with pytest.raises(ValueError, match="name must be one of 'beyond', "):
        stored_table("another")


def test_what_a_theory_refuses_is_said_and_missing():
    spec = {"setting": {"n": 30, "d": 15, "N": 20, "inputs": "student"}, "repeats": 2, "seed": 0}
    with pytest.warns(RuntimeWarning, match="no theory for .*inputs must be one of 'gaussian', 'spherical'"):
        found = run_sweep(spec)
    assert np.isnan(found["test_theory"]).all()
    nearest = run_sweep({**spec, "theory": "nearest"})
    assert nearest["test_theory"] == one_step(Setting(30, 15, 20)).test


def lines(folder):
    path = folder / "tasks.jsonl"
    return path.read_bytes().split(b"\n")[1:] if path.exists() else []


def test_finished_tasks_are_kept_and_no_others(tmp_path, table, monkeypatch):
    same(run_sweep(SPEC, tmp_path), table)
    assert len(lines(tmp_path)) == 4 * 12
    monkeypatch.setattr("onestep_lib.experiment.sweep._compute", None)  # nothing is left to compute
    same(run_sweep(SPEC, tmp_path), table)
    monkeypatch.undo()
    path = tmp_path / "tasks.jsonl"
    whole = path.read_bytes()
    digit = whole.index(b"0.", whole.index(b"losses")) + 4
    for damaged in (
        whole[:-20],  # the last line is torn
        whole[:-20] + b"\n" + lines(tmp_path)[3],  # ... and another sweep wrote after it
        whole[:digit] + (b"1" if whole[digit:] != b"1" else b"2") + whole[digit + 1 :],  # one digit
        whole[:200] + b"\xff\x00" + whole[202:],
    ):
        path.write_bytes(damaged)
        with pytest.warns(RuntimeWarning, match=r"1 line\(s\) torn or damaged are not used"):
            same(run_sweep(SPEC, tmp_path), table)


def test_outdated_and_foreign_lines_are_said(tmp_path, table, monkeypatch):
    run_sweep({**SPEC, "grid": {"n": [30], "noise": [0.25]}}, tmp_path)
    with pytest.warns(RuntimeWarning, match=r"12 line\(s\) of no task of this spec"):
        same(run_sweep(SPEC, tmp_path), table)
    monkeypatch.setattr("onestep_lib.experiment.sweep.library_version", lambda: "another")
    with pytest.warns(RuntimeWarning, match=r"60 line\(s\) of another version of the library"):
        same(run_sweep(SPEC, tmp_path), table)


def test_a_worker_with_another_library_is_refused(tmp_path, monkeypatch):
    versions = iter(["new", "old"])
    monkeypatch.setattr("onestep_lib.experiment.sweep.library_version", lambda: next(versions))
    with pytest.raises(RuntimeError, match=r"a worker has another library \(old\) than the sweep \(new\)"):
        run_sweep(SPEC, tmp_path)
    assert not lines(tmp_path)


# In processes of their own.


def start(tmp_path, *options, before="", limit=None):
    code = f"import os, signal\nfrom onestep_lib.__main__ import main\n{before}\nmain()"
    command = [
        sys.executable,
        "-c",
        code,
        "sweep",
        str(tmp_path / "spec.toml"),
        "--out",
        str(tmp_path / "out"),
    ]
    return subprocess.Popen(
        [*command, *options],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        start_new_session=True,
        preexec_fn=None
        if limit is None
        else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(TOML)
    return path


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "spec.toml"
    path.write_text(TOML)
    return run_sweep(path)


def finished(tmp_path, *options):
    """Run it to its end; what it says, and the table that it wrote."""
    process = start(tmp_path, *options)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    columns = json.loads((tmp_path / "out" / "spec.json").read_text())["columns"]
    return said, {key: np.array(values) for key, values in columns.items()}


def wait_for(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@posix
@pytest.mark.parametrize("options", [(), ("--jobs", "2")])
def test_killed_in_the_middle_of_a_task(tmp_path, spec, undisturbed, options):
    for count in (2, 9):
        process = start(tmp_path, *options)
        wait_for(lambda least=count: len(lines(tmp_path / "out")) >= least)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert not (tmp_path / "out" / "spec.json").exists()
    kept = lines(tmp_path / "out")
    _, table = finished(tmp_path, *options)
    same(table, undisturbed)
    assert lines(tmp_path / "out")[: len(kept)] == kept
    assert len(lines(tmp_path / "out")) == 24


@posix
def test_killed_in_the_middle_of_a_write(tmp_path, spec, undisturbed):
    half = """
write, count = os.write, iter(range(5))
def dying(file, line):
    if next(count) == 4:
        write(file, line[: len(line) // 2])
        os.kill(os.getpid(), signal.SIGKILL)
    return write(file, line)
os.write = dying
"""
    process = start(tmp_path, before=half)
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    said, table = finished(tmp_path)
    assert "1 line(s) torn or damaged are not used" in said
    same(table, undisturbed)
    assert len(lines(tmp_path / "out")) == 25


@posix
def test_a_full_disk(tmp_path, spec, undisturbed):
    process = start(tmp_path, limit=3000)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "the disk is full; what was finished is kept, sweep again" in said
    kept = lines(tmp_path / "out")
    assert len(kept) > 3
    said, table = finished(tmp_path)
    assert "1 line(s) torn or damaged are not used" in said
    same(table, undisturbed)
    assert lines(tmp_path / "out")[: len(kept)] == kept


def test_two_sweeps_on_one_folder(tmp_path, spec, undisturbed):
    both = [start(tmp_path), start(tmp_path)]
    for process in both:
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
    said, table = finished(tmp_path)
    assert "not used" not in said
    same(table, undisturbed)


@posix
def test_a_lost_worker_of_a_cluster(tmp_path, spec, undisturbed):
    pytest.importorskip("distributed")
    spec.write_text(TOML)
    address = tmp_path / "scheduler.json"
    env = os.environ | {"PYTHONPATH": str(ROOT)}

    def run(*what):
        command = [sys.executable, "-m", *what, "--scheduler-file", str(address)]
        return subprocess.Popen(command, env=env, cwd=tmp_path, stderr=subprocess.DEVNULL)

    cluster = [run("distributed.cli.dask_scheduler", "--port", "0", "--dashboard-address", ":0")]
    try:
        worker = ("distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", "--dashboard-address", ":0")
        cluster += [run(*worker), run(*worker)]
        wait_for(address.exists)
        process = start(tmp_path, "--dask", json.loads(address.read_text())["address"])
        wait_for(lambda: len(lines(tmp_path / "out")) >= 4)
        cluster[1].kill()
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
    finally:
        for one in cluster:
            one.kill()
            one.wait()
    _, table = finished(tmp_path)
    same(table, undisturbed)
    assert len(lines(tmp_path / "out")) == 24


@pytest.mark.parametrize(
    "fields",
    [
        {"n": 400, "d": 200, "N": 300, "step": [0.0, 5.0]},
        {"n": 800, "d": 300, "N": 300, "step": 5.0, "n_0": 1600},
        {"n": 300, "d": 300, "N": 1000, "ridge": [0.01, 0.03, 0.1, 0.3, 1, 3]},
    ],
)
def test_the_cost_is_near_what_is_measured(fields):
    spec = {"setting": fields, "repeats": 2, "seed": 0}
    (setting,) = spec_settings(spec).values()
    ratios = []
    for repeat in range(4):
        _seconds_each.cache_clear()  # a busy machine changes its mind
        seconds, begun = sweep_cost(spec)["seconds"] / 2, time.process_time()
        one_repeat(setting, np.random.default_rng(repeat))
        ratios.append((time.process_time() - begun) / seconds)
    tracemalloc.start()
    one_repeat(setting, np.random.default_rng(0))
    memory = tracemalloc.get_traced_memory()[1] / sweep_cost(spec)["bytes"]
    tracemalloc.stop()
    print(f"measured over predicted: seconds {np.round(ratios, 2)}, memory {memory:.2f}")
    assert 1 / 2 < memory < 2
    assert 1 / 2 < np.median(ratios) < 2


def test_the_dry_run(tmp_path, spec, capsys):
    main(["sweep", str(spec), "--out", str(tmp_path / "out"), "--dry-run"])
    said = capsys.readouterr().out
    assert said.startswith("24 tasks, ")
    assert "GB a worker" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", [path.stem for path in (ROOT / "onestep_lib/datasets").glob("*.toml")])
def test_stored_tables_are_those_of_their_specs(name):
    table, settings = stored_table(name), spec_settings(name)
    assert list(dict.fromkeys(table["point"])) == list(settings)
    for point, setting in settings.items():
        rows = table["point"] == point
        np.testing.assert_array_equal(table["step"][rows], setting.step)
        assert set(table["N"][rows]) == {setting.N}


@pytest.mark.parametrize(
    ("name", "point", "seed"),
    [
        ("beyond", "digits, d = 40", 28),
        ("three_sizes", "d = 50", 71),
        ("finite_real", "s = 0.5", 12),
        ("one_curve_checks", "odd, λ = 0.5", 4),
        ("giant_steps", "sizes", 0),
        ("one_giant_step", "relu, sin", 3),
    ],
)
def test_a_stored_entry_drawn_again(name, point, seed):
    """The first twenty repeats, from the streams of the table, lie around its mean as they should."""
    table, setting = stored_table(name), spec_settings(name)[point]
    rows = table["point"] == point
    draws = np.concatenate([tens(setting, [seed, k], 10) for k in range(2)])[:, 1]
    change = draws - draws[:, :1]
    error = table["test_change_se"][rows] * np.sqrt(table["repeats"][rows] / 20)
    z = (change.mean(axis=0) - table["test_change"][rows])[1:] / error[1:]
    assert np.abs(z).max() < 4

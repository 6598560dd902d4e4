"""What is kept on disk: found only where nothing that enters has changed, and never in the way.

Folders are those of subprocesses with an environment of their own, so that the reader's is not touched.
"""

import errno
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from onestep_lib import cache, cache_folder, clear_cache
from onestep_lib._files import replace_file
from onestep_lib.activations import Target, target
from onestep_lib.cache import kept
from onestep_lib.large_step import batch_signed

ROOT = Path(__file__).resolve().parents[1]
ARRAYS = {"a": np.array([0.1, np.nan, -np.inf]), "b": np.array([[1, 2], [3, 4]])}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    cache._say.cache_clear()
    monkeypatch.setenv("ONESTEP_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


class Counted:
    """ARRAYS, and how often they were computed."""

    calls = 0

    def __call__(self):
        self.calls += 1
        return ARRAYS


def assert_kept(compute, argument=1, calls=1):
    found = kept("number", argument, compute)
    assert compute.calls == calls
    assert found.keys() == ARRAYS.keys()
    for key, values in ARRAYS.items():
        np.testing.assert_array_equal(found[key], values, strict=True)


def python(code, *, cwd=ROOT, root=ROOT, **environment):
    """Run code in a new interpreter that imports the library at `root`; a value None unsets a variable."""
    names = {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    env = {k: v for k, v in (os.environ | names).items() if v is not None}
    return subprocess.run([sys.executable, "-c", code], cwd=cwd, env=env, capture_output=True, text=True)


def test_a_number_is_computed_once(folder):
    compute = Counted()
    for _ in range(2):
        assert_kept(compute)
    assert_kept(compute, argument=2, calls=2)
    assert len(list(folder.iterdir())) == 2


def test_arguments_that_differ_in_the_last_digit_differ(folder):
    compute = Counted()
    for calls, argument in enumerate((0.1, np.nextafter(0.1, 1), [0.1], {"x": 0.1}, "0.1", True, 1), start=1):
        assert_kept(compute, argument, calls)


def test_an_argument_that_has_no_exact_text_is_refused(folder):
    with pytest.raises(TypeError):
        kept("number", np.zeros(2000), Counted())


# Where the folder is.


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"ONESTEP_CACHE": "/a/b"}, "/a/b"),
        ({"ONESTEP_CACHE": ""}, None),
        ({"ONESTEP_CACHE": "off"}, None),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/onestep_lib"),
        ({"XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/onestep_lib"),
        ({"XDG_CACHE_HOME": "caches", "HOME": "/h"}, "/h/.cache/onestep_lib"),
        ({"HOME": "/h"}, "/h/.cache/onestep_lib"),
        ({"HOME": "h"}, None),
    ],
)
def test_the_folder(monkeypatch, environment, expected):
    for name in ("ONESTEP_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == (expected and Path(expected))


def test_a_relative_folder_is_not_used(monkeypatch):
    cache._say.cache_clear()
    monkeypatch.setenv("ONESTEP_CACHE", "caches")
    with pytest.warns(RuntimeWarning, match="absolute path.*'caches'"):
        assert cache_folder() is None
    assert cache_folder() is None  # said once


def no_home():
    raise RuntimeError("Could not determine home directory.")


def test_a_chosen_folder_needs_no_home(folder, monkeypatch):
    monkeypatch.setattr(Path, "home", no_home)
    assert cache_folder() == folder
    monkeypatch.delenv("ONESTEP_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() is None
    compute = Counted()
    for calls in (1, 2):
        assert_kept(compute, calls=calls)


USE = """
import warnings
from onestep_lib import Setting, one_step, cache
import numpy as np
for argument in (1, 2):
    print(cache.kept("number", argument, lambda: {"a": np.ones(2)})["a"])
"""


# Nothing can be made below a file, whoever runs this.
@pytest.mark.parametrize("home", ["/dev/null", "/proc/none", None])
def test_the_library_works_without_a_home(home):
    done = python(USE, HOME=home, XDG_CACHE_HOME=None, ONESTEP_CACHE=None if home else "/dev/null/cache")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[1. 1.]\n" * 2
    assert done.stderr.count("RuntimeWarning") == 1
    assert "set ONESTEP_CACHE to a folder that can be written, or to 'off'" in done.stderr


@pytest.mark.parametrize("environment", [{"XDG_CACHE_HOME": ""}, {"ONESTEP_CACHE": "kept"}, {"HOME": "."}])
def test_nothing_is_written_into_the_working_folder(tmp_path, environment):
    checkout, home = tmp_path / "checkout", tmp_path / "home"
    checkout.mkdir()
    names = {"HOME": str(home), "XDG_CACHE_HOME": None, "ONESTEP_CACHE": None} | environment
    done = python(USE, cwd=checkout, **names)
    assert done.returncode == 0, done.stderr
    assert list(checkout.iterdir()) == []


def test_an_import_makes_nothing(tmp_path):
    done = python(
        "import onestep_lib.experiment.sweeps", HOME=str(tmp_path), XDG_CACHE_HOME=None, ONESTEP_CACHE=None
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_clearing_removes_what_was_kept_and_nothing_else(folder):
    clear_cache()  # no folder yet
    for argument in (1, 2):
        kept("number", argument, Counted())
    draft = folder / f".number-{'0' * 64}.kept.{'0' * 16}.tmp"
    others = [folder / "thesis.tex", folder / "number-1.kept", folder / ".tmp"]
    for path in (draft, *others):
        path.write_text("mine")
    clear_cache()
    assert sorted(folder.iterdir()) == sorted(others)
    assert_kept(Counted())


# Files that are not what was written.


def the_file(folder):
    (path,) = folder.iterdir()
    return path


@pytest.mark.parametrize(
    "damage", [lambda b: b"", lambda b: b[:40], lambda b: b[:-1], lambda b: b"garbage" * 99],
    ids=["empty", "head", "cut", "garbage"],
)  # fmt: skip
def test_a_torn_file_is_computed_again_and_replaced(folder, damage):
    kept("number", 1, Counted())
    path, compute = the_file(folder), Counted()
    path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(RuntimeWarning, match="is damaged"):
        assert_kept(compute)
    assert_kept(compute)


def test_no_changed_byte_goes_unnoticed(folder):
    kept("number", 1, Counted())
    content = the_file(folder).read_bytes()
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place in rng.choice(len(content), 200, replace=False):
            torn = bytearray(content)
            torn[place] ^= 1 << rng.integers(8)
            the_file(folder).write_bytes(torn)
            assert_kept(Counted())


def test_a_folder_in_the_file_s_place_is_in_nobody_s_way(folder):
    kept("number", 1, Counted())
    path = the_file(folder)
    path.unlink()
    path.mkdir()
    with pytest.warns(RuntimeWarning, match="cannot be kept"):
        assert_kept(Counted())


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_costs_the_time_only(folder, monkeypatch, call):
    monkeypatch.setattr(os, call, full)
    compute = Counted()
    with pytest.warns(RuntimeWarning, match="No space left on device"):
        assert_kept(compute)
    assert_kept(compute, calls=2)  # said once
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_file_is_whole_or_as_it_was(tmp_path, monkeypatch, call):
    path = tmp_path / "table.json"
    path.write_text("old")
    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(OSError, match="No space"):
            replace_file(path, b"new")
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]
    replace_file(path, b"new")
    assert [p.read_text() for p in tmp_path.iterdir()] == ["new"]


def test_a_replaced_file_keeps_its_mode_and_a_link_stays_one(tmp_path):
    path, link, new = (tmp_path / name for name in ("file", "link", "new"))
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    replace_file(link, b"1")
    assert link.is_symlink()
    assert path.read_text() == "1"
    assert path.stat().st_mode & 0o777 == 0o640
    plain = tmp_path / "plain"
    plain.write_text("")
    replace_file(new, b"")
    assert new.stat().st_mode == plain.stat().st_mode


TOGETHER = """
import sys, time
from onestep_lib.cache import kept
import numpy as np
for argument in range(60):
    size = 20_000
    found = kept("number", argument, lambda: {"a": np.full(size, argument), "b": np.full(size, argument)})
    assert all(np.all(values == argument) and values.size == size for values in found.values())
"""


def test_processes_at_once_meet_no_half_file(tmp_path):
    env = os.environ | {"PYTHONPATH": str(ROOT), "ONESTEP_CACHE": str(tmp_path)}
    command = [sys.executable, "-W", "error", "-c", TOGETHER]
    running = [subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for process in running:
        _, said = process.communicate()
        assert (process.returncode, said) == (0, "")
    assert len(list(tmp_path.iterdir())) == 60


# What the key follows.


@pytest.fixture
def copy(tmp_path):
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "onestep_lib", tmp_path / "onestep_lib", ignore=ignored)
    return tmp_path


VERSION = "from onestep_lib.cache import library_version; print(library_version())"


def version(root):
    done = python(VERSION, cwd=root, root=root)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["ridge.py", "gradient.py", "digits.npz"])
def test_an_edit_of_the_library_changes_the_key(copy, name):
    first = version(copy)
    assert version(copy) == first
    (path,) = copy.rglob(name)
    path.write_bytes(path.read_bytes() + b"\n")
    assert version(copy) != first


def test_what_an_editor_leaves_beside_a_module_is_in_nobody_s_way(copy):
    first = version(copy)
    (copy / "onestep_lib" / ".#ridge.py").symlink_to("someone@somewhere.1234")
    assert version(copy) == first


def test_other_versions_of_the_packages_change_the_key(folder, monkeypatch):
    compute = Counted()
    assert_kept(compute)
    for calls, package in enumerate(("np", "scipy"), start=2):
        monkeypatch.setattr(getattr(cache, package), "__version__", "0.1")
        assert_kept(compute, calls=calls)


EDITED = """
import pathlib
import numpy as np
import onestep_lib
from onestep_lib.cache import kept
kept("number", 1, lambda: {"a": np.zeros(1)})
path = pathlib.Path(onestep_lib.__file__)
path.write_text(path.read_text() + "\\n")
kept("number", 2, lambda: {"a": np.zeros(1)})
print(kept("number", 1, lambda: {"a": np.ones(1)})["a"])
"""


def test_nothing_is_kept_by_a_process_whose_source_was_edited_since(copy):
    """A running kernel has the old source, a reloaded module the new one: neither may leave its numbers."""
    done = python(EDITED, cwd=copy, root=copy, ONESTEP_CACHE=str(copy / "kept"))
    assert (done.returncode, done.stdout) == (0, "[1.]\n"), done.stderr
    assert "edited after it was imported" in done.stderr
    assert len(list((copy / "kept").iterdir())) == 1


EDITED_FIRST = """
import os, pathlib
import numpy as np
import onestep_lib
from onestep_lib.cache import kept
path = pathlib.Path(onestep_lib.__file__)
old = path.stat()
path.write_text(path.read_text() + "\\n")
os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))
print(kept("number", 1, lambda: {"a": np.ones(1)})["a"])
"""


@pytest.mark.skipif(os.name == "nt", reason="the time of the last change cannot be told from that of writing")
def test_an_edit_before_anything_was_kept_is_seen_too(copy):
    """Also one that comes with an old time of writing, as from an archive."""
    done = python(EDITED_FIRST, cwd=copy, root=copy, ONESTEP_CACHE=str(copy / "kept"))
    assert (done.returncode, done.stdout) == (0, "[1.]\n"), done.stderr
    assert "edited after it was imported" in done.stderr
    assert not (copy / "kept").exists()


# The one theory that keeps its set-up.


def spectrum_of(monkeypatch, targets):
    """How often the spectrum is computed over a list of targets, each in a process that knows none."""
    calls = []

    def counted(function, noise, alpha):
        calls.append(function)
        return batch_signed.SignedSpectrum(*np.zeros((7, 3)))

    monkeypatch.setattr(batch_signed, "signed_spectrum", counted)
    for labels in targets:
        batch_signed.kept_spectrum.cache_clear()
        batch_signed.kept_spectrum(labels, 0.3, 2.0)
    batch_signed.kept_spectrum.cache_clear()
    return len(calls)


def bump(x):
    """He_1 + He_2/sqrt(2), but for a hill inside (.001, .004)."""
    x = np.asarray(x, dtype=float)
    return x + (x**2 - 1) / 2**0.5 + 300 * ((x > 0.001) & (x < 0.004))


def plain(x):
    return np.asarray(x) + (np.asarray(x) ** 2 - 1) / 2**0.5


def test_targets_by_name_or_coefficients_are_kept(folder, monkeypatch):
    he12 = target((0, 1, 2**-0.5))
    assert spectrum_of(monkeypatch, [he12, he12, target((0, 1, 2**-0.5))]) == 1
    assert spectrum_of(monkeypatch, [target("sin")] * 2) == 1
    assert spectrum_of(monkeypatch, [target((0, 1, np.nextafter(2**-0.5, 1)))]) == 1
    # The same function on other panels is another number in its last digits.
    assert spectrum_of(monkeypatch, [Target("kinked", he12.function, (0.5,), he12.polynomial)]) == 1


def test_the_spectrum_from_disk_is_the_one_that_was_computed(folder, monkeypatch):
    labels = target((0, 1, 0.2))
    first = batch_signed.kept_spectrum(labels, 0.3, 2.0)
    batch_signed.kept_spectrum.cache_clear()
    monkeypatch.setattr(batch_signed, "signed_spectrum", None)
    second = batch_signed.kept_spectrum(labels, 0.3, 2.0)
    for name, values in vars(first).items():
        np.testing.assert_array_equal(getattr(second, name), values, strict=True)


def test_other_callables_are_not_kept(folder, monkeypatch):
    """Two that differ only inside (.001, .004) have the same values on every grid that misses it."""
    grid = np.linspace(-9, 9, 4001)
    np.testing.assert_array_equal(bump(grid), plain(grid))
    kinks = (0.001, 0.004)
    pair = [Target("mine", bump, kinks), Target("mine", plain, kinks)]
    assert spectrum_of(monkeypatch, pair * 2) == 4
    # Neither a name nor coefficients that are not the function's own are believed.
    assert spectrum_of(monkeypatch, [Target("sin", plain), target("sin")]) == 2
    assert spectrum_of(monkeypatch, [Target("he", bump, kinks, (0.0, 1.0)), target((0.0, 1.0))]) == 2
    assert len(list(folder.iterdir())) == 2

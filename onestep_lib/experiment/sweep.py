r"""Sweeps: many settings, many repeats, theory beside simulation, kept as they are finished.

A *spec* is a TOML file, or a dict of the same form:

.. code-block:: toml

   repeats = 20
   seed = 1

   [setting]                # arguments of `onestep_lib.Setting`, the same for all
   d = 200
   N = 300
   target = [0, 1, 0.5]
   exponents = [0.2, 0.5]   # steps 0 and n^0.2, n^0.5, over the number of updates

   [grid]                   # every combination of these
   n = [200, 400, 800]
   noise = [0, 0.5]

Instead of a grid, or with one, ``[case.NAME]`` tables give arguments that belong together; a case may have
its own ``repeats`` and ``seed``. ``theory`` is "one_step" unless the spec says "random_features",
"giant_step", "none", or "nearest": one_step for the nearest setting that it covers.

**Streams.** A point of the grid draws from streams of its own, made from the seed and the point's arguments:
numbers do not depend on the number of workers or on the other points. A ``seed`` that stands in a case is
used as it is, so that cases with one seed share their draws. Repeat r draws from child r mod 10 of
``numpy.random.default_rng([*seed, r // 10])``.

**What is kept.** A folder holds one line a finished task (a repeat of a point, or its theory) in
``tasks.jsonl``, with the task, the library's version and a checksum. Lines are only appended, so that
several sweeps may share a folder; a line that is torn or of another version is said and computed again.

Functions
---------
run_sweep        simulate a spec: a table of the losses, theory beside simulation
stored_table     a table that comes with the library
spec_settings    the settings of a spec, by the names of its points
sweep_cost       flops, memory and seconds of a spec on this machine
"""

from __future__ import annotations

import errno
import hashlib
import inspect
import json
import os
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from onestep_lib._checks import check_choice, check_count, check_instance, check_vector, shown
from onestep_lib.convergence import ConvergenceError
from onestep_lib.experiment.simulation import flops, one_repeat, peak_bytes, seconds
from onestep_lib.large_step.one_curve import giant_step, nearest_setting, one_step
from onestep_lib.no_step.gaussian_equivalence import random_features
from onestep_lib.repeats import mean_and_error
from onestep_lib.settings import LOSSES, Losses, Setting

__all__ = [
    "run_sweep",
    "spec_settings",
    "stored_table",
]

THEORIES: dict[str, Callable[[Setting], Losses]] = {
    "one_step": one_step,
    "nearest": lambda setting: one_step(nearest_setting(setting)),
    "random_features": random_features,
    "giant_step": giant_step,
}
_KEYS = ("setting", "grid", "case", "repeats", "seed", "theory")
_FIELDS = (*inspect.signature(Setting).parameters, "exponents", "seed", "repeats")
# A label that tells tasks apart: a repeat's number, or a theory's name.
Task = tuple[dict[str, Any], int | str]


def run_sweep(
    spec: str | Path | dict[str, Any], folder: str | Path | None = None, jobs: int | None = None
) -> dict[str, np.ndarray]:
    """Simulate a spec: a table of the losses, theory beside simulation.

    Parameters
    ----------
    spec : str, Path or dict
        A TOML file, or a dict of the same form (see the module).
    folder : str or Path, optional
        Where finished tasks are kept, so that a killed sweep goes on where it stopped. None: nowhere.
    jobs : int, optional
        Worker processes. By default those of the joblib backend around the call
        (``joblib.parallel_config``), of which there is one outside of any.

    Returns
    -------
    dict of str to ndarray
        Columns, one row for each point, step and penalty: the ``point``'s name and arguments, ``exponent``,
        ``step``, ``ridge``, and for each loss its mean, ``_se``, ``_theory``, the ``_change`` from the first
        step of the path, repeat by repeat, and ``_change_se``. ``pandas.DataFrame`` takes it as it is.

    Examples
    --------
    >>> from onestep_lib.experiment import run_sweep
    >>> spec = {"setting": {"d": 20, "N": 30}, "grid": {"n": [30, 60]}, "repeats": 2, "seed": 0}
    >>> table = run_sweep(spec)
    >>> print(table["n"], table["test_theory"].round(2))
    [30 60] [0.34 0.24]
    """
    from joblib import Parallel, delayed
    from tqdm.auto import tqdm

    spec, version = _read(spec), library_version()
    tasks = {_label(*task): task for task in _tasks(spec)}
    path = None if folder is None else Path(folder) / "tasks.jsonl"
    done = {} if path is None else _kept(path, version, set(tasks))
    todo = [(label, *task) for label, task in tasks.items() if label not in done]
    work = {one: isinstance(which, int) * flops(setting_of(point)) for one, point, which in todo}
    tasks_left = [delayed(_compute)(*task, version) for task in todo]
    bar = tqdm(total=sum(work.values()), desc="sweep", unit="flop", unit_scale=True, disable=folder is None)
    with bar, closing(Parallel(n_jobs=jobs, return_as="generator_unordered")(tasks_left)) as results:
        for label, losses in results:
            if isinstance(losses, str):
                warnings.warn(f"no theory for {label}: {losses}", RuntimeWarning, stacklevel=2)
                continue
            done[label] = losses
            if path is not None:
                _append(path, {"task": label, "version": version, "losses": losses})
            bar.update(work[label])
    rows = _rows(spec, done)
    keys = dict.fromkeys(key for row in rows for key in row)
    return {key: _array([row.get(key) for row in rows]) for key in keys}


def spec_settings(spec: str | Path | dict[str, Any]) -> dict[str, Setting]:
    """Return the settings of a spec, by the names of its points.

    Parameters
    ----------
    spec : str, Path or dict
        As `run_sweep` takes it; or the name of a table that comes with the library.

    Examples
    --------
    >>> from onestep_lib.experiment import spec_settings
    >>> list(spec_settings({"setting": {"d": 20, "N": 30}, "grid": {"n": [30, 60]}, "repeats": 2, "seed": 0}))
    ['n = 30', 'n = 60']
    """
    return {name: setting_of(point) for name, point in points_of(_read(spec)).items()}


def stored_table(name: str) -> dict[str, np.ndarray]:
    """Return a table that comes with the library, in the form of `run_sweep`; its spec stands beside it.

    Parameters
    ----------
    name : str
        The name of a spec in ``onestep_lib/datasets``, such as "one_curve".

    Examples
    --------
    >>> from onestep_lib.experiment import stored_table
    >>> table = stored_table("three_sizes")
    >>> print(table["test"][table["point"] == "d = 450"].round(2)[[0, -1]])  # without a step, with n^0.8
    [1.33 0.44]
    """
    columns = json.loads(_stored(name, "json").read_text("utf-8"))["columns"]
    return {key: _array(values) for key, values in columns.items()}


def _stored(name: str, kind: str) -> Path:
    folder = Path(str(resources.files("onestep_lib") / "datasets"))
    check_choice("name", name, sorted(path.stem for path in folder.glob("*.toml")))
    return folder / f"{name}.{kind}"


def _read(spec: str | Path | dict[str, Any]) -> dict[str, Any]:
    """The spec with its defaults, whose keys are known and whose points are settings."""
    if not isinstance(spec, dict):
        path = Path(spec) if Path(spec).suffix == ".toml" else _stored(str(spec), "toml")
        try:
            return _read(tomllib.loads(path.read_text("utf-8")))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}: {error}") from None
    plain: dict[str, Any] = {"setting": {}, "grid": {}, "case": {}, "theory": "one_step"}
    spec = plain | {"repeats": None, "seed": None} | spec
    for key in ("setting", "grid", "case"):
        check_instance(key, spec[key], dict)
    cases = {f"case.{name}.": case for name, case in spec["case"].items()}
    for where, table in {"": spec, "setting.": spec["setting"], "grid.": spec["grid"], **cases}.items():
        check_instance(where, table, dict)
        if unknown := set(table) - set(_FIELDS if where else _KEYS):
            known = ", ".join(_FIELDS if where else _KEYS)
            raise ValueError(f"{where}{min(unknown)} is not known here; what is: {known}")
    for key, values in spec["grid"].items():
        if not isinstance(values, list | tuple) or not values:
            raise TypeError(f"grid.{key} must be a list of values, got {shown(values)}")
    check_choice("theory", spec["theory"], (*THEORIES, "none"))
    for name, point in points_of(spec).items():
        try:
            check_count("repeats", point["repeats"], minimum=2)
            check_count("seed", point["seed"][0], minimum=0)
            json.dumps(point)
            setting_of(point)
        except (TypeError, ValueError) as error:
            raise type(error)(f"point {name!r}: {error}") from None
    return spec


def points_of(spec: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The arguments of every point by its name, with ``repeats`` and the ``seed`` of its streams, a list."""
    points = {}
    for (name, case), values in product((spec["case"] or {"": {}}).items(), product(*spec["grid"].values())):
        chosen = dict(zip(spec["grid"], values, strict=True))
        fields = {"repeats": spec["repeats"], **spec["setting"], **case, **chosen}
        repeats, seed = fields.pop("repeats"), [fields.pop("seed", None)]
        if seed == [None]:
            words = hashlib.sha256(json.dumps(fields, sort_keys=True, default=str).encode()).digest()
            seed = [spec["seed"], *np.frombuffer(words[:16], "<u4").tolist()]
        texts = [name] * bool(name) + [f"{key} = {value}" for key, value in chosen.items()]
        points[", ".join(texts) or "all"] = {**fields, "repeats": repeats, "seed": seed}
    return points


def setting_of(point: dict[str, Any]) -> Setting:
    """The setting of a point."""
    fields = {key: value for key, value in point.items() if key not in ("repeats", "seed", "exponents")}
    if "exponents" in point:
        if "step" in fields:
            raise ValueError("exponents and step must not both be given")
        powers = np.atleast_1d(check_vector("exponents", np.atleast_1d(point["exponents"])))
        steps = np.append(0.0, float(check_count("n", fields.get("n"))) ** powers)
        fields["step"] = steps / check_count("updates", fields.get("updates", 1))
    if missing := [key for key in ("n", "d", "N") if key not in fields]:
        raise ValueError(f"{' and '.join(missing)} must be given")
    return Setting(**fields)


def _tasks(spec: dict[str, Any]) -> Iterator[Task]:
    for point in points_of(spec).values():
        if spec["theory"] != "none":
            yield point, spec["theory"]
        yield from ((point, repeat) for repeat in range(point["repeats"]))


def _label(point: dict[str, Any], which: int | str) -> str:
    """All that decides a task's numbers, beside the library. The theory has no seed."""
    left_out = ("repeats", "seed") if isinstance(which, str) else ("repeats",)
    fields = {key: value for key, value in point.items() if key not in left_out}
    return json.dumps([fields, which], sort_keys=True)


def _compute(label: str, point: dict[str, Any], which: int | str, version: str) -> tuple[str, Any]:
    """One task, in whichever process: its losses, (3, steps, penalties), or why there is no theory."""
    if (own := library_version()) != version:
        raise RuntimeError(f"a worker has another library ({own}) than the sweep ({version})")
    setting = setting_of(point)
    if isinstance(which, str):
        try:
            found = THEORIES[which](setting)
        except (ValueError, ConvergenceError) as error:
            return label, str(error)
        losses = np.stack([found[name][0] for name in LOSSES])
    else:
        losses = one_repeat(setting, repeat_rng(point, which))
    return label, losses.reshape(3, setting.steps.size, setting.ridges.size).tolist()


def repeat_rng(point: dict[str, Any], repeat: int) -> np.random.Generator:
    """The stream of a point's repeat."""
    return np.random.default_rng([*point["seed"], repeat // 10]).spawn(10)[repeat % 10]


@cache
def library_version() -> str:
    """What is imported: a hash of the modules that decide numbers, and NumPy, whose streams may change."""
    root, digest = Path(__file__).parents[1], hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] != "figures":
            digest.update(path.read_bytes())
    return f"source {digest.hexdigest()[:12]}, numpy {np.__version__}"


def _checksum(record: dict[str, Any]) -> str:
    body = json.dumps([record["task"], record["version"], record["losses"]])
    return hashlib.sha256(body.encode()).hexdigest()[:16]


def _append(path: Path, record: dict[str, Any]) -> None:
    """Add a line. It begins with its line break, so that what a killed sweep left torn tears no other."""
    line = b"\n" + json.dumps({**record, "check": _checksum(record)}).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    # One write to the end of the file: lines of two sweeps do not mix.
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
    try:
        if os.write(file, line) < len(line):
            raise OSError(errno.ENOSPC, "the disk is full; what was finished is kept, sweep again", str(path))
        os.fsync(file)
    finally:
        os.close(file)


def _kept(path: Path, version: str, wanted: set[str]) -> dict[str, Any]:
    """The losses of the tasks that the folder holds whole, of this version; what else it holds is said."""
    found: dict[str, Any] = {}
    lost: Counter[str] = Counter()
    for line in path.read_bytes().split(b"\n") if path.exists() else ():
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            whole = record["check"] == _checksum(record)
        except (ValueError, KeyError, TypeError):
            whole = False
        if not whole:
            lost["torn or damaged"] += 1
        elif record["version"] != version:
            lost["of another version of the library or NumPy"] += 1
        elif record["task"] not in wanted:
            lost["of no task of this spec"] += 1
        else:
            found[record["task"]] = record["losses"]
    for what, count in lost.items():
        warnings.warn(f"{path}: {count} line(s) {what} are not used", RuntimeWarning, stacklevel=3)
    return found


def _rows(spec: dict[str, Any], done: dict[str, Any]) -> list[dict[str, Any]]:
    """The table, a dict a row."""
    rows = []
    for name, point in points_of(spec).items():
        setting = setting_of(point)
        draws = np.array([done[_label(point, repeat)] for repeat in range(point["repeats"])])
        theory = np.array(done.get(_label(point, spec["theory"]), np.full(draws.shape[1:], np.nan)))
        level, change = mean_and_error(draws), mean_and_error(draws - draws[:, :, :1])
        fields = {
            key: value for key, value in point.items() if key not in ("step", "ridge", "exponents", "seed")
        }
        exponents = [np.nan, *np.atleast_1d(point["exponents"])] if "exponents" in point else None
        for at in np.ndindex(draws.shape[2:]):
            row = {"point": name, **fields}
            if exponents:
                row["exponent"] = float(exponents[at[0]])
            row |= {"step": setting.steps.flat[at[0]].item(), "ridge": setting.ridges.flat[at[1]].item()}
            for loss, mean, se, value, moved, moved_se in zip(LOSSES, *level, theory, *change, strict=True):
                named = {"": mean, "_se": se, "_theory": value, "_change": moved, "_change_se": moved_se}
                row |= {f"{loss}{end}": numbers[at].item() for end, numbers in named.items()}
            rows.append(row)
    return rows


def _array(values: list[Any]) -> np.ndarray:
    """A column; of lists, or with missing values, it is one of objects."""
    if all(isinstance(value, int | float | str) for value in values):
        return np.array(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def write_table(spec: str | Path, folder: str | Path, jobs: int | None = None) -> Path:
    """Run a sweep and write its table, with the spec's name and the version, as JSON into the folder."""
    columns = run_sweep(spec, folder, jobs)
    path, draft = (Path(folder) / f"{Path(spec).stem}{end}" for end in (".json", f".{os.getpid()}.tmp"))
    head = json.dumps({"spec": Path(spec).name, "version": library_version()})[:-1]
    lines = ",\n".join(
        f" {json.dumps(key)}: {json.dumps(values.tolist())}" for key, values in columns.items()
    )
    try:
        draft.write_text(f'{head}, "columns": {{\n{lines}\n}}}}\n', "utf-8")
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def sweep_cost(spec: str | Path | dict[str, Any]) -> dict[str, float]:
    """Return tasks, flops, bytes a worker and CPU seconds in all: a model measured on this machine.

    The theories are left out: they take seconds.
    """
    spec = _read(spec)
    points = [(setting_of(point), point["repeats"]) for point in points_of(spec).values()]
    return {
        "tasks": float(sum(1 for _ in _tasks(spec))),
        "flops": sum(repeats * flops(setting) for setting, repeats in points),
        "bytes": max(peak_bytes(setting) for setting, _ in points),
        "seconds": sum(repeats * seconds(setting) for setting, repeats in points),
    }

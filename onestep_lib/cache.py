"""Numbers that take seconds are kept on disk, one file each, and computed anew wherever that fails.

The folder is `cache_folder`. Nothing is made or written before the first number is kept. A file belongs to
one name, one argument, one source of the whole library, one version of NumPy and one of SciPy, all of which
are in its own name; it holds a checksum, so that a torn file is one that is not there.

The price of a key that no edit escapes: after an edit of any module, also of one that only draws, the
numbers are computed once more. joblib.Memory would not do: it keys by the source of one function, makes its
folder when the function is decorated, and unpickles what it finds.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from onestep_lib._files import replace_file

__all__ = [
    "cache_folder",
    "clear_cache",
]

Arrays = dict[str, np.ndarray]
_OFF = ("", "off")
# A file of the library that changed later is not what this process imported.
_IMPORTED_AT = time.time_ns()
_CHECKSUM = hashlib.sha256().digest_size
# What this module writes, also a draft that a killed process left: nothing else is ever removed.
_OURS = re.compile(r"\.?[a-z_]+-[0-9a-f]{64}\.kept(\.[0-9a-f]{16}\.tmp)?")


def cache_folder() -> Path | None:
    """Return the folder in which the library keeps numbers that take seconds, or None if it keeps none.

    It is the value of the environment variable ``ONESTEP_CACHE`` (an absolute path; empty or ``off`` keeps
    nothing), else ``onestep_lib`` in ``XDG_CACHE_HOME`` or, where that is unset, empty or relative, in
    ``~/.cache``. It may not exist yet: it is made when something is first kept. All of it may be deleted at
    any time; what is missing is computed again.

    Examples
    --------
    >>> from onestep_lib import cache_folder
    >>> cache_folder()  # doctest: +SKIP
    PosixPath('/home/me/.cache/onestep_lib')
    """
    chosen = os.environ.get("ONESTEP_CACHE")
    if chosen is None:
        return _default_folder()
    if chosen in _OFF:
        return None
    if not os.path.isabs(chosen):
        # It would be another folder for every working folder, a checkout among them.
        _say(f"ONESTEP_CACHE must be an absolute path, or 'off', got {chosen!r}: nothing is kept on disk")
        return None
    return Path(chosen)


def _default_folder() -> Path | None:
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):
        return Path(base) / "onestep_lib"
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home
        return None
    return home / ".cache" / "onestep_lib" if home.is_absolute() else None


def clear_cache() -> None:
    """Remove what the library has kept on disk, and nothing else, from `cache_folder`.

    Examples
    --------
    >>> from onestep_lib import clear_cache
    >>> clear_cache()  # doctest: +SKIP
    """
    folder = cache_folder()
    if folder is None or not folder.is_dir():
        return
    for path in folder.iterdir():
        if _OURS.fullmatch(path.name):
            path.unlink(missing_ok=True)


def kept(name: str, argument: object, compute: Callable[[], Arrays]) -> Arrays:
    """Return `compute()`, or the arrays that an earlier call with the same name and argument kept on disk.

    Parameters
    ----------
    name : str
        Of what is computed: lower-case letters and underscores.
    argument : object
        Everything that enters beside the library's source, in plain numbers, strings, lists and dicts.
    compute : callable
        Returns a dict of arrays.
    """
    path = _path(name, argument)
    found = None if path is None else _read(path)
    if found is not None:
        return found
    arrays = compute()
    if path is not None:
        _write(path, arrays)
    return arrays


def _path(name: str, argument: object) -> Path | None:
    folder = cache_folder()
    if folder is None or not _is_as_imported():
        return None
    # JSON writes floats with all their digits and refuses what it cannot tell apart.
    key = hashlib.sha256(json.dumps([library_version(), argument], sort_keys=True).encode()).hexdigest()
    return folder / f"{name}-{key}.kept"


def _read(path: Path) -> Arrays | None:
    try:
        content = path.read_bytes()
    except OSError:
        # Most often there is none yet. Where reading fails otherwise so does writing, which says it.
        return None
    checksum, arrays = content[:_CHECKSUM], content[_CHECKSUM:]
    if hashlib.sha256(arrays).digest() != checksum:
        _say(f"{path} is damaged; its numbers are computed again and the file is replaced")
        return None
    with np.load(io.BytesIO(arrays), allow_pickle=False) as file:
        return dict(file)


def _write(path: Path, arrays: dict[str, Any]) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    content = buffer.getvalue()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, hashlib.sha256(content).digest() + content)
    except OSError as error:
        _say(
            f"numbers that took seconds cannot be kept in {path.parent} ({error.strerror}) and will be "
            "computed again: set ONESTEP_CACHE to a folder that can be written, or to 'off'"
        )


@cache
def _say(message: str) -> None:
    """Warn, once a process."""
    warnings.warn(message, RuntimeWarning, stacklevel=2)


def _source() -> tuple[str, int]:
    """Hash of the library's modules and data as they are on disk now, and the time of their last change.

    The hash is empty where they cannot be read.
    """
    digest, changed = hashlib.sha256(), 0
    root = Path(sys.modules[__name__.partition(".")[0]].__path__[0])
    try:
        paths = sorted(p for suffix in ("*.py", "*.npz") for p in root.rglob(suffix) if p.is_file())
        for path in paths:
            content, times = path.read_bytes(), path.stat()
            digest.update(f"{path.relative_to(root).as_posix()} {len(content)} ".encode() + content)
            # The time of writing may be that of an archive; where there is one (not on Windows), that of the
            # last change of any kind is not.
            changed = max(changed, times.st_mtime_ns if os.name == "nt" else times.st_ctime_ns)
    except OSError:
        return "", 0
    return digest.hexdigest() if paths else "", changed


@cache
def _imported() -> str:
    """Hash of the source that this process imported, made when first asked for; empty if it is gone."""
    source, changed = _source()
    return "" if changed > _IMPORTED_AT else source


def library_version() -> str:
    """Return a key that every edit of the library and every version of NumPy and SciPy changes."""
    return f"{_imported()} numpy {np.__version__} scipy {scipy.__version__}"


def _is_as_imported() -> bool:
    """False where the source on disk is not what this process imported.

    Nothing tells then which of the two made a number: an edit is not used, a reloaded module is.
    """
    now, _ = _source()
    if not now:
        return False
    unchanged = now == _imported()
    if not unchanged:
        _say("the library was edited after it was imported: nothing is kept on disk until Python restarts")
    return unchanged

"""Set-ups that take seconds are kept on disk, in the user's cache folder or in ONESTEP_CACHE."""

from __future__ import annotations

import os
from pathlib import Path

from joblib import Memory

__all__ = ["memory"]


def _location() -> Path:
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "onestep_lib"
    return Path(os.environ.get("ONESTEP_CACHE", default))


memory = Memory(_location(), verbose=0)

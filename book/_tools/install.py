"""Install requirements into the running environment, pinned by the lock where the lock applies.

    python book/_tools/install.py requirements.txt      install
    python book/_tools/install.py --lock                write the lock from what is installed

The lock names the Python it was made on in its first line; on another version the ranges of the
requirements decide, as they do when ONESTEP_UNPINNED is set (the monthly run).
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements.lock"
HERE = f"Python {sys.version_info.major}.{sys.version_info.minor}"


def lock_applies() -> bool:
    first = LOCK.read_text(encoding="utf-8").splitlines()[0]
    return HERE in first and not os.environ.get("ONESTEP_UNPINNED")


def pip(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pip", *arguments]


def install(requirements: str) -> None:
    pinned = ["-c", str(LOCK)] if lock_applies() else []
    print(f"Installing {requirements}", f"({HERE}: {'locked' if pinned else 'newest'} versions)")
    subprocess.run(pip("install", "--quiet", *pinned, "-r", requirements), check=True, cwd=ROOT)


def write_lock() -> None:
    frozen = subprocess.run(
        pip("freeze", "--exclude-editable"), check=True, capture_output=True, text=True
    ).stdout
    LOCK.write_text(f"# Versions tested on {HERE} (Linux); made by `make lock`.\n{frozen}", "utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--lock"]:
        write_lock()
    else:
        install(sys.argv[1])

"""Install requirements into the running environment, pinned by the lock where the lock applies.

    python book/_tools/install.py requirements.txt      install
    python book/_tools/install.py --lock                write the lock from what is installed

The lock names the Python it was made on in its first line; on another version the ranges of the
requirements decide, as they do when ONESTEP_UNPINNED is set (the monthly run). Under the lock nothing is
installed whose SHA-256 does not stand in the file of hashes beside the requirements, which holds the lock's
versions with the hashes of all their files, for every platform.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements.lock"
HERE = f"Python {sys.version_info.major}.{sys.version_info.minor}"
FAILED = """
pip could not install {requirements}: the lines above say why. If nothing could be reached: this step needs
the network, once. Connect and run make again, or name a mirror in PIP_INDEX_URL."""


def lock_applies() -> bool:
    first = LOCK.read_text(encoding="utf-8").splitlines()[0]
    return HERE in first and not os.environ.get("ONESTEP_UNPINNED")


def pip(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pip", *arguments]


def steps(requirements: str, locked: bool) -> list[list[str]]:
    """The calls of pip. Under the lock the package itself is built by the locked setuptools."""
    if not locked:
        return [pip("install", "--quiet", "-r", requirements)]
    hashes = str(Path(requirements).with_suffix(".hashes"))
    return [
        pip("install", "--quiet", "--no-deps", "--require-hashes", "-r", hashes),
        pip("install", "--quiet", "--no-deps", "--no-build-isolation", "-e", "."),
    ]


def install(requirements: str) -> int:
    locked = lock_applies()
    print(f"Installing {requirements} ({HERE}: {'locked' if locked else 'newest'} versions)", flush=True)
    for step in steps(requirements, locked):
        if subprocess.run(step, check=False, cwd=ROOT).returncode:
            print(FAILED.format(requirements=requirements), file=sys.stderr)
            return 1
    return 0


def write_lock() -> None:
    frozen = subprocess.run(
        pip("freeze", "--all", "--exclude", "pip", "--exclude-editable"),
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    LOCK.write_text(f"# Versions tested on {HERE} (Linux); made by `make lock`.\n{frozen}", "utf-8")
    for name in ("requirements", "requirements-grading", "requirements-test"):
        subprocess.run(
            [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes",
             "--python-version", HERE.removeprefix("Python "), "--no-emit-package", "onestep-lib",
             "--no-header", "--no-annotate", "-c", str(LOCK), f"{name}.txt", "-o", f"{name}.hashes"],
            check=True, cwd=ROOT,
        )  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1:] == ["--lock"]:
        write_lock()
    else:
        sys.exit(install(sys.argv[1]))

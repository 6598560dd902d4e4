"""Run the project's suites one after another and close with what each of them said.

    python tests/tools/suites.py test | check | lint

With ONESTEP_REQUIRE_BROWSER set (as .ci/run does), a skipped test counts as a failure.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTEST = (sys.executable, "-m", "pytest", "-q", "--durations=5")
# nbval drives kernels through libraries whose own deprecations are not ours to fail on.
NBVAL = (*PYTEST, "-W", "default", "--nbval-lax", "--nbval-current-env", "--nbval-cell-timeout=600")
NBVAL += ("-p", "book._tools.nbval_numbers")
# Only the chapters need nbval, which takes two seconds to start.
TWO = ("-n", "2", "--dist", "worksteal", "-p", "no:nbval")
SITE, LAB = "tests/book/site", "tests/book/lab"
READERS = "_build/html/notebooks"  # what a reader opens: no cell that only asserts
LINT = {
    "ruff": (sys.executable, "-m", "ruff", "check", "."),
    "ruff format": (sys.executable, "-m", "ruff", "format", "--check", "."),
    "mypy": (sys.executable, "-m", "mypy"),
    "codespell": (sys.executable, "-m", "codespell_lib", "."),
    "prose": (sys.executable, "tests/tools/prose.py"),
}
SUITES = {
    "lint": LINT,
    # Style and types are those that the locked tools ask for.
    "test": ({} if os.environ.get("ONESTEP_UNPINNED") else LINT)
    | {
        "library": (*PYTEST, "tests", "-m", "not slow", *TWO, f"--ignore={SITE}", f"--ignore={LAB}"),
        "site": (*PYTEST, SITE, "-m", "not slow", *TWO),
    },
    "check": {
        "slow": (*PYTEST, "tests", "-m", "slow", *TWO, f"--ignore={LAB}"),
        "chapters": (*NBVAL, READERS, "-n", "2", "--dist", "loadfile"),
        "lab": (*PYTEST, LAB, "-s"),
        "mutants": (sys.executable, "tests/tools/mutants.py"),
    },
}
# One thread per process: two workers already fill the two cores that the time limits assume.
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
COUNT = re.compile(r"(\d+) (passed|failed|errors?|skipped)")
NO_TESTS = 5  # pytest's exit code when a selection is empty


def run(command: tuple[str, ...]) -> tuple[int, list[str]]:
    """Run a command, show its output as it comes, and return its exit code and its lines."""
    environment = os.environ | THREADS | {"PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, text=True, encoding="utf-8", errors="replace",
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    lines = []
    for line in process.stdout or ():
        print(line, end="", flush=True)
        lines.append(line.rstrip("\n"))
    return process.wait(), lines


def count(lines: list[str]) -> dict[str, int]:
    """Numbers in pytest's closing line: passed, failed (errors included), skipped."""
    found = dict.fromkeys(("passed", "failed", "skipped"), 0)
    for number, word in COUNT.findall(next((x for x in reversed(lines) if x.strip()), "")):
        found["failed" if word.startswith("error") else word] += int(number)
    return found


def main(target: str) -> int:
    closing, totals, broken = [], dict.fromkeys(("passed", "failed", "skipped"), 0), False
    for name, command in SUITES[target].items():
        print(f"\n== {name}", flush=True)
        start = time.monotonic()
        code, lines = run(command)
        last = next((x for x in reversed(lines) if x.strip()), "")
        closing.append(f"{name:12} {time.monotonic() - start:5.0f} s  {last.strip('= ')}")
        is_pytest = "pytest" in command
        if is_pytest:
            for word, number in count(lines).items():
                totals[word] += number
        failed = code not in ((0, NO_TESTS) if is_pytest else (0,))
        if failed:
            closing[-1] = f"FAILED {closing[-1]}"
        broken |= failed
    print(f"\nmake {target}", *closing, sep="\n  ")
    if totals["skipped"] and os.environ.get("ONESTEP_REQUIRE_BROWSER"):
        print("A skipped test counts as a failure here: ONESTEP_REQUIRE_BROWSER is set.")
        broken = True
    elif totals["skipped"]:
        print("Skipped: what needs a browser (Chromium) or Java that is not installed here.")
    if target != "lint":
        print("{passed} passed, {failed} failed, {skipped} skipped".format(**totals))
    return int(broken)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

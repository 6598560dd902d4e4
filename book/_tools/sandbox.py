"""The process in which a submission runs, shut in by bubblewrap where that works."""

import contextlib
import functools
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import matplotlib

from book._tools import kernel
from book._tools.assignments import ROOT
from book._tools.checks import Dead

MEMORY, FILE_SIZE = 4 * 2**30, 50 * 2**20  # bytes
PROCESSES = 200  # which does not bind root
LINE = 64 * 2**20  # characters of one answer of a submission
OPEN = (
    "bubblewrap does not work here: submissions can read your files, use the network, leave processes behind."
)
SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/etc/alternatives", "/etc/fonts", "/etc/ld.so.cache")


@functools.cache
def command() -> tuple[str, ...]:
    """The command that shuts a process in, empty where it does not work here."""
    bind = [
        *SYSTEM, sys.base_prefix, sys.prefix, str(ROOT / "onestep_lib"), str(Path(kernel.__file__).resolve())
    ]  # fmt: skip
    fonts = sorted(Path(matplotlib.get_cachedir()).glob("fontlist*.json"))
    words = (
        "bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
        "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev",
        "--size", str(4 * FILE_SIZE), "--tmpfs", "/tmp",
        *(word for path in bind for word in ("--ro-bind-try", path, path)),
        *(word for path in fonts for word in ("--ro-bind", str(path), f"/tmp/{path.name}")),
        "--chdir", "/tmp", "prlimit", f"--nproc={PROCESSES}",
    )  # fmt: skip
    works = shutil.which("bwrap") and subprocess.run([*words, "true"], capture_output=True).returncode == 0
    return words if works else ()


class Kernel(kernel.Peer):
    """A submission's process, as the grader sees it."""

    def __init__(self, until: float):
        self.folder = tempfile.TemporaryDirectory()  # where there is no sandbox, the folder that it works in
        home = "/tmp" if command() else self.folder.name
        limits = ("prlimit", f"--as={MEMORY}", f"--fsize={FILE_SIZE}", "--core=0")
        self.process = subprocess.Popen(
            [*command(), *(limits if shutil.which("prlimit") else ()), sys.executable, kernel.__file__],
            env={
                "PATH": os.environ.get("PATH", os.defpath), "PYTHONPATH": str(ROOT), "HOME": home,
                "IPYTHONDIR": home, "MPLCONFIGDIR": home, "PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8",
                "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
            },
            cwd=self.folder.name, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        self.until, self.got = until, b""
        super().__init__(self.take, self.put)

    def put(self, line: str) -> None:
        self.patience = min(self.until, time.monotonic() + kernel.PATIENCE + 10)
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise Dead("the kernel died") from None

    def take(self) -> str:
        parts, size = [self.got], len(self.got)
        while b"\n" not in parts[-1]:
            left = self.patience - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise Dead("stopped: it took too long")
            parts.append(os.read(self.process.stdout.fileno(), 2**20))
            size += len(parts[-1])
            if not parts[-1] or size > LINE:
                raise Dead("the kernel died" if not parts[-1] else "an answer was too long")
        line, _, self.got = b"".join(parts).partition(b"\n")
        return line.decode()

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)  # in a sandbox everything ends with it
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.folder.cleanup()

"""What `import onestep_lib` brings with it: no package that only some functions need."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LATER = (
    "IPython", "ipywidgets", "joblib", "matplotlib", "threadpoolctl", "tqdm",
    "scipy.interpolate", "scipy.signal", "scipy.stats",
)  # fmt: skip


@pytest.fixture(scope="module")
def imported():
    command = [sys.executable, "-c", "import sys, onestep_lib; print(*sys.modules)"]
    return set(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split())


@pytest.mark.parametrize("module", LATER)
def test_it_is_imported_only_where_it_is_used(imported, module):
    assert "scipy.linalg" in imported
    assert module not in imported

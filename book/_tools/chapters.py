"""Run the chapters whose outputs are not kept, as many at a time as there are cores.

Sphinx runs chapters one after another. Here they are run before it starts and put where it looks for kept
outputs (book/_ext/onestep_book/cache.py): each as soon as it is done, so that a build that is stopped goes
on where it was. A chapter that fails is left to Sphinx, which runs it again and reports it on its page.
"""

import os
import sys
from pathlib import Path

import nbformat
from joblib import Parallel, cpu_count, delayed
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn, JupyterCacheAbstract
from jupyter_cache.cache.db import NbCacheRecord
from jupyter_cache.executors.utils import ExecutionResult, single_nb_execution
from sphinx_external_toc.parsing import parse_toc_yaml
from tqdm import tqdm

sys.path.append(str(Path(__file__).resolve().parents[1] / "_ext"))

from onestep_book.cache import cache_of_this_library

TIMEOUT = 600  # seconds a cell may take


def run_chapters(root: Path, timeout: int = TIMEOUT, workers: int | None = None) -> None:
    """Run what has no kept outputs, unless it is one chapter, which Sphinx runs as quickly."""
    cache = get_cache(str(cache_of_this_library(root, root / "_build")))
    paths = (root / f"{name}.ipynb" for name in parse_toc_yaml(root / "_toc.yml"))
    todo = [path for path in paths if path.exists() and not is_kept(cache, path)]
    if len(todo) < 2:
        return
    parallel = Parallel(n_jobs=workers or min(cpu_count(), len(todo)), return_as="generator_unordered")
    runs = parallel(delayed(run)(path, timeout) for path in todo)
    for path, result in tqdm(runs, "running chapters", len(todo), file=sys.stdout):
        if result.err is None:
            bundle = CacheBundleIn(result.nb, str(path), data={"execution_seconds": result.time})
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


def is_kept(cache: JupyterCacheAbstract, path: Path) -> bool:
    """Whether the cache holds the outputs of these very cells."""
    try:
        record = cache.match_cache_notebook(nbformat.read(path, as_version=4))
    except KeyError:
        return False
    try:
        cache.get_cache_bundle(record.pk)
    except (KeyError, ValueError):  # a build was stopped while it wrote them
        NbCacheRecord.remove_record(record.pk, cache.db)
        return False
    return True


def run(path: Path, timeout: int = TIMEOUT) -> tuple[Path, ExecutionResult]:
    """Run one notebook in its own folder, as Sphinx would."""
    notebook = nbformat.read(path, as_version=4)
    # As the book's extension says to the kernels that Sphinx starts: figures for a page without a kernel.
    os.environ["ONESTEP_STATIC"] = "1"
    # Where the kernel chops what a cell prints depends on the clock; its start would warn, in the middle of
    # the progress bar, that it speaks over TCP.
    more = {"coalesce_streams": True, "extra_arguments": ["--log-level=ERROR"]}
    return path, single_nb_execution(notebook, str(path.parent), timeout, allow_errors=False, **more)

"""The command ``python -m onestep_lib sweep``."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

from joblib import parallel_config

from onestep_lib.experiment.sweep import sweep_cost, write_table


def main(arguments: list[str] | None = None) -> None:
    """Run a sweep, or say what it will cost."""
    parser = argparse.ArgumentParser(prog="python -m onestep_lib")
    command = parser.add_subparsers(dest="command", required=True).add_parser("sweep", help="simulate a spec")
    command.add_argument("spec", type=Path, help="a TOML file, see onestep_lib.experiment.sweep")
    command.add_argument("--out", type=Path, required=True, help="the folder of finished tasks and the table")
    command.add_argument("--jobs", type=int, default=1, help="worker processes")
    command.add_argument("--dask", metavar="ADDRESS", help="of the scheduler of a cluster, instead of --jobs")
    command.add_argument("--dry-run", action="store_true", help="say flops, memory and minutes only")
    options = parser.parse_args(arguments)
    try:
        cost = sweep_cost(options.spec)
    except (OSError, TypeError, ValueError) as error:
        parser.error(str(error))
    if options.dry_run:
        print(
            f"{cost['tasks']:.0f} tasks, {cost['flops']:.2g} flops, {cost['bytes'] / 1e9:.2g} GB a worker, "
            f"{cost['seconds'] / 60:.2g} minutes of one core"
        )
        return
    with ExitStack() as stack:
        if options.dask:
            try:
                from dask.distributed import Client
            except ImportError:
                parser.error("--dask needs dask.distributed: pip install 'onestep_lib[cluster]'")
            stack.enter_context(Client(options.dask))
            stack.enter_context(parallel_config("dask"))
        else:
            # Workers whose sweep was killed too hard to stop them end by themselves after a minute.
            stack.enter_context(parallel_config("loky", n_jobs=options.jobs, idle_worker_timeout=60))
        print(write_table(options.spec, options.out))


if __name__ == "__main__":
    main()

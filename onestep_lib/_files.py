"""Files that are whole or absent: a killed process or a full disk never leaves half of one."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path


def replace_file(path: Path, content: bytes) -> None:
    """Write a file beside its place, then rename it: `path` holds the old content or the new one.

    Raises
    ------
    OSError
        If it cannot be written; `path` is then as it was.
    """
    # A link stays a link: what it points to is replaced.
    path = path.resolve()
    # A name of its own for every writer, so that two never write into the same file.
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with draft.open("xb") as file:
            file.write(content)
            file.flush()
            # Some disks report that they are full only here.
            os.fsync(file.fileno())
        if path.exists():
            draft.chmod(path.stat().st_mode & 0o7777)
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise

"""A directory appears whole or not at all.

Files are written beside the target under a temporary name, flushed to the disk, and renamed into place
in one step. What stood there before is moved aside first and removed last.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from albertine.errors import AlbertineError

MANIFEST = "albertine.json"  # marks a directory as ours


@contextmanager
def published(target: Path, *, overwrite: bool = False) -> Generator[Path]:
    """A folder to write into; it becomes `target` when the block ends well, and vanishes when not."""
    target = Path(os.path.normpath(target.absolute()))
    if not _free(target):
        _may_replace(target, overwrite)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent))
    except OSError as error:
        raise AlbertineError(f"{target}: cannot be written there ({error.strerror or error})") from error
    try:
        yield work
        _flush(work)
        work.chmod(0o777 & ~_umask())
        _swap(work, target)
    except OSError as error:
        raise AlbertineError(f"{target}: not written ({error.strerror or error})") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _free(target: Path) -> bool:
    return not target.exists() or (target.is_dir() and not any(target.iterdir()))


def _may_replace(target: Path, overwrite: bool) -> None:
    """Only what we wrote ourselves is ever replaced: nobody's other files, no source, no working directory."""
    if not overwrite:
        raise AlbertineError(f"{target}: exists already; give another name, or ask to overwrite it")
    if not (target / MANIFEST).is_file():
        raise AlbertineError(f"{target}: exists and is not ours to overwrite (it has no {MANIFEST}); give another name")
    if Path.cwd().is_relative_to(target):
        raise AlbertineError(f"{target}: is the working directory, or around it; give another name")


def _swap(work: Path, target: Path) -> None:
    if _free(target):
        work.replace(target)
    else:
        aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".old", dir=target.parent))
        target.replace(aside / target.name)
        try:
            work.replace(target)
        except OSError:
            (aside / target.name).replace(target)
            raise
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    _flush_folder(target.parent)


def _flush(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as stream:
                os.fsync(stream.fileno())
        else:
            _flush_folder(path)
    _flush_folder(folder)


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

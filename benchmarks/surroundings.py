"""Where and when a figure was taken: date, commit, machine, versions."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PACKAGES = ("gramlock", "llguidance", "xgrammar", "numpy", "torch", "transformers", "tokenizers")


def git(*arguments: str) -> str:
    """What git answers; nothing where it cannot."""
    try:
        run = subprocess.run(["git", *arguments], capture_output=True, text=True, cwd=HERE)
    except OSError:
        return ""
    return run.stdout.strip()


def commit() -> str:
    """The commit measured, marked if the tree differs from it."""
    dirty = git("status", "--porcelain", "--untracked-files=no")
    return (git("rev-parse", "--short", "HEAD") or "unknown") + ("-changed" if dirty else "")


def machine() -> dict[str, Any]:
    """The processor's name, how many of them, the memory, the system."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cpu": names[0] if names else platform.processor() or "unknown",
        "cores": os.cpu_count(),
        "memory_gib": round(memory, 1),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    """Of the packages that matter, those that are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def surroundings() -> dict[str, Any]:
    """The head of a record."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        "date": now.isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": machine(),
        "versions": versions(),
    }

"""The package as installed: what importing it costs, what it needs, what it says about itself."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import re
import subprocess
import sys

import gramlock

PROBE = "import sys, gramlock; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
HEAVY = set(
    "anyio gguf httpx jiter jsonschema mcp opentelemetry psycopg regress rich sentencepiece "
    "sqlalchemy starlette tiktoken tokenizers torch uvicorn".split()
)
HEAVY |= {"jsonschema_specifications", "numpy", "pydantic", "referencing", "transformers", "typer"}


def test_importing_loads_nothing_heavy() -> None:
    run = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    assert not HEAVY & set(run.stdout.split())


def test_base_dependencies_are_few() -> None:
    needed = importlib.metadata.requires("gramlock") or []
    base = {re.split(r"[^\w-]", line)[0] for line in needed if "extra ==" not in line}
    assert base == {"cffi", "jsonschema-specifications", "numpy", "referencing"}


def test_version_is_the_installed_one() -> None:
    assert gramlock.__version__ == importlib.metadata.version("gramlock")


def test_types_are_shipped() -> None:
    assert importlib.resources.files("gramlock").joinpath("py.typed").is_file()


def test_public_names_exist() -> None:
    assert len(set(gramlock.__all__)) == len(gramlock.__all__)
    assert [name for name in gramlock.__all__ if not hasattr(gramlock, name)] == []

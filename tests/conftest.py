"""What all tests share: the quick and the long run, and the data that lies beside a checkout.

Quick is the default: tests marked ``long`` are left out unless ``--long`` is given or the mark is
asked for by ``-m``. A suite that is merely *larger* in the long run takes the fixture ``thorough``
and chooses its sample size by it.

Some suites read data that is not part of the repository (benchmark rows, the official JSON Schema
tests). It is looked for in ``$GRAMLOCK_SHARED`` and in the folder ``shared`` beside the checkout;
where neither exists those tests are skipped and say so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import databases

ROOT = Path(__file__).resolve().parents[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the long suites whole")


def runs_long(config: pytest.Config) -> bool:
    asked = str(config.getoption("markexpr"))
    return bool(config.getoption("--long")) or ("long" in asked and "not long" not in asked)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if runs_long(config):
        return
    left_out = [item for item in items if item.get_closest_marker("long")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("long")]


def shared_folder() -> Path | None:
    """Where the data beside the checkout lies, or None."""
    places = [os.environ.get("GRAMLOCK_SHARED"), ROOT.parent / "shared"]
    return next((Path(place) for place in places if place and Path(place).is_dir()), None)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of data beside the checkout; skips where there is none."""
    folder = shared_folder()
    if folder is None:
        pytest.skip("needs the data folder beside the checkout (or GRAMLOCK_SHARED)")
    return folder


@pytest.fixture(scope="session")
def thorough(request: pytest.FixtureRequest) -> bool:
    """Whether this is the long run: take all of a suite, not a seeded sample."""
    return runs_long(request.config)


@pytest.fixture(scope="session")
def real() -> Any:
    """The demo's language model and tokenizer; skips where they cannot be fetched."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    import model
    from gramlock import GramlockError

    try:
        return model.real_model()
    except GramlockError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def cluster() -> Iterator[databases.Cluster]:
    """A PostgreSQL server; skips where none can be had, which in CI is a failure."""
    try:
        if find_spec("psycopg") is None:
            raise databases.NoServer("psycopg is not installed")
        server = databases.Cluster()
    except databases.NoServer as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))
        pytest.skip(str(error))
    yield server
    server.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a ledger may lie, empty: a file's path, then a URL."""
    pytest.importorskip("sqlalchemy")
    if request.param == "sqlite":
        yield str(tmp_path / "ledger.db")
        return
    server = request.getfixturevalue("cluster")
    schema = server.make_schema()
    yield server.url(schema)
    server.drop_schema(schema)

"""A PostgreSQL server of the tests' own: a fresh cluster on the loopback address, gone afterwards.

The server refuses to run as root, so it runs as ``postgres`` or ``nobody`` where the tests do. It
dies with the tests that started it, also when they are killed.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

__all__ = ["Cluster", "NoServer"]

_SECONDS = 60
_STARTS = 3  # between choosing a port and taking it another may take it


class NoServer(Exception):
    """There is no PostgreSQL to start here; says why."""


def _program(name: str) -> str:
    """A program of the server, on the path or where Debian's packages keep it."""
    kept = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    found = shutil.which(name) or (str(kept[0]) if kept else None)
    if found is None:
        raise NoServer(f"PostgreSQL is not installed ({name} is not there)")
    return found


def _account() -> pwd.struct_passwd | None:
    """Whom to run the server as; None where the tests are not root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise NoServer("PostgreSQL refuses to run as root, and there is no other account")


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGQUIT)  # PR_SET_PDEATHSIG


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Cluster:
    """A running server. ``url(schema)`` names a database in which only that schema is seen."""

    def __init__(self) -> None:
        initdb, postgres = _program("initdb"), _program("postgres")
        account = _account()
        rights: dict[str, Any] = {}
        if account is not None:
            rights = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        self._folder = Path(tempfile.mkdtemp(prefix="gramlock-postgres-"))
        self._password = secrets.token_hex(16)
        secret = self._folder / "password"
        secret.touch(mode=0o600)
        secret.write_text(self._password, "ascii")
        if account is not None:
            for path in (self._folder, secret):
                os.chown(path, account.pw_uid, account.pw_gid)
        data = self._folder / "data"
        make = [initdb, "-D", str(data), "-U", "tests", "-A", "scram-sha-256", "--no-sync"]
        make += ["--encoding=UTF8", "--locale=C", f"--pwfile={secret}"]
        made = subprocess.run(make, capture_output=True, text=True, cwd=self._folder, **rights)
        secret.unlink()
        if made.returncode:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise NoServer(f"initdb failed: {made.stderr.strip()[-300:]}")
        for _ in range(_STARTS):
            self._port = _free_port()
            self._server = self._start(postgres, data, rights)
            if self._answers():
                return
        self.stop()
        raise NoServer("the server does not answer")

    def _start(self, postgres: str, data: Path, rights: dict[str, Any]) -> subprocess.Popen[bytes]:
        # Only clients are killed in these tests, never the machine: the server need not flush.
        options = {"fsync": "off", "unix_socket_directories": "", "max_connections": "200"}
        options |= {"listen_addresses": "127.0.0.1", "shared_buffers": "32MB"}
        command = [postgres, "-D", str(data), "-p", str(self._port)]
        command += [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        return subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self._folder,
            preexec_fn=_die_with_parent,
            **rights,
        )

    def url(self, schema: str | None = None) -> str:
        """Where a client connects to."""
        address = f"postgresql://tests:{self._password}@127.0.0.1:{self._port}/postgres"
        return address if schema is None else f"{address}?options=-csearch_path%3D{schema}"

    def make_schema(self) -> str:
        """A new empty schema's name."""
        import psycopg

        schema = f"t{secrets.token_hex(6)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {schema}")
        return schema

    def drop_schema(self, schema: str) -> None:
        """Remove a schema and all that is in it."""
        import psycopg

        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"DROP SCHEMA {schema} CASCADE")

    def stop(self) -> None:
        """End the server and remove its files."""
        self._server.send_signal(signal.SIGQUIT)
        try:
            self._server.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _answers(self) -> bool:
        """Whether it is up, soon; False when it ended, as it does when its port is taken."""
        import psycopg

        deadline = time.monotonic() + _SECONDS
        while self._server.poll() is None and time.monotonic() < deadline:
            try:
                psycopg.connect(self.url(), connect_timeout=5).close()
                return True
            except psycopg.OperationalError:
                time.sleep(0.05)
        return False

"""The ``gramlock`` command.

===============  ========================================================
``app``          the commands together
``generate``     a local model writes text under a schema
``mask``         what may come next after a text
``check``        is a schema usable, and does it mean what it should
``conformance``  what becomes of every JSON Schema keyword in an engine
``demo``         the whole thing at once, with a model of its own
``ledger``       writes whose outcome is unknown, and asking what became of them
``tools``        are an application's tools usable, and serving them by MCP
``report``       messages, JSON output, exit codes
``inputs``       reading schemas and instances; options that commands share
===============  ========================================================

Exit codes of every command:

===  ===================================================================================
  0  fine
  1  something was found (a wrong instance or answer, an unfinished text, an unresolved write)
  2  the command line is wrong, or a file cannot be read
  3  the schema is refused: invalid, unsupported, or nothing satisfies it
  4  a budget was passed, or the text cannot go on
===  ===================================================================================
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Entry point; without the packages of the extra ``cli`` it only says how to get them."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError:
        print("the gramlock command needs: pip install 'gramlock[cli]'", file=sys.stderr)
        raise SystemExit(2) from None
    from .app import app

    app()

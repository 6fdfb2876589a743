"""``python -m gramlock.demo``."""

from __future__ import annotations

import sys

from ..errors import GramlockError
from . import run

try:
    code = run()
except GramlockError as error:
    print(f"error: {error}", file=sys.stderr)
    code = 2
sys.exit(code)

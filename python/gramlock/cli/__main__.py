"""``python -m gramlock.cli``."""

from . import main

main()

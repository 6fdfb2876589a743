"""A second opinion on JSON: the jsonschema package, which shares no code with this one.

Numbers are read as exact decimals on both sides, so that ``multipleOf: 0.01`` means what it says.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from ..errors import MissingDependencyError

__all__ = ["judge"]


def judge(schema: Any, *, formats: bool = True) -> Callable[[str], str | None]:
    """A function that says what is wrong with a JSON text, or None.

    Args:
        schema: JSON Schema.
        formats: Check formats, as far as that package and its helpers know them.

    Raises:
        MissingDependencyError: jsonschema is not installed.
    """
    try:
        from jsonschema import Draft202012Validator, validators
    except ImportError as error:
        raise MissingDependencyError("jsonschema", "tools") from error
    exact = json.loads(json.dumps(schema), parse_float=Decimal)
    kind = validators.validator_for(exact, default=Draft202012Validator)
    validator = kind(exact, format_checker=kind.FORMAT_CHECKER if formats else None)

    def opinion(text: str) -> str | None:
        try:
            value = json.loads(text, parse_float=Decimal)
        except ValueError as error:
            return f"not JSON: {error}"
        for problem in validator.iter_errors(value):
            place = "".join(f"/{part}" for part in problem.absolute_path)
            return f"#{place}: {problem.message}"
        return None

    return opinion

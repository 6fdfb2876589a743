"""What the demo asks for: a refund record, from a customer's data.

The schema has nested objects, an array, an enumeration, number ranges, a pattern and formats. Free
text is bounded in length and numbers in digits, so that a small model cannot lose itself in them.
The same schema lies in ``examples/refund.schema.json``.
"""

from __future__ import annotations

from typing import Any

__all__ = ["PROMPT", "SCHEMA"]

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Refund",
    "type": "object",
    "properties": {
        "order": {"type": "string", "pattern": "^ORD-[0-9]{6}$"},
        "date": {"type": "string", "format": "date"},
        "reason": {"enum": ["damaged", "late", "wrong item", "not wanted"]},
        "refund": {"$ref": "#/$defs/money"},
        "customer": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1, "maxLength": 40},
                "email": {"type": "string", "format": "email"},
            },
            "required": ["name", "email"],
            "additionalProperties": False,
        },
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "product": {"type": "string", "minLength": 1, "maxLength": 30},
                    "quantity": {"type": "integer", "minimum": 1, "maximum": 20},
                    "price": {"$ref": "#/$defs/money"},
                },
                "required": ["product", "quantity", "price"],
                "additionalProperties": False,
            },
            "minItems": 1,
            "maxItems": 3,
        },
    },
    "required": ["order", "date", "reason", "refund", "customer", "items"],
    "additionalProperties": False,
    "$defs": {
        "money": {"type": "number", "minimum": 0, "maximum": 1000, "multipleOf": 0.01},
    },
}

PROMPT = """\
Write a refund record in JSON.

order: ORD-204817
date: 2026-03-14
reason: damaged
refund: 55.00
customer name: Maria Rossi
customer email: maria@example.com
item 1: coffee mug, quantity 2, price 12.50
item 2: teapot, quantity 1, price 30.00"""

"""Fixed layouts and spellings: what json.dumps writes, and nothing else."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

import gramlock
from gramlock import Grammar

LAYOUTS: list[dict[str, Any]] = [
    {"separators": (",", ":")},
    {"separators": (", ", ": ")},
    {"separators": (" ,\t", "\n: ")},
    {"indent": 2},
    {"indent": 1},
    {"indent": 0},
    {"indent": ""},
    {"indent": "\t"},
    {"indent": 4, "separators": (" , ", ":")},
    {"indent": 0, "separators": ("\n,", ":")},
]

TREE = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#"}},
    },
    "additionalProperties": {"type": ["null", "boolean"]},
}
NO_NUMBERS = {
    "not": {"type": "number"},
    "items": {"$ref": "#"},
    "additionalProperties": {"$ref": "#"},
}
SCHEMAS: list[Any] = [
    NO_NUMBERS,
    TREE,
    {
        "type": "array",
        "prefixItems": [{"enum": [{}, []]}, {"type": "null"}],
        "items": {"type": "string"},
    },
    {"type": "array", "items": {"type": ["null", "boolean"]}, "uniqueItems": True, "minItems": 2},
    {"type": "object", "minProperties": 1, "additionalProperties": {"type": "boolean"}},
    {"enum": [{"a": [{}, [], {"b": [None]}]}, [[[]]]]},
]


def value(rng: random.Random, depth: int) -> Any:
    """Any value without numbers."""
    kind = rng.randrange(6 if depth else 4)
    if kind < 3:
        return [None, True, False][kind]
    if kind == 3:
        return "".join(rng.choice('ab é\n"\\/\x00\x1f\x7f😀') for _ in range(rng.randrange(4)))
    count = rng.randrange(4)
    if kind == 4:
        return [value(rng, depth - 1) for _ in range(count)]
    return {f"k{i}": value(rng, depth - 1) for i in range(count)}


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_any_value_as_json_dumps_writes_it(layout: dict[str, Any]) -> None:
    grammar = Grammar.from_json_schema(True, **layout)
    rng = random.Random(1)
    for _ in range(60):
        text = json.dumps(value(rng, 4), ensure_ascii=rng.random() < 0.5, **layout)
        assert grammar.accepts(text), text


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_a_blank_more_or_less_is_no_sentence(layout: dict[str, Any]) -> None:
    grammar = Grammar.from_json_schema(True, **layout)
    text = json.dumps({"a": [None, {}], "b": {"c": []}}, **layout)
    assert grammar.accepts(text)
    inside_string = False
    for at, character in enumerate(text):
        if not inside_string:
            assert not grammar.accepts(text[:at] + " " + text[at:])
        if character.isspace():
            assert not grammar.accepts(text[:at] + text[at + 1 :])
        inside_string ^= character == '"'
    assert not grammar.accepts(text + " ")


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: json.dumps(schema)[:40])
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_samples_are_what_json_dumps_writes(schema: Any, layout: dict[str, Any]) -> None:
    grammar = Grammar.from_json_schema(schema, escapes="minimal", **layout)
    for seed in range(12):
        text = grammar.sample(seed).decode()
        assert text == json.dumps(json.loads(text), ensure_ascii=False, **layout)


def test_samples_with_numbers() -> None:
    schema = {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 4}
    grammar = Grammar.from_json_schema(schema, escapes="minimal", indent=2)
    for seed in range(30):
        text = grammar.sample(seed).decode()
        assert text.replace("-0", "0") == json.dumps(json.loads(text), ensure_ascii=False, indent=2)


def nested(count: int, inner: Any = None) -> Any:
    for _ in range(count):
        inner = [inner]
    return inner


@pytest.mark.parametrize("schema", [True, {"items": {"$ref": "#"}}, {"prefixItems": [True]}])
def test_values_nest_to_a_stated_depth(schema: Any) -> None:
    grammar = Grammar.from_json_schema(schema, indent=1)
    assert grammar.accepts(json.dumps(nested(32), indent=1))
    assert grammar.accepts(json.dumps(nested(32, {}), indent=1)) is False
    assert not grammar.accepts(json.dumps(nested(33), indent=1))
    assert Grammar.from_json_schema(schema, separators=(",", ":")).accepts(
        json.dumps(nested(99), separators=(",", ":"))
    )


def test_a_schema_that_is_nested_deeper_is_refused() -> None:
    schema: Any = {"type": "null"}
    for _ in range(33):
        schema = {"type": "array", "items": schema, "minItems": 1}
    with pytest.raises(gramlock.LimitError) as caught:
        Grammar.from_json_schema(schema, indent=1)
    assert caught.value.budget == "indent_depth"
    assert Grammar.from_json_schema(schema["items"], indent=1).accepts(
        json.dumps(nested(32), indent=1)
    )


def test_what_has_no_value_at_any_depth_is_unsatisfiable() -> None:
    with pytest.raises(gramlock.UnsatisfiableError):
        Grammar.from_json_schema({"type": "array", "items": {"$ref": "#"}, "minItems": 1}, indent=1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"indent": -1},
        {"indent": True},
        {"indent": 1.5},
        {"indent": "--"},
        {"separators": ","},
        {"separators": (",",)},
        {"separators": (",", ":", "")},
        {"separators": (";", ":")},
        {"separators": (",,", ":")},
        {"separators": (",", "=")},
        {"separators": (b",", b":")},
        {"indent": 2, "whitespace": "flexible"},
        {"separators": (",", ":"), "whitespace": "compact"},
        {"escapes": "all"},
    ],
    ids=str,
)
def test_wrong_options_are_value_errors(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"indent|separator|escapes"):
        Grammar.from_json_schema(True, **wrong)


# -- spelling -------------------------------------------------------------------------------------

MINIMAL = [
    '"a/é😀\x7f"',
    r'"\"\\\b\f\n\r\t"',
    r'"\u0000\u001f\u000b"',
    r'{"\n": {"\"": "\\"}}',
]
NEEDLESS = [
    r'"\/"',
    r'"\u0061"',
    r'"\u00e9"',
    r'"\ud83d\ude00"',
    r'"\u000a"',
    r'"\u001F"',
    r'"\u0022"',
    r'"\u007f"',
    r'{"\u006b": 1}',
]


def test_minimal_escapes_are_those_that_json_demands() -> None:
    any_spelling = Grammar.from_json_schema(True)
    minimal = Grammar.from_json_schema(True, escapes="minimal")
    assert [text for text in MINIMAL if not minimal.accepts(text)] == []
    assert [text for text in NEEDLESS if minimal.accepts(text)] == []
    assert [text for text in MINIMAL + NEEDLESS if not any_spelling.accepts(text)] == []


@pytest.mark.parametrize(
    "schema,text",
    [
        ({"const": "yes"}, r'"\u0079es"'),
        ({"enum": [["a/b"]]}, r'["a\/b"]'),
        ({"const": {"é": None}}, r'{"\u00e9": null}'),
        ({"properties": {"a": {"type": "null"}}}, r'{"\u0061": null}'),
        ({"required": ["a"]}, r'{"\u0061": null}'),
    ],
    ids=str,
)
def test_listed_strings_are_respelled_only_on_demand(schema: Any, text: str) -> None:
    plain = json.dumps(json.loads(text), ensure_ascii=False)
    for escapes in ("unlisted", "minimal", "any"):
        made = Grammar.from_json_schema(schema, escapes=escapes)
        assert made.accepts(plain)
        assert made.accepts(text) == (escapes == "any")


def test_a_respelled_name_is_still_the_declared_one() -> None:
    schema = {"properties": {"a": {"type": "null"}}, "additionalProperties": {"type": "boolean"}}
    made = Grammar.from_json_schema(schema, escapes="any")
    assert made.accepts(r'{"\u0061": null, "\u0062": true}')
    assert not made.accepts(r'{"\u0061": true}')
    assert not made.accepts(r'{"\u0061": null, "a": null}')


def test_every_character_has_one_minimal_spelling() -> None:
    minimal = Grammar.from_json_schema({"type": "string"}, escapes="minimal")
    for code in [*range(0x300), *range(0xFF00, 0x10100), 0x10FFFF]:
        if not 0xD800 <= code < 0xE000:
            assert minimal.accepts(json.dumps(chr(code), ensure_ascii=False))
            assert minimal.accepts(json.dumps(chr(code))) == (code < 0x7F)


@pytest.mark.parametrize(
    "schema,good,bad",
    [
        ({"pattern": "^\\n?a+$"}, [r'"\na"', '"aa"'], [r'"\u000aa"', r'"\u0061"', '"b"']),
        ({"maxLength": 2, "not": {"const": "é"}}, ['"éé"', '"a"'], ['"é"', r'"\u00e9é"']),
        (
            {"properties": {"a": {}}, "additionalProperties": {"type": "null"}},
            ['{"a": 1, "b": null}'],
            [r'{"\u0061": null}', r'{"\u0062": null}', '{"b": 1}'],
        ),
        (
            {"patternProperties": {"^é": {"type": "null"}}, "additionalProperties": False},
            ['{"é": null}'],
            [r'{"\u00e9": null}', '{"e": null}'],
        ),
        ({"format": "date"}, ['"2024-02-29"'], [r'"2024\u002d02-29"']),
        ({"enum": ["é\n"]}, [r'"é\n"'], [r'"\u00e9\n"']),
        ({"propertyNames": {"maxLength": 1}}, ['{"é": 1}'], [r'{"\u00e9": 1}', '{"ab": 1}']),
    ],
    ids=str,
)
def test_minimal_escapes_under_every_keyword(schema: Any, good: list[str], bad: list[str]) -> None:
    made = Grammar.from_json_schema(schema, escapes="minimal")
    assert [text for text in good if not made.accepts(text)] == []
    assert [text for text in bad if made.accepts(text)] == []


def test_masks_of_fixed_texts_allow_what_comes_next_only() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array"}}, "required": ["a"]}
    schema["additionalProperties"] = False
    vocabulary = gramlock.Vocabulary.from_tokens([bytes([b]) for b in range(256)] + [b'{\n "a": ['])
    matcher = vocabulary.compile(schema, indent=1).matcher()
    assert matcher.find_jump_forward_string() == '{\n "a": ['
    assert matcher.accept_token(256)
    bitmask = gramlock.allocate_token_bitmask(1, vocabulary.size)
    matcher.fill_next_token_bitmask(bitmask, 0)
    allowed = [token for token in range(257) if bitmask[0, token // 32] >> token % 32 & 1]
    assert bytes(allowed) == b"\n]"


PIECES = r"""
{~ ~_ ~__" ",~ ":_ ":_[ ], [] {} "é é ü\ \n \" \u \u00 0061 \u0061 a/b \/ [" ",_" _, } }~ null
:_null
"""
TOKENS = [bytes([b]) for b in range(256)]
TOKENS += [text.replace("~", "\n").replace("_", " ").encode() for text in PIECES.split()]


@pytest.mark.parametrize(
    "options",
    [
        {"escapes": "minimal"},
        {"escapes": "any", "whitespace": "compact"},
        {"escapes": "minimal", "indent": 1},
        {"separators": (", ", ": ")},
        {"indent": 0},
    ],
    ids=str,
)
def test_masks_are_what_can_be_accepted(options: dict[str, Any]) -> None:
    schema = {
        "type": "object",
        "properties": {"é": {"enum": ["a/b", "ü\n"]}, "t": {"type": "array", "items": TREE}},
        "additionalProperties": {"type": "string", "maxLength": 4},
    }
    vocabulary = gramlock.Vocabulary.from_tokens(TOKENS)
    program = vocabulary.compile(schema, **options)
    bitmask = gramlock.allocate_token_bitmask(1, vocabulary.size)
    rng = random.Random(3)
    for _ in range(6):
        matcher = program.matcher()
        for _ in range(40):
            matcher.fill_next_token_bitmask(bitmask, 0)
            allowed = [t for t in range(len(TOKENS)) if bitmask[0, t // 32] >> t % 32 & 1]
            assert allowed == [t for t in range(len(TOKENS)) if matcher.fork().accept_token(t)]
            if not allowed:
                break
            assert matcher.accept_token(rng.choice([t for t in allowed if t >= 256] or allowed))

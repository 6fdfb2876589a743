"""Files of vocabularies and programs: the same masks afterwards, and no harm from wrong bytes."""

import hashlib
import random
import struct
from pathlib import Path

import numpy as np
import pytest

import gramlock
from gramlock import Grammar, Limits, SerializationError, Vocabulary

TOKENS = [
    *(bytes([b]) for b in range(256)),
    *(b'{"', b'":', b'": "', b'","', b"name", b'name":', b"true", b"12", b"[1", b", ", b"]}"),
    *("é".encode(), "中文".encode(), b"\xf0\x9f", b"ab", b'a"', None, b"</s>"),
]
END = len(TOKENS) - 1
SCHEMAS = [
    True,
    {"type": "string", "maxLength": 5, "pattern": "^[a-c]+$"},
    {"enum": ["name", 12, None, True]},
    {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3},
    {"type": "array", "items": {"enum": [1, 12, 2]}, "uniqueItems": True, "contains": {"const": 2}},
    {
        "type": "object",
        "properties": {"name": {"type": "string"}, "a": {"$ref": "#"}},
        "required": ["name"],
        "dependentRequired": {"a": ["ab"]},
        "patternProperties": {"^b": {"type": "number"}},
    },
    {"anyOf": [{"type": "null"}, {"type": "object", "maxProperties": 2}]},
]
HEADER = 64


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary.from_tokens(TOKENS, end_ids=[END], special_ids=[END])


def allowed(matcher: gramlock.Matcher) -> np.ndarray:
    mask = gramlock.allocate_token_bitmask(1, len(TOKENS))
    matcher.fill_next_token_bitmask(mask)
    return mask[0]


def same_walks(one: gramlock.Program, two: gramlock.Program, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(8):
        first, second = one.matcher(), two.matcher()
        for _ in range(25):
            mask = allowed(first)
            assert np.array_equal(mask, allowed(second))
            bits = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
            token = int(rng.choice(bits))
            assert first.accept_token(token)
            assert second.accept_token(token)
            if first.is_terminated():
                break


def resealed(data: bytes, at: int, value: int) -> bytes:
    """The file with another byte in its content, and a digest that fits."""
    content = bytearray(data[HEADER:])
    content[at] = value
    digest = hashlib.blake2b(bytes(content), digest_size=24).digest()
    return data[: HEADER - 24] + digest + bytes(content)


# ---- round trips


def test_a_vocabulary_comes_back(vocabulary: Vocabulary, tmp_path: Path) -> None:
    path = tmp_path / "tokens.gramlock"
    vocabulary.save(path)
    loaded = Vocabulary.load(path)
    assert list(loaded.tokens) == list(vocabulary.tokens)
    assert [loaded.tokens[i] for i in range(len(TOKENS))] == list(vocabulary.tokens)
    assert loaded.tokens[-2:] == list(vocabulary.tokens[-2:])
    assert loaded.end_ids == vocabulary.end_ids
    assert loaded.special_ids == vocabulary.special_ids
    assert loaded.missing_bytes == vocabulary.missing_bytes
    assert loaded.digest == vocabulary.digest
    assert loaded.to_bytes() == vocabulary.to_bytes() == path.read_bytes()
    assert [p.name for p in tmp_path.iterdir()] == [path.name], "nothing else is left"
    grammar = Grammar.from_json_schema(SCHEMAS[5])
    same_walks(vocabulary.compile(grammar), loaded.compile(grammar), 1)


def test_a_loaded_vocabulary_outlives_its_file(vocabulary: Vocabulary, tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    vocabulary.save(path)
    loaded = Vocabulary.load(path)
    Vocabulary.from_tokens([b"x", None], end_ids=[1]).save(path)
    assert list(loaded.tokens) == list(vocabulary.tokens)
    path.unlink()
    assert list(loaded.tokens) == list(vocabulary.tokens)


def test_names_and_family_come_back() -> None:
    table = gramlock.tokenizers.TokenTable(
        tokens=[b"a", None, None],
        end_ids=(1,),
        special_ids=frozenset([1, 2]),
        names={1: "</s>", 2: "<ü>"},
        prefix_space=True,
        family="sentencepiece",
    )
    loaded = Vocabulary.from_bytes(Vocabulary(table).to_bytes()).table
    assert list(loaded.tokens) == list(table.tokens)
    assert (loaded.names, loaded.prefix_space, loaded.family) == (
        table.names,
        table.prefix_space,
        table.family,
    )


@pytest.mark.parametrize("schema", SCHEMAS, ids=range(len(SCHEMAS)))
@pytest.mark.parametrize("order", ["declared", "any"])
def test_a_program_comes_back(vocabulary: Vocabulary, schema: object, order: str) -> None:
    program = vocabulary.compile(Grammar.from_json_schema(schema, order=order))
    data = program.to_bytes()
    loaded = gramlock.Program.from_bytes(data, vocabulary)
    assert loaded.grammar.fingerprint == program.grammar.fingerprint
    assert loaded.dump() == program.dump()
    assert loaded.to_bytes() == data
    same_walks(program, loaded, 2)


def test_other_grammars_come_back(vocabulary: Vocabulary) -> None:
    grammars = [
        Grammar.from_regex("(a|b{2,70})*c?[^d]"),
        Grammar.from_choices(["name", "ab", "é"]),
        Grammar.from_json_schema(True, indent=2),
    ]
    for grammar in grammars:
        program = vocabulary.compile(grammar)
        loaded = gramlock.Program.from_bytes(program.to_bytes(), vocabulary)
        assert loaded.grammar.fingerprint == grammar.fingerprint
        same_walks(program, loaded, 3)


def test_tokens_and_switches_come_back(vocabulary: Vocabulary) -> None:
    from gramlock import _core

    store = _core.expressions()
    builder = _core.GrammarBuilder(store)
    literal = store.literal
    tagged = store.union(
        [store.concat([literal(b"a"), store.tag(7)]), store.concat([literal(b"b"), store.tag(9)])]
    )
    rule = builder.rule()
    more = builder.sequence([builder.terminal(literal(b"x")), rule])
    builder.define(rule, builder.choice([more, builder.tokens([256, 258])]))
    root = builder.switch(tagged, {7: rule, 9: builder.repetition(more, 1, 4)})
    program = vocabulary.compile(Grammar(builder.finish(root)))
    loaded = gramlock.Program.from_bytes(program.to_bytes(), vocabulary)
    assert loaded.grammar.fingerprint == program.grammar.fingerprint
    same_walks(program, loaded, 4)


def test_limits_come_back(vocabulary: Vocabulary) -> None:
    limits = Limits(program_bytes=1 << 20, steps=4321)
    program = vocabulary.compile(Grammar.from_regex("a*"), limits=limits)
    loaded = gramlock.Program.from_bytes(program.to_bytes(), vocabulary)
    assert loaded.grammar.limits == limits


# ---- wrong files


def both(vocabulary: Vocabulary) -> list[tuple[bytes, object]]:
    program = vocabulary.compile(Grammar.from_json_schema(SCHEMAS[5]))
    return [
        (vocabulary.to_bytes(), Vocabulary.from_bytes),
        (program.to_bytes(), lambda data: gramlock.Program.from_bytes(data, vocabulary)),
    ]


def test_every_truncation_is_refused(vocabulary: Vocabulary) -> None:
    for data, read in both(vocabulary):
        for length in [*range(200), *range(200, len(data), 37), len(data) - 1]:
            with pytest.raises(SerializationError):
                read(data[:length])
        with pytest.raises(SerializationError):
            read(data + b"\0")


def test_every_damaged_byte_is_refused(vocabulary: Vocabulary) -> None:
    for data, read in both(vocabulary):
        for at in [*range(120), *range(120, len(data), 29)]:
            damaged = bytearray(data)
            damaged[at] ^= 0x55
            with pytest.raises(SerializationError):
                read(bytes(damaged))


@pytest.mark.parametrize("seed", range(6))
def test_forged_content_does_no_harm(vocabulary: Vocabulary, seed: int) -> None:
    """Whoever damages a file and seals it again gets an error, or some other, sound object."""
    rng = random.Random(seed)
    for data, read in both(vocabulary):
        for _ in range(250):
            at = rng.randrange(len(data) - HEADER)
            value = rng.choice([0, 1, 2, 7, 127, 128, 255, rng.randrange(256)])
            try:
                found = read(resealed(data, at, value))
            except gramlock.GramlockError:
                continue
            if isinstance(found, gramlock.Program):
                matcher = found.matcher()
                mask = gramlock.allocate_token_bitmask(1, len(TOKENS))
                for text in (b"{", b'"', b"n"):
                    matcher.fill_next_token_bitmask(mask)
                    matcher.accept_bytes(text)
            else:
                assert len(list(found.tokens)) == found.size


def test_other_files_are_told_apart(vocabulary: Vocabulary, tmp_path: Path) -> None:
    program = vocabulary.compile(Grammar.from_regex("a"))
    with pytest.raises(SerializationError, match="a program, not a vocabulary"):
        Vocabulary.from_bytes(program.to_bytes())
    with pytest.raises(SerializationError, match="a vocabulary, not a program"):
        gramlock.Program.from_bytes(vocabulary.to_bytes(), vocabulary)
    other = Vocabulary.from_tokens([*TOKENS, b"more"], end_ids=[END], special_ids=[END])
    with pytest.raises(SerializationError, match="another vocabulary"):
        gramlock.Program.from_bytes(program.to_bytes(), other)
    for content in (b"", b"PK\x03\x04 something else altogether" * 9, b"GRAMLOCK"):
        path = tmp_path / "file"
        path.write_bytes(content)
        with pytest.raises(SerializationError):
            Vocabulary.load(path)
    with pytest.raises(OSError, match="nowhere"):
        Vocabulary.load(tmp_path / "nowhere")
    with pytest.raises(OSError, match="No such file"):
        vocabulary.save(tmp_path / "nowhere" / "file")


def test_other_versions_and_byte_orders_are_refused(vocabulary: Vocabulary) -> None:
    for data, read in both(vocabulary):
        newer = data[:12] + struct.pack("=I", 2) + data[16:]
        with pytest.raises(SerializationError, match="version 2"):
            read(newer)
        swapped = data[:16] + data[16:20][::-1] + data[20:]
        with pytest.raises(SerializationError, match="byte order"):
            read(swapped)


def test_a_budget_ends_the_reading(vocabulary: Vocabulary) -> None:
    from gramlock import _serial

    program = vocabulary.compile(Grammar.from_json_schema(SCHEMAS[5]))
    limits = Limits(expression_bytes=215_000)
    data = _serial.write_program(program.grammar._handle, limits, vocabulary.digest)
    with pytest.raises(gramlock.LimitError):
        gramlock.Program.from_bytes(data, vocabulary)

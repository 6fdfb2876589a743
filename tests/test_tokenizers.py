"""Reading tokenizers: each token's bytes are what the tokenizer itself writes for it.

Three independent witnesses: what the tokenizer decodes, a second reader that lies beside some
checkouts, and texts that must come back when their tokens' bytes are put together. Odd pipelines
and hostile files are small and made here.
"""

from __future__ import annotations

import base64
import functools
import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import assets
import tokenizer_files as formats
from conftest import ROOT, shared_folder
from gramlock.errors import VocabularyError
from gramlock.tokenizers import TokenTable, from_huggingface, from_sentencepiece, from_tiktoken
from gramlock.tokenizers.byte_level import STAND_INS, decode_byte_level

REAL = [
    pytest.param(name, marks=[pytest.mark.tokenizer, *([pytest.mark.long] if rest.long else [])])
    for name, rest in assets.TOKENIZERS.items()
]
WITH_JSON = [parameter for parameter in REAL if parameter.values[0] != "tekken"]

TEXTS = [
    "hello world",
    '{"name": "Zoë ☃", "tags": ["a", "b"], "n": -1.5e+10, "none": null}\n',
    "def f(x):\n\n\n\t\treturn x ** 2\n",
    "你好世界 \U0001f600\U0001f468‍\U0001f469‍\U0001f467end",
    "It isn't 12345678.\r\n\r\n  I'LL go   there ...",
    "สวัสดี привет שלום",
    '\\u00e9\\n\\"escaped\\"',
    "   leading and trailing   ",
]


def folder(name: str) -> Path:
    """A real tokenizer's folder; skips where it cannot be fetched, except in CI."""
    try:
        return assets.folder(name)
    except assets.AssetError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


@functools.lru_cache(maxsize=2)
def table_of(name: str) -> TokenTable:
    return from_huggingface(folder(name))


@functools.lru_cache(maxsize=2)
def live(name: str) -> Any:
    tokenizers = pytest.importorskip("tokenizers")
    return tokenizers.Tokenizer.from_file(str(folder(name) / "tokenizer.json"))


def ids_of(table: TokenTable, data: bytes) -> list[int]:
    return [index for index, token in enumerate(table.tokens) if token == data]


# ---- real tokenizers


@pytest.fixture(scope="module")
def second_reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The reader that lies beside some checkouts, given the files that are fetched already."""
    shared = shared_folder()
    if shared is None or not (shared / "tokenizers" / "load.py").is_file():
        pytest.skip("needs the data folder beside the checkout (or GRAMLOCK_SHARED)")
    spec = importlib.util.spec_from_file_location("second_reader", shared / "tokenizers/load.py")
    assert spec
    assert spec.loader
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.ROOT = str(tmp_path_factory.mktemp("second_reader"))
    yield module
    shutil.rmtree(module.ROOT)


def give_files(reader: Any, name: str) -> None:
    """Lay a tokenizer's files where the second reader looks for them."""
    made = folder(name)
    for wanted in reader.SPECS[name][1]:
        target = Path(reader.ROOT) / wanted
        target.parent.mkdir(parents=True, exist_ok=True)
        if (made / target.name).is_file():
            shutil.copy(made / target.name, target)
            continue
        key = "llama" if name == "llama3" else assets.TOKENIZERS[name].package
        members = [m for m in assets.PACKAGES[key].members if m.endswith(wanted.split("/")[-1])]
        member = next(m for m in members if name != "llama4" or "llama4" in m)
        shutil.copy(assets.source(key, member), target)


@pytest.mark.parametrize("name", REAL, scope="module")
def test_bytes_agree_with_the_second_reader(name: str, second_reader: Any) -> None:
    give_files(second_reader, name)
    tokens, special, _ = second_reader.load(name)
    table = table_of(name)
    control = special - table.special_ids
    for index, expected in enumerate(tokens):
        if index not in control:
            assert table.tokens[index] == expected, index
    texts = {second_reader.info(name)["names"][index] for index in control}
    assert texts <= {"[multimodal]"}  # a text token for its own tokenizer
    assert set(second_reader.info(name)["stop"]) >= set(table.end_ids) & special
    assert not any(table.tokens[len(tokens) :])


@pytest.mark.parametrize("name", WITH_JSON, scope="module")
def test_bytes_are_what_the_tokenizer_decodes(name: str) -> None:
    tokenizer, table = live(name), table_of(name)
    before = tokenizer.encode("a", add_special_tokens=False).ids[-1]
    (start,) = tokenizer.decode_batch([[before]], skip_special_tokens=False)
    ids = [index for index, data in enumerate(table.tokens) if data is not None]
    pairs = [[before, index] for index in ids]
    for index, text in zip(
        ids, tokenizer.decode_batch(pairs, skip_special_tokens=False), strict=True
    ):
        data = table.tokens[index]
        assert data is not None
        assert text == start + data.decode("utf-8", "replace"), index


@pytest.mark.parametrize("name", WITH_JSON, scope="module")
def test_texts_come_back(name: str) -> None:
    tokenizer, table = live(name), table_of(name)
    for text in TEXTS:
        expected = unicodedata.normalize("NFKC", text) if name == "claude" else text
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        spelled = b"".join(table.tokens[index] or b"?" for index in ids)
        assert spelled == (" " * table.prefix_space + expected).encode()


@pytest.mark.parametrize("name", WITH_JSON, scope="module")
def test_folder_file_and_object_agree(name: str) -> None:
    place = folder(name)
    whole, in_memory = table_of(name), from_huggingface(live(name))
    assert whole.tokens == from_huggingface(str(place / "tokenizer.json")).tokens
    assert set(whole.end_ids) == set(assets.TOKENIZERS[name].ends) | set(whole.end_ids[:1])
    marked = whole.special_ids - in_memory.special_ids  # by the files beside tokenizer.json
    assert in_memory.special_ids <= whole.special_ids
    assert [data for index, data in enumerate(in_memory.tokens) if index not in marked] == [
        data for index, data in enumerate(whole.tokens) if index not in marked
    ]
    assert in_memory.end_ids == ()


@pytest.mark.parametrize("name", REAL, scope="module")
def test_no_text_token_spells_a_control_token_by_id(name: str) -> None:
    rest = assets.TOKENIZERS[name]
    table = from_huggingface(folder(name), size=rest.logits)
    assert len(table.tokens) == rest.logits
    assert set(table.names) == table.special_ids >= set(table.end_ids)
    assert all(table.tokens[index] is None for index in table.special_ids)
    assert b"" not in table.tokens
    named = [name for name, _ in zip(table.names.values(), range(50), strict=False)]
    assert not {name.encode() for name in named} & set(table.tokens)


@pytest.mark.tokenizer
def test_transformers_tokenizers_know_their_folder() -> None:
    transformers = pytest.importorskip("transformers")
    place = folder("llama3")
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(place)
    table = from_huggingface(tokenizer)
    assert table == from_huggingface(place)
    assert set(table.end_ids) == {128001, 128008, 128009}
    assert table.names[128009] == "<|eot_id|>"
    processor = SimpleNamespace(tokenizer=tokenizer)
    assert from_huggingface(processor) == table


@pytest.mark.tokenizer
def test_two_carriers_of_llama3_agree() -> None:
    folder("llama3")
    packed = assets.source("quicktok", "quicktok/data/llama3.vocab").read_bytes()
    file = assets.source("quicktok", "quicktok/data/llama3.special").read_bytes()
    ranks, names = formats.packed_ranks(packed), formats.packed_names(file)
    assert from_tiktoken(ranks, names).tokens == from_huggingface(folder("llama3")).tokens


# ---- the traps of real tokenizers


@pytest.mark.tokenizer
def test_logits_wider_than_the_ids() -> None:
    place = folder("qwen3")
    assert len(from_huggingface(place).tokens) == 151669
    table = from_huggingface(place, size=151936)
    assert table.tokens[151669:] == [None] * 267
    assert not table.special_ids & set(range(151669, 151936))
    with pytest.raises(VocabularyError, match="leaves out text tokens"):
        from_huggingface(place, size=151000)


@pytest.mark.tokenizer
def test_ids_missing_in_the_middle() -> None:
    table = table_of("cl100k")
    holes = [i for i, data in enumerate(table.tokens) if data is None and i not in table.names]
    assert holes == [100256, *range(100261, 100276)]


@pytest.mark.tokenizer
def test_added_tokens_that_are_not_special_are_text() -> None:
    place = folder("deepseek")
    table = from_huggingface(place)
    (think,) = ids_of(table, b"<think>")
    assert think not in table.special_ids
    marked = from_huggingface(place, control=["<think>", "</think>"])
    assert marked.names[think] == "<think>"
    assert marked.tokens[think] is None
    assert len(marked.special_ids) == len(table.special_ids) + 2
    assert from_huggingface(live("deepseek"), control=[think]).names[think] == "<think>"
    with pytest.raises(VocabularyError, match="'<thonk>' is not in the tokenizer"):
        from_huggingface(place, control=["<thonk>"])


@pytest.mark.tokenizer
@pytest.mark.parametrize(("name", "repeated"), [("mistral-v1", 125), ("mistral-v3", 125)])
def test_ids_that_share_their_bytes_are_kept(name: str, repeated: int) -> None:
    table = table_of(name)
    texts = [data for data in table.tokens if data is not None]
    assert len(texts) - len(set(texts)) == repeated
    assert len(ids_of(table, b"a")) == 2  # the letter, and the byte <0x61>


@pytest.mark.tokenizer
def test_bytes_that_a_vocabulary_lacks() -> None:
    table = table_of("smollm2")
    missing = {byte for byte in range(256) if bytes([byte]) not in set(table.tokens)}
    assert missing == {4, 6, 0x13, 0x14, 0x16, 0x1D, 0xC0, 0xC1, 0xF1, 0xF2, *range(0xF5, 0x100)}


@pytest.mark.tokenizer
def test_tokens_that_are_pieces_of_characters() -> None:
    table = table_of("llama3")
    pieces = 0
    for data in table.tokens:
        try:
            (data or b"").decode()
        except UnicodeDecodeError:
            pieces += 1
    assert pieces > 1000
    assert ids_of(table, b"\xff")


@pytest.mark.tokenizer
def test_a_token_of_a_thousand_bytes() -> None:
    table = table_of("claude")
    assert max(len(data or b"") for data in table.tokens) == 1024


@pytest.mark.tokenizer
def test_the_prefix_space_is_kept_and_reported() -> None:
    table = table_of("mistral-v1")
    assert table.prefix_space
    assert ids_of(table, b" the")
    assert live("mistral-v1").decode(ids_of(table, b" the")) == "the"
    assert not from_huggingface(folder("smollm2")).prefix_space


@pytest.mark.tokenizer
def test_tekken_has_more_ranks_than_tokens() -> None:
    place = folder("tekken")
    table = from_huggingface(place)
    assert table == from_tiktoken(place / "tekken.json") == from_huggingface(place / "tekken.json")
    assert (len(table.tokens), table.end_ids, table.names[2]) == (131072, (2,), "</s>")
    document = json.loads((place / "tekken.json").read_bytes())
    for entry in document["vocab"][:130072]:
        text = (table.tokens[entry["rank"] + 1000] or b"").decode("utf-8", "replace")
        assert entry["token_str"] in (None, text)
    marked = from_huggingface(place, end_ids=["</s>", "[/INST]"], control=[5000])
    assert marked.end_ids == (2, 4)
    assert marked.tokens[5000] is None


@pytest.mark.tokenizer
@pytest.mark.parametrize("name", ["mistral-v1", "mistral-v3"])
def test_the_sentencepiece_file_says_the_same(name: str) -> None:
    place = folder(name)
    table = from_sentencepiece(place / "tokenizer.model")
    assert table.tokens == from_huggingface(place).tokens
    assert (table.end_ids, table.prefix_space) == ((2,), True)
    assert table.names.keys() == from_huggingface(place).names.keys()


# ---- end ids


def write_tiny(place: Path, **config: Any) -> Path:
    vocab = {"a": 0, "b": 1, "Ġ": 2}
    formats.write_folder(
        place,
        formats.bpe_model(vocab, []),
        added=[(4, "<end>", True), (5, "<turn>", True), (6, "<tool>", False), (7, "é Ġ", False)],
        end="<end>",
        config=config,
    )
    return place


def test_added_tokens_hold_literal_text(tmp_path: Path) -> None:
    table = from_huggingface(write_tiny(tmp_path))
    assert table.tokens == [b"a", b"b", b" ", None, None, None, b"<tool>", "é Ġ".encode()]
    assert table.names == {4: "<end>", 5: "<turn>"}
    assert table.family == "byte-level"


def test_ends_of_tokenizer_and_generation_config(tmp_path: Path) -> None:
    write_tiny(tmp_path)
    assert from_huggingface(tmp_path).end_ids == (4,)
    (tmp_path / "config.json").write_text('{"text_config": {"eos_token_id": 1}}')
    assert from_huggingface(tmp_path).end_ids == (4, 1)
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [5, 4]}')
    assert from_huggingface(tmp_path).end_ids == (4, 5)
    assert from_huggingface(tmp_path, generation_config={"eos_token_id": 6}).end_ids == (4, 6)
    config = SimpleNamespace(eos_token_id=[2])
    assert from_huggingface(tmp_path, generation_config=config).end_ids == (4, 2)
    assert from_huggingface(tmp_path, generation_config=tmp_path).end_ids == (4, 5)
    assert from_huggingface(tmp_path, end_ids=["<turn>", 0]).end_ids == (5, 0)
    assert from_huggingface(tmp_path, end_ids=[]).end_ids == ()


def test_an_end_is_never_text(tmp_path: Path) -> None:
    table = from_huggingface(write_tiny(tmp_path), end_ids=[0, 3])
    assert table.tokens[0] is table.tokens[3] is None
    assert (table.names[0], table.names[3]) == ("a", "<3>")
    with pytest.raises(VocabularyError, match="id 8 is not among the 8 ids"):
        from_huggingface(tmp_path, end_ids=[8])
    with pytest.raises(VocabularyError, match="id -1 is not"):
        from_huggingface(tmp_path, end_ids=[-1])
    with pytest.raises(VocabularyError, match="id 9 is not"):
        from_huggingface(tmp_path, control=[9])
    with pytest.raises(VocabularyError, match="is not in the tokenizer"):
        from_huggingface(tmp_path, end_ids=["</s>"])


def test_files_beside_the_tokenizer_mark_control_tokens(tmp_path: Path) -> None:
    token = {"content": "<tool>", "special": True}
    late = {"content": "<late>", "special": False}
    write_tiny(tmp_path, added_tokens_decoder={"6": token, "9": late}, extra_special_tokens=["b"])
    (tmp_path / "special_tokens_map.json").write_text('{"pad_token": {"content": "a"}}')
    (tmp_path / "added_tokens.json").write_text('{"<more>": 10, "<turn>": 5}')
    table = from_huggingface(tmp_path)
    assert table.names == {0: "a", 1: "b", 4: "<end>", 5: "<turn>", 6: "<tool>"}
    assert table.tokens[9:] == [b"<late>", b"<more>"]


def test_transformers_objects_name_their_ends_and_control_tokens() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    backend = tokenizers.Tokenizer(
        tokenizers.models.BPE({"a": 0, "b": 1, "?": 2}, [], unk_token="?")
    )
    backend.decoder = tokenizers.decoders.ByteLevel()
    fast = SimpleNamespace(backend_tokenizer=backend, eos_token_id=1, all_special_ids=[1])
    table = from_huggingface(fast)
    assert (table.tokens, table.end_ids) == ([b"a", None, None], (1,))
    assert table.names == {1: "b", 2: "?"}


def test_the_cache_of_the_hub_is_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = tmp_path / "generation_config.json"
    config.write_text('{"eos_token_id": [1, 2]}')

    def find(name: str, file: str) -> object:
        if name != "some/model":
            raise ValueError(name)
        return str(config) if file == config.name else None

    hub = SimpleNamespace(try_to_load_from_cache=find)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    slow = SimpleNamespace(mergeable_ranks={b"a": 0, b"b": 1, b"c": 2}, eos_token_id=None)
    for name, ends in [("some/model", (1, 2)), ("other", ()), ("", ()), (str(tmp_path), (1, 2))]:
        slow.name_or_path = name
        assert from_huggingface(slow).end_ids == ends


# ---- decoders


def decoded(decoder: object, *pieces: str, model: str = "BPE", **flags: Any) -> TokenTable:
    """The table of a tokenizer in memory with that decoder and vocabulary."""
    tokenizers = pytest.importorskip("tokenizers")
    if model == "Unigram":
        content = tokenizers.models.Unigram([(piece, -1.0) for piece in pieces], 0, False)
    else:
        content = tokenizers.models.BPE({piece: i for i, piece in enumerate(pieces)}, [], **flags)
    backend = tokenizers.Tokenizer(content)
    if decoder is not None:
        backend.decoder = decoder
    from_file = None
    try:
        table = from_huggingface(backend)
    except VocabularyError as error:
        from_file = str(error)
        raise
    finally:
        assert from_file is None or from_file
    for index, data in enumerate(table.tokens):
        if data is not None:
            both, first = backend.decode([0, index]), backend.decode([0])
            assert both == first + data.decode("utf-8", "replace")
    return table


@pytest.fixture
def stages() -> ModuleType:
    module: ModuleType = pytest.importorskip("tokenizers").decoders
    return module


def test_metaspace_drops_the_first_space_only(stages: Any) -> None:
    always = decoded(stages.Metaspace(), "x", "▁a", "b▁c", "▁")
    assert always.tokens == [b"x", b" a", b"b c", b" "]
    assert always.prefix_space
    assert not decoded(stages.Metaspace(prepend_scheme="never"), "x", "▁a").prefix_space


def test_sentencepiece_like_pipelines(stages: Any) -> None:
    bare = [stages.Replace("▁", " "), stages.ByteFallback(), stages.Fuse()]
    gemma = decoded(stages.Sequence(bare), "x", "▁▁a", "<0x0A>", "<0xff>", "<0xZZ>", "<0x0A>b")
    assert gemma.tokens == [b"x", b"  a", b"\n", b"\xff", b"<0xZZ>", b"<0x0A>b"]
    assert (gemma.family, gemma.prefix_space) == ("byte-fallback", False)
    llama = decoded(stages.Sequence([*bare, stages.Strip(" ", 1, 0)]), "x", "▁a")
    assert (llama.tokens, llama.prefix_space) == ([b"x", b" a"], True)


def test_edits_inside_tokens(stages: Any) -> None:
    strip = stages.Sequence([stages.Strip("_", 1, 2), stages.Replace("ab", "c"), stages.Fuse()])
    table = decoded(strip, "x", "__y____", "zab_", "_")
    assert table.tokens == [b"x", b"_y__", b"zc", None]
    assert table.family == "literal"


def test_unigram_keeps_every_id(stages: Any) -> None:
    table = decoded(stages.Metaspace(), "<unk>", "▁a", "b", model="Unigram")
    assert table.tokens == [None, b" a", b"b"]
    assert table.names == {0: "<unk>"}


def test_words_with_characters_outside_the_stand_ins_are_literal(stages: Any) -> None:
    table = decoded(stages.ByteLevel(), "x", "Ġa", "<｜x｜>Ġ", "Ċ", "ÿ", "[PAD5]", "[PAD7]")
    texts = [b"x", b" a", "<｜x｜>Ġ".encode(), b"\n", b"\xff", None, b"[PAD7]"]
    assert table.tokens == texts


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda d: None, "no decoder"),
        (lambda d: d.WordPiece(), "'WordPiece' is not supported: a word's bytes depend"),
        (lambda d: d.BPEDecoder(), "'BPEDecoder' is not supported"),
        (lambda d: d.CTC(), "'CTC' is not supported: repeated tokens collapse"),
        (lambda d: d.Sequence([d.Fuse(), d.Replace("a", "b")]), "'Replace' edits the whole text"),
        (lambda d: d.Sequence([d.ByteFallback(), d.Metaspace()]), "'Metaspace' edits the whole"),
        (lambda d: d.Sequence([d.Fuse(), d.Strip(" ", 2, 0)]), "only one leading space"),
        (lambda d: d.Sequence([d.Fuse(), d.Strip(" ", 1, 1)]), "only one leading space"),
        (lambda d: d.Sequence([d.Fuse(), d.ByteLevel()]), "already bytes"),
        (lambda d: d.Sequence([d.ByteLevel(), d.ByteFallback()]), "already bytes"),
    ],
)
def test_decoders_that_are_not_concatenations(stages: Any, make: Any, message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        decoded(make(stages), "x", "a")


def test_patterns_and_end_marks_are_refused(stages: Any) -> None:
    regex = pytest.importorskip("tokenizers").Regex
    with pytest.raises(VocabularyError, match="only fixed strings"):
        decoded(stages.Replace(regex("a+"), "b"), "x", "aa")
    with pytest.raises(VocabularyError, match="words end in the mark '</w>'"):
        decoded(stages.ByteLevel(), "x", "a</w>", end_of_word_suffix="</w>")


def test_every_byte_has_its_stand_in() -> None:
    assert [formats.GPT2_STAND_INS[byte] for byte in range(256)] == list(STAND_INS)
    assert decode_byte_level(list(STAND_INS)) == [bytes([byte]) for byte in range(256)]
    assert decode_byte_level([STAND_INS, "", "\u0144", "\U0001f600"]) == [
        bytes(range(256)), b"", b"\xc5\x84", "\U0001f600".encode()
    ]  # fmt: skip
    assert decode_byte_level([]) == []


# ---- ranks


def test_ranks_from_everywhere(tmp_path: Path) -> None:
    ranks = {b"a": 0, b"\xff": 1, b"ab": 2}
    special = {"<|endoftext|>": 4, "<|x|>": 5}
    encoding = SimpleNamespace(_mergeable_ranks=ranks, _special_tokens=special)
    table = from_tiktoken(encoding)
    assert table.tokens == [b"a", b"\xff", b"ab", None, None, None]
    assert (table.end_ids, table.names) == ((4,), {4: "<|endoftext|>", 5: "<|x|>"})
    assert from_tiktoken(ranks, special, end_ids=[4]) == table
    file = tmp_path / "x.tiktoken"
    file.write_bytes(b"".join(base64.b64encode(t) + b" %d\n" % r for t, r in ranks.items()))
    assert from_tiktoken(file, special, end_ids=["<|endoftext|>"]) == table
    assert from_tiktoken(str(file)).end_ids == ()
    assert from_tiktoken(file, ["<s>", "</s>"]).names == {3: "<s>", 4: "</s>"}
    assert from_huggingface(tmp_path, end_ids=[2]).tokens == [b"a", b"\xff", None]
    slow = SimpleNamespace(mergeable_ranks=ranks, special_tokens=special, eos_token_id=5)
    assert from_huggingface(slow).end_ids == (5,)
    assert from_huggingface(SimpleNamespace(model=encoding)).tokens == table.tokens
    file.write_bytes(b"YQ== 0\nYg==\n")
    with pytest.raises(VocabularyError, match=r"line 2: not a token and rank"):
        from_tiktoken(file)


def test_a_real_encoding_is_read() -> None:
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256}
    encoding = tiktoken.Encoding(
        "tiny", pat_str="a+", mergeable_ranks=ranks, special_tokens={"<e>": 300}
    )
    table = from_tiktoken(encoding, end_ids=["<e>"])
    assert len(table.tokens) == encoding.n_vocab == 301
    assert all(encoding.decode_single_token_bytes(i) == table.tokens[i] for i in range(257))


def test_later_tekken_files_list_their_control_tokens(tmp_path: Path) -> None:
    tokens = [base64.b64encode(text).decode() for text in (b"a", b"b", b"c", b"d")]
    listed = [
        {"rank": i, "token_str": t, "is_control": True} for i, t in enumerate(["<s>", "</s>"])
    ]
    document = {
        "config": {"default_vocab_size": 6, "default_num_special_tokens": 3},
        "vocab": [{"rank": rank, "token_bytes": text} for rank, text in enumerate(tokens)],
        "special_tokens": listed,
    }  # fmt: skip
    file = tmp_path / "tekken.json"
    file.write_text(json.dumps(document))
    table = from_tiktoken(file)
    assert table.tokens == [None, None, None, b"a", b"b", b"c"]
    assert (table.names, table.end_ids) == ({0: "<s>", 1: "</s>", 2: "<SPECIAL_2>"}, (1,))
    file.write_text('{"config": {}}')
    with pytest.raises(VocabularyError, match="is not a tekken file"):
        from_tiktoken(file)


# ---- SentencePiece


def message(*fields: tuple[int, int | bytes]) -> bytes:
    """A protocol-buffer message of small fields."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def piece(text: str, kind: int | None = None, score: bytes = b"\0\0\0\0") -> tuple[int, bytes]:
    head = message((1, text.encode())) + b"\x15" + score
    return 1, head + (b"" if kind is None else message((3, kind)))


TINY = [piece("<unk>", 2), piece("</s>", 3), piece("▁a"), piece("<0xE9>", 6), piece("<turn>", 4)]
TINY += [piece("rest", 5), piece("x" * 200, 1), piece("b▁")]


def test_kinds_of_pieces() -> None:
    table = from_sentencepiece(message(*TINY), size=9)
    texts = [None, None, b" a", b"\xe9", b"<turn>", None, b"x" * 200, b"b ", None]
    assert table.tokens == texts
    assert (table.names, table.end_ids) == ({0: "<unk>", 1: "</s>"}, (1,))
    assert table.prefix_space
    marked = from_sentencepiece(message(*TINY), control=["<turn>"], end_ids=["<turn>", "</s>"])
    assert marked.end_ids == (4, 1)
    plain = message(*TINY, (3, message((3, 0), (4, 0))), (2, message((47, b"<turn>"))))
    assert not from_sentencepiece(plain).prefix_space
    assert from_sentencepiece(plain).end_ids == ()  # that piece is text


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "no pieces"),
        (b"\xff" * 40, "structure is damaged"),
        (b"\x0a\x05\x0a", "structure is damaged"),
        (message(piece("q", 9)), "unknown kind 9"),
        (message(piece("<0xG1>", 6)), "is a byte but is spelled"),
        (message(*TINY, (2, message((24, 1)))), "white space behind words"),
        (message(*TINY, (5, message((2, b"map")))), "rewrites text"),
    ],
)
def test_models_that_cannot_be_read(data: bytes, problem: str) -> None:
    with pytest.raises(VocabularyError, match=problem):
        from_sentencepiece(data)


def test_damaged_models_are_errors_not_crashes() -> None:
    whole, random_ = message(*TINY), random.Random(7)
    for _ in range(500):
        data = bytearray(whole)
        data[random_.randrange(len(data))] = random_.randrange(256)
        del data[random_.randrange(len(data)) :]
        try:
            from_sentencepiece(bytes(data))
        except VocabularyError:
            continue


def test_a_trained_model_decodes_alike(tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    text = tmp_path / "text"
    text.write_text("\n".join(f"the cat {i} sat on mat number {i * 7}" for i in range(300)))
    sentencepiece.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(tmp_path / "m"), vocab_size=330, byte_fallback=True,
        model_type="unigram", user_defined_symbols=["<turn>", "a▁b"], minloglevel=2,
        hard_vocab_limit=False,
    )  # fmt: skip
    processor = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "m.model"))
    table = from_sentencepiece(processor)
    assert table == from_sentencepiece(tmp_path / "m.model")
    assert len(table.tokens) == processor.get_piece_size()
    assert table.end_ids == (processor.eos_id(),)
    before = processor.encode("the")
    for index, data in enumerate(table.tokens):
        if data is not None:
            expected = "the" + data.decode("utf-8", "replace")
            assert processor.decode([*before, index]) == expected
    slow = SimpleNamespace(
        sp_model=processor,
        vocab_file=str(tmp_path / "m.model"),
        get_vocab=lambda: {processor.id_to_piece(i): i + 1 for i in range(len(table.tokens))},
        added_tokens_decoder={0: SimpleNamespace(content="<pad>", special=True)},
    )
    shifted = from_huggingface(slow)
    assert shifted.tokens[1:] == table.tokens
    assert (shifted.names[0], shifted.end_ids) == ("<pad>", (processor.eos_id() + 1,))


def test_folders_with_a_sentencepiece_model_only(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.model").write_bytes(message(*TINY))
    config = {"tokenizer_class": "LlamaTokenizer", "eos_token": "<turn>"}
    config_file = tmp_path / "tokenizer_config.json"
    config_file.write_text(json.dumps(config))
    table = from_huggingface(tmp_path)
    assert (table.end_ids, table.names[4]) == ((4, 1), "<turn>")
    config_file.write_text('{"tokenizer_class": "XLMRobertaTokenizer"}')
    with pytest.raises(VocabularyError, match="may number its tokens unlike"):
        from_huggingface(tmp_path)


@pytest.mark.tokenizer
def test_slow_sentencepiece_tokenizers_of_transformers() -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("sentencepiece")
    if not hasattr(transformers, "GPTSw3Tokenizer"):
        pytest.skip("this version of transformers has no slow tokenizer that is used here")
    file = folder("mistral-v1") / "tokenizer.model"
    tokenizer = transformers.GPTSw3Tokenizer(vocab_file=str(file))
    table, own = from_huggingface(tokenizer), from_sentencepiece(file)
    assert table.tokens[:32000] == own.tokens
    assert set(table.end_ids) == {tokenizer.eos_token_id, 2}
    assert {32000, 32001} <= table.special_ids  # added when the tokenizer is made


# ---- what is refused


def test_things_that_are_no_tokenizers(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match="int is not a tokenizer of a known kind"):
        from_huggingface(7)
    with pytest.raises(VocabularyError, match="no such file or folder"):
        from_huggingface(tmp_path / "none")
    with pytest.raises(VocabularyError, match=r"has no tokenizer.json"):
        from_huggingface(tmp_path)
    for content in ("{", "[]", "{}", '{"model": {"vocab": 3}}', '{"model": {"vocab": [[]]}}'):
        (tmp_path / "tokenizer.json").write_text(content)
        with pytest.raises(VocabularyError):
            from_huggingface(tmp_path)
    for wrong in (7, {"a": 0}, tmp_path / "none"):
        with pytest.raises(VocabularyError):
            from_tiktoken(wrong)
    with pytest.raises(VocabularyError, match="has no tokens"):
        from_tiktoken({})
    (tmp_path / "r.model").write_bytes(b"YQ== 0\nYg== 1\n")
    for read in (from_sentencepiece, from_huggingface):
        with pytest.raises(VocabularyError, match="holds"):
            read(tmp_path / "r.model")
    with pytest.raises(VocabularyError):
        from_sentencepiece(tmp_path / "none.model")


def test_readers_import_no_tokenizer_package() -> None:
    check = "import sys; from gramlock.tokenizers import from_huggingface;"
    check += "print(sorted({'tokenizers', 'transformers', 'torch', 'tiktoken'} & set(sys.modules)))"
    command = [sys.executable, "-c", check]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT / "python")
    assert done.stdout.strip() == "[]", done.stderr

"""The engines that compare.py asks, each behind the same few calls.

What is timed starts from a schema as JSON text, which is what a server receives: an engine that
wants it parsed parses it. ``source`` writes that text, with the option for white space where the
engine takes it from the schema, and is not timed.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
from typing import Any, Protocol

Schema = dict[str, Any]

# own: each engine's default; flexible: any white space between tokens; compact: none.
SPACING = ("own", "flexible", "compact")


class Engine(Protocol):
    """A matcher at a time; ``words`` is the mask that ``fill`` writes."""

    words: Any

    def source(self, schema: Schema) -> str: ...
    def compile(self, text: str) -> None: ...
    def start(self) -> None: ...
    def fill(self) -> None: ...
    def accept(self, token: int) -> None: ...


class Gramlock:
    """The options go to ``from_json_schema``."""

    def __init__(self, tokenizer: Any, spacing: str, options: dict[str, Any]) -> None:
        import gramlock

        self.vocabulary = gramlock.Vocabulary.from_huggingface(tokenizer)
        self.mask = gramlock.allocate_token_bitmask(1, self.vocabulary.size)
        self.words = self.mask[0]
        self.options = {**({} if spacing == "own" else {"whitespace": spacing}), **options}

    def source(self, schema: Schema) -> str:
        return json.dumps(schema)

    def compile(self, text: str) -> None:
        self.program = self.vocabulary.compile(json.loads(text), **self.options)

    def start(self) -> None:
        self.matcher = self.program.matcher()

    def fill(self) -> None:
        self.matcher.fill_next_token_bitmask(self.mask)

    def accept(self, token: int) -> None:
        self.matcher.accept_token(token)


class LLGuidance:
    """The options go into the schema's ``x-guidance``."""

    def __init__(self, tokenizer: Any, spacing: str, options: dict[str, Any]) -> None:
        import llguidance
        import llguidance.hf
        import llguidance.numpy

        self.library, self.write = llguidance, llguidance.numpy.fill_next_token_bitmask
        self.tokenizer = llguidance.hf.from_tokenizer(tokenizer)
        self.mask = llguidance.numpy.allocate_token_bitmask(1, self.tokenizer.vocab_size)
        self.words = self.mask[0]
        flexible = {} if spacing == "own" else {"whitespace_flexible": spacing == "flexible"}
        self.options = {**flexible, **options}

    def source(self, schema: Schema) -> str:
        chosen = {**schema, "x-guidance": self.options} if self.options else schema
        return json.dumps({"grammars": [{"json_schema": chosen}]})

    def compile(self, text: str) -> None:
        self.compiled = self.library.LLMatcher(self.tokenizer, text)
        if self.compiled.is_error():
            raise ValueError(self.compiled.get_error())

    def start(self) -> None:
        self.matcher = self.compiled.deep_copy()

    def fill(self) -> None:
        self.write(self.matcher, self.mask, 0)

    def accept(self, token: int) -> None:
        self.matcher.consume_token(token)


class XGrammar:
    """The options go to ``compile_json_schema``, ``max_threads`` to the compiler."""

    def __init__(self, tokenizer: Any, spacing: str, options: dict[str, Any]) -> None:
        import xgrammar

        self.library = xgrammar
        threads = options.pop("max_threads", None)
        info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=len(tokenizer))
        self.mask = xgrammar.allocate_token_bitmask(1, info.vocab_size)
        self.words = self.mask[0].numpy()
        limit = {} if threads is None else {"max_threads": threads}
        self.compiler = xgrammar.GrammarCompiler(info, **limit)
        self.options = {"strict_mode": False, **options}
        if spacing != "own":
            self.options["any_whitespace"] = spacing == "flexible"
        if spacing == "compact":
            self.options["separators"] = (",", ":")

    def source(self, schema: Schema) -> str:
        return json.dumps(schema)

    def compile(self, text: str) -> None:
        self.program = self.compiler.compile_json_schema(text, **self.options)

    def start(self) -> None:
        self.matcher = self.library.GrammarMatcher(self.program)

    def fill(self) -> None:
        self.matcher.fill_next_token_bitmask(self.mask)

    def accept(self, token: int) -> None:
        self.matcher.accept_token(token)


ENGINES: dict[str, Any] = {"gramlock": Gramlock, "llguidance": LLGuidance, "xgrammar": XGrammar}


def installed(names: list[str]) -> tuple[list[str], list[str]]:
    """Those that are there, and those that are not."""
    there = [name for name in names if importlib.util.find_spec(name)]
    return there, [name for name in names if name not in there]


def version(name: str) -> str:
    return importlib.metadata.version(name)

"""The engines that compare.py asks, each behind the same few calls.

What is timed starts from a schema as JSON text, which is what a server receives: an engine that
wants it parsed parses it. ``source`` writes that text, with the option for white space where the
engine takes it from the schema, and is not timed.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
from collections.abc import Callable
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
    def batch(self, texts: list[list[int]], threads: int) -> Callable[[], None]:
        """Puts a matcher after each of the texts; the function fills all their masks at once."""


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

    def batch(self, texts: list[list[int]], threads: int) -> Callable[[], None]:
        import gramlock

        matchers = [self.program.matcher() for _ in texts]
        for matcher, text in zip(matchers, texts, strict=True):
            for token in text:
                matcher.accept_token(token)
        mask = gramlock.allocate_token_bitmask(len(texts), self.vocabulary.size)
        return lambda: gramlock.fill_next_token_bitmasks(matchers, mask, threads=threads)


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

    def batch(self, texts: list[list[int]], threads: int) -> Callable[[], None]:
        import llguidance.numpy as masks

        executor = self.library.LLExecutor(num_threads=threads)
        matchers = [(self.compiled.deep_copy(), row) for row in range(len(texts))]
        for (matcher, _), text in zip(matchers, texts, strict=True):
            matcher.consume_tokens(text)
        mask = masks.allocate_token_bitmask(len(texts), self.tokenizer.vocab_size)
        return lambda: masks.fill_next_token_bitmask_par(executor, matchers, mask)


class XGrammar:
    """The options go to ``compile_json_schema``, ``max_threads`` to the compiler."""

    def __init__(self, tokenizer: Any, spacing: str, options: dict[str, Any]) -> None:
        import xgrammar

        self.library = xgrammar
        threads = options.pop("max_threads", None)
        info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=len(tokenizer))
        self.size = info.vocab_size
        self.mask = xgrammar.allocate_token_bitmask(1, self.size)
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

    def batch(self, texts: list[list[int]], threads: int) -> Callable[[], None]:
        matchers = [self.library.GrammarMatcher(self.program) for _ in texts]
        for matcher, text in zip(matchers, texts, strict=True):
            for token in text:
                matcher.accept_token(token)
        filler = self.library.BatchGrammarMatcher(max_threads=threads)
        mask = self.library.allocate_token_bitmask(len(texts), self.size)
        return lambda: filler.batch_fill_next_token_bitmask(matchers, mask)


ENGINES: dict[str, Any] = {"gramlock": Gramlock, "llguidance": LLGuidance, "xgrammar": XGrammar}


def installed(names: list[str]) -> tuple[list[str], list[str]]:
    """Those that are there, and those that are not."""
    there = [name for name in names if importlib.util.find_spec(name)]
    return there, [name for name in names if name not in there]


def version(name: str) -> str:
    return importlib.metadata.version(name)

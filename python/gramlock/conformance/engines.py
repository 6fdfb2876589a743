"""The engines: compile a schema, say whether a whole text is in the language.

Each engine is asked in the freest way that it offers (any order of members, any white space), for a
corpus is about what a schema means and not about what is pleasant to generate. The others than
Gramlock get the 256 bytes as their tokens, so that no tokenizer stands between the text and them.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import GramlockError, MissingDependencyError, UnsatisfiableError
from .cases import Case

__all__ = ["ENGINES", "FREE", "EngineInfo", "find_engine"]

#: Whether a text is a sentence of the compiled schema.
Accepts = Callable[[bytes], bool]
#: Compiles one case; raises UnsatisfiableError if it has no sentence, anything else if it refuses.
Compile = Callable[[Case], Accepts]

#: Gramlock's options under which a schema's language is exactly its valid texts.
FREE = {
    "order": "any",
    "whitespace": "flexible",
    "numbers": "any",
    "escapes": "any",
    "formats": "assert",
}

_END = 256


def _gramlock(options: Mapping[str, Any]) -> Compile:
    from ..grammar import Grammar

    def compiled(case: Case) -> Accepts:
        return Grammar.from_json_schema(
            case.marked_schema, dialect=case.dialect, registry=case.documents, **options
        ).accepts

    return compiled


def _llguidance(options: Mapping[str, Any]) -> Compile:
    library = importlib.import_module("llguidance")
    tokenizer = library.LLTokenizer("byte")

    def compiled(case: Case) -> Accepts:
        source = json.dumps({"grammars": [{"json_schema": case.marked_schema}]})
        matcher = library.LLMatcher(tokenizer, source)
        _refuse(matcher.get_error() if matcher.is_error() else "", "unsatisfiable schema")

        def accepts(text: bytes) -> bool:
            matcher.reset()
            read = matcher.try_consume_tokens(list(text))
            _refuse(matcher.get_error() if matcher.is_error() else "", "unsatisfiable schema")
            return bool(read == len(text) and matcher.is_accepting())

        return accepts

    return compiled


def _xgrammar(options: Mapping[str, Any]) -> Compile:
    library = importlib.import_module("xgrammar")
    tokens = [bytes([byte]) for byte in range(256)] + [b"<end>"]
    info = library.TokenizerInfo(tokens, library.VocabType.RAW, stop_token_ids=[_END])
    compiler = library.GrammarCompiler(info, max_threads=1, cache_enabled=False)

    def compiled(case: Case) -> Accepts:
        source = json.dumps(case.marked_schema)
        try:
            program = compiler.compile_json_schema(source, strict_mode=False, any_order=True)
        except RuntimeError as error:
            _refuse(str(error), "cannot accept any value")

        def accepts(text: bytes) -> bool:
            matcher = library.GrammarMatcher(program)
            return all(map(matcher.accept_token, text)) and bool(matcher.accept_token(_END))

        return accepts

    return compiled


def _outlines_core(options: Mapping[str, Any]) -> Compile:
    library = importlib.import_module("outlines_core")
    writer = importlib.import_module("outlines_core.json_schema")
    vocabulary = library.Vocabulary(_END, {bytes([byte]): [byte] for byte in range(256)})

    def compiled(case: Case) -> Accepts:
        source = json.dumps(case.schema)  # it takes $schema for a keyword that it lacks
        pattern = writer.build_regex_from_schema(source, r"[ \t\n\r]*")
        index = library.Index(pattern, vocabulary)

        def accepts(text: bytes) -> bool:
            guide = library.Guide(index)
            if not guide.accepts_tokens(list(text)):
                return False
            for byte in text:
                guide.advance(byte, return_tokens=False)
            return bool(guide.is_finished())

        return accepts

    return compiled


def _refuse(message: str, unsatisfiable: str) -> None:
    """Raise what a message means, if there is one."""
    if unsatisfiable in message.lower():
        raise UnsatisfiableError(message)
    if message:
        raise ValueError(message)


@dataclass(frozen=True)
class EngineInfo:
    """An engine that the runner can ask.

    Attributes:
        name: The name of its package on the index.
        module: The module to import.
        start: Loads the engine with options; only Gramlock has any.
    """

    name: str
    module: str
    start: Callable[[Mapping[str, Any]], Compile]

    @property
    def version(self) -> str:
        return importlib.metadata.version(self.name)


ENGINES = {
    engine.name: engine
    for engine in (
        EngineInfo("gramlock", "gramlock", _gramlock),
        EngineInfo("llguidance", "llguidance", _llguidance),
        EngineInfo("xgrammar", "xgrammar", _xgrammar),
        EngineInfo("outlines-core", "outlines_core", _outlines_core),
    )
}


def find_engine(name: str) -> EngineInfo:
    """The engine of this name, if it is installed.

    Raises:
        GramlockError: No engine has this name.
        MissingDependencyError: It is not installed; the message says what to install.
    """
    engine = ENGINES.get(name)
    if engine is None:
        raise GramlockError(f"no engine is called {name!r}; there are {', '.join(ENGINES)}")
    if importlib.util.find_spec(engine.module) is None:
        raise MissingDependencyError(name, "compare")
    return engine

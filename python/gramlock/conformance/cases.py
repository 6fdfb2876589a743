"""The corpus as objects.

The folder that :func:`read_corpus` takes has a ``corpus.json`` with the versions and a folder
``cases`` with one JSON file a keyword. The files say what they hold in ``README.md`` beside them;
``schema.json`` is their JSON Schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import GramlockError
from ..schema.options import DIALECTS

__all__ = ["FORMAT", "Case", "Corpus", "Instance", "Keyword", "read_corpus"]

#: The version of the file format that this module reads.
FORMAT = 1


@dataclass(frozen=True)
class Instance:
    """A JSON text and whether it satisfies its case's schema.

    Attributes:
        text: The text.
        valid: Whether it satisfies the schema.
        reason: Why, one sentence.
        paragraph: What says so: a standard and a section of it.
    """

    text: str
    valid: bool
    reason: str
    paragraph: str


@dataclass(frozen=True)
class Case:
    """A schema with its instances.

    Attributes:
        name: What the case is about, unique among its keyword's cases.
        dialect: Short name of the dialect.
        schema: The schema as it stands in the corpus, without ``$schema``.
        documents: Other schemas by URI, for references.
        instances: At least one.
    """

    name: str
    dialect: str
    schema: Any
    documents: Mapping[str, Any]
    instances: tuple[Instance, ...]

    @property
    def marked_schema(self) -> Any:
        """The schema with the dialect's URI as ``$schema``; boolean schemas as they are."""
        if not isinstance(self.schema, dict):
            return self.schema
        uri = DIALECTS[self.dialect]
        return {"$schema": uri if "draft/" in uri else uri + "#", **self.schema}


@dataclass(frozen=True)
class Keyword:
    """One file of the corpus: a keyword, a format, or an interaction of several.

    Attributes:
        name: As people call it.
        group: The chapter it belongs to.
        about: What is tested, one or two sentences.
        cases: At least one.
    """

    name: str
    group: str
    about: str
    cases: tuple[Case, ...]

    def instances(self) -> Iterator[tuple[Case, Instance]]:
        for case in self.cases:
            for instance in case.instances:
                yield case, instance


@dataclass(frozen=True)
class Corpus:
    """All keywords.

    Attributes:
        version: Version of the contents.
        keywords: By group, then by name.
    """

    version: str
    keywords: tuple[Keyword, ...]

    @property
    def size(self) -> int:
        """How many instances there are."""
        return sum(len(case.instances) for word in self.keywords for case in word.cases)

    def select(self, names: list[str]) -> Corpus:
        """Only the keywords of these names; all if the list is empty.

        Raises:
            GramlockError: There is no keyword of such a name.
        """
        known = {word.name for word in self.keywords}
        for name in names:
            if name not in known:
                raise GramlockError(
                    f"the corpus has no keyword {name!r}; it has {', '.join(sorted(known))}"
                )
        chosen = tuple(word for word in self.keywords if not names or word.name in names)
        return Corpus(self.version, chosen)


def read_corpus(folder: Path | None = None) -> Corpus:
    """Read a corpus.

    Args:
        folder: Where it lies; the one that comes with the package by default.

    Raises:
        GramlockError: A file cannot be read, is not JSON, or has another format.
    """
    folder = folder or Path(__file__).with_name("corpus")
    about = _document(folder / "corpus.json")
    try:
        groups = list(about["groups"])
        version = str(about["version"])
        files = sorted((folder / "cases").glob("*.json"))
        keywords = [_keyword(path, _document(path)) for path in files]
        keywords.sort(key=lambda word: (groups.index(word.group), word.name))
    except (KeyError, TypeError, ValueError) as error:
        raise GramlockError(f"{folder} is no conformance corpus: {error!r}") from error
    if not keywords:
        raise GramlockError(f"{folder} is no conformance corpus: it has no cases")
    return Corpus(version, tuple(keywords))


def _document(path: Path) -> dict[str, Any]:
    """A JSON object of the format that this module reads."""
    try:
        document = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise GramlockError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise GramlockError(f"{path} is not JSON: {error}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise GramlockError(f"{path} has not the format {FORMAT} of a conformance corpus")
    return document


def _keyword(path: Path, document: dict[str, Any]) -> Keyword:
    try:
        cases = tuple(_case(case) for case in document["cases"])
        return Keyword(document["keyword"], document["group"], document["about"], cases)
    except (KeyError, TypeError) as error:
        raise GramlockError(f"{path} has not the format of a case file: {error!r}") from error


def _case(case: dict[str, Any]) -> Case:
    instances = tuple(
        Instance(
            item["text"], item["valid"], item["reason"], item.get("paragraph", case["paragraph"])
        )
        for item in case["instances"]
    )
    documents = case.get("documents", {})
    return Case(case["name"], case["dialect"], case["schema"], documents, instances)

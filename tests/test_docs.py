"""The documents tell the truth: their examples are run, the links between them lead somewhere."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import gramlock

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "grammars/README.md"])


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_examples(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(>>>.*?)^```", text, re.DOTALL | re.MULTILINE)
    example = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, path.name, path.name, 0)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    runner.run(example)
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_links(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), target


def test_the_worked_example_of_the_architecture() -> None:
    tokens = [b'{"', b"s", b'":"', b"hi", b'"}', b'i"', b"}", b'"', b', "', None]
    bytes_left = [bytes([byte]) for byte in range(256)]  # so that every byte can be spelled
    vocabulary = gramlock.Vocabulary.from_tokens(tokens + bytes_left, end_ids=[9])
    schema = {"type": "object", "properties": {"s": {"type": "string"}}, "required": ["s"]}
    schema["additionalProperties"] = False
    matcher = vocabulary.compile(schema, whitespace="compact").matcher()
    bitmask = gramlock.allocate_token_bitmask(1, vocabulary.size)

    def allowed() -> list[int]:
        matcher.fill_next_token_bitmask(bitmask)
        return [i for i in range(10) if bitmask[0, 0] >> i & 1]

    assert allowed() == [0]
    assert matcher.accept_token(0)
    assert allowed() == [1]
    assert matcher.find_jump_forward_string() == 's":"'
    assert matcher.accept_token(1)
    assert matcher.accept_token(2)
    assert allowed() == [0, 1, 3, 4, 5, 6, 7, 8]
    assert matcher.accept_token(3)
    assert allowed() == [0, 1, 3, 4, 5, 6, 7, 8]
    assert matcher.accept_token(4)
    assert allowed() == [9]

"""The bundled model, as one that chooses and one that corrects.

Both write under the grammar of the schema that is checked afterwards. The model is small (135
million parameters): it sees a few examples of requests and what they mean, and it is wrong often
enough to show what the rest is for.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from gramlock import Grammar
from gramlock.integrations.generation import Model, load_model
from gramlock.integrations.transformers import LogitsProcessor
from gramlock.tools import ModelFixer, ToolSet, Violation

from .agent import choice_schema

__all__ = ["Writer"]

_TOKENS = 120


def _propose(tool: str, **arguments: str) -> dict[str, Any]:
    return {"kind": "proposal", "call": {"name": tool, "arguments": arguments}}


_NO: dict[str, Any] = {"kind": "unknown", "reason": "That is not about tickets."}
_WHOM: dict[str, Any] = {"kind": "needs_input", "question": "To which user?"}

# The order matters to a model of this size: what stands last is what it likes best.
_EXAMPLES: list[tuple[str, dict[str, Any]]] = [
    ("tell me a joke", _NO),
    ("assign T-31", _WHOM),
    ("show T-8", _propose("get_ticket", ticket="T-8")),
    ("what is the time?", _NO),
    ("export P-6", _propose("export_project", project="P-6")),
    ("assign T-7", _WHOM),
    ("assign T-15 to U-4", _propose("assign_ticket", ticket="T-15", assignee="U-4")),
    ("how old are you?", _NO),
    ("assign T-60 to U-22", _propose("assign_ticket", ticket="T-60", assignee="U-22")),
    ("is it cold today?", _NO),
    ("assign T-12 to U-7", _propose("assign_ticket", ticket="T-12", assignee="U-7")),
]


class Writer:
    """The model with its two tasks. One thread at a time.

    Args:
        folder: The model's.
        tools: What it may propose.

    Raises:
        GramlockError: The model cannot be used.
    """

    def __init__(self, folder: Any, tools: ToolSet) -> None:
        self._loaded: Model = load_model(folder, threads=1)
        grammar = Grammar.from_json_schema(choice_schema(tools), whitespace="compact")
        self._processor = LogitsProcessor(
            grammar,
            self._loaded.tokenizer,
            generation_config=self._loaded.model.generation_config,
        )
        self.fixer = ModelFixer(self._loaded, tools, max_new_tokens=_TOKENS, prompt=_correction)

    def choose(self, request: str) -> str:
        """What the model makes of a request; cut off where it does not end."""
        told = "".join(
            f"Request: {words}\n{json.dumps(meaning, separators=(',', ':'))}\n\n"
            for words, meaning in _EXAMPLES
        )
        prompt = f"{told}Request: {request}\n"
        return _continued(self._loaded, self._processor, prompt)


def _continued(loaded: Model, processor: LogitsProcessor, prompt: str) -> str:
    """What follows a plain text: small models go on with a pattern better than they answer."""
    import torch

    inputs = loaded.tokenizer(prompt, return_tensors="pt")
    length = inputs["input_ids"].shape[1]
    processor.reset()
    with torch.inference_mode():
        output = loaded.model.generate(
            **inputs,
            do_sample=False,
            max_new_tokens=_TOKENS,
            logits_processor=[processor],
            eos_token_id=list(processor.vocabulary.end_ids),
            pad_token_id=processor.vocabulary.end_ids[0],
        )
    return str(loaded.tokenizer.decode(output[0, length:], skip_special_tokens=True))


def _correction(
    tools: ToolSet, errors: Sequence[Violation], call: Any, history: Sequence[Any] = ()
) -> str:
    """A shorter prompt than the usual one: the call, and what is wrong with it."""
    wrong = json.dumps({"name": call.name, "arguments": getattr(call, "arguments", {})})
    told = "\n".join(str(error) for error in errors[:5])
    return f"This JSON has mistakes:\n{wrong}\n\n{told}\n\nWrite it again without them."

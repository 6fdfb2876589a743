"""A local model writes one text: what ``gramlock generate`` and the demo share.

Loads a model folder, puts the prompt into the model's chat template if it has one, generates under
a processor, and says what came out and what it cost.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import GramlockError, MissingDependencyError
from .transformers import LogitsProcessor, ProcessorStats

__all__ = ["Generation", "Model", "generate", "load_model"]


@dataclass(frozen=True)
class Model:
    """A model and its tokenizer, both of transformers."""

    model: Any
    tokenizer: Any


@dataclass(frozen=True)
class Generation:
    """What a model wrote.

    Attributes:
        text: The text, without end ids.
        finished: Whether the model ended it; False where the limit of new tokens cut it off.
        tokens: Ids generated, an end id included.
        seconds: The whole of ``generate()``.
        stats: What the constraint cost.
    """

    text: str
    finished: bool
    tokens: int
    seconds: float
    stats: ProcessorStats

    @property
    def share(self) -> float:
        """The constraint's part of the time, from 0 to 1."""
        return self.stats.seconds / self.seconds if self.seconds else 0.0


def load_model(folder: str | Path, *, device: str = "cpu", threads: int | None = None) -> Model:
    """Load a model folder (configuration, safetensors, tokenizer).

    Args:
        folder: As ``save_pretrained`` writes it. Nothing is downloaded.
        device: Where the model runs, as torch names it.
        threads: How many CPU threads torch uses; None leaves that as it is.

    Raises:
        GramlockError: The folder or the device cannot be used.
        MissingDependencyError: torch or transformers is not installed.
    """
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingDependencyError(error.name or "transformers", "hf") from error
    if not Path(folder).is_dir():
        raise GramlockError(f"there is no model folder {folder}")
    if not (Path(folder) / "config.json").is_file():
        raise GramlockError(f"{folder} holds no model: there is no config.json")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    if threads is not None:
        torch.set_num_threads(threads)
    dtype = torch.float32 if device == "cpu" else "auto"
    named = "dtype" if int(transformers.__version__.split(".")[0]) >= 5 else "torch_dtype"
    options: dict[str, Any] = {"local_files_only": True}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **options)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, **options, **{named: dtype}
        ).to(device)
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise GramlockError(f"the model in {folder} cannot be used: {reason}") from error
    return Model(model.eval(), tokenizer)


def generate(
    loaded: Model,
    processor: LogitsProcessor,
    prompt: str,
    *,
    max_new_tokens: int = 512,
    temperature: float | None = None,
    seed: int | None = None,
    show: Callable[[str], None] | None = None,
) -> Generation:
    """Let the model answer a prompt under a processor.

    Args:
        loaded: From :func:`load_model`.
        processor: The constraint; its statistics are the run's if it is new.
        prompt: The user's words.
        max_new_tokens: Where an unfinished text is cut off.
        temperature: Sample at this temperature; None takes the likeliest token each time.
        seed: Of the sampling.
        show: Gets each piece of text as it is generated.
    """
    import torch

    model, tokenizer = loaded.model, loaded.tokenizer
    inputs = _inputs(tokenizer, prompt).to(model.device)
    length = inputs["input_ids"].shape[1]
    if seed is not None:
        torch.manual_seed(seed)
    options: dict[str, Any] = {"do_sample": temperature is not None}
    if temperature is not None:
        options.update(temperature=temperature, top_k=0, top_p=1.0)
    if show is not None:
        options["streamer"] = _Streamer(tokenizer, show)
    started = time.perf_counter()
    with torch.inference_mode():
        output = model.generate(
            **inputs,
            **options,
            max_new_tokens=max_new_tokens,
            logits_processor=[processor],
            eos_token_id=list(processor.vocabulary.end_ids),
            pad_token_id=processor.vocabulary.end_ids[0],
        )
    seconds = time.perf_counter() - started
    ids = output[0, length:].tolist()
    finished = bool(ids) and ids[-1] in processor.vocabulary.end_ids
    return Generation(_decode(tokenizer, ids), finished, len(ids), seconds, processor.stats)


def _inputs(tokenizer: Any, prompt: str) -> Any:
    if getattr(tokenizer, "chat_template", None):
        return tokenizer.apply_chat_template(
            [{"role": "user", "content": prompt}],
            add_generation_prompt=True,
            return_dict=True,
            return_tensors="pt",
        )
    return tokenizer(prompt, return_tensors="pt")


def _decode(tokenizer: Any, ids: list[int]) -> str:
    text: str = tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    return text


class _Streamer:
    """Shows what is generated, once it is whole characters."""

    def __init__(self, tokenizer: Any, show: Callable[[str], None]) -> None:
        self._tokenizer, self._show = tokenizer, show
        self._ids: list[int] | None = None
        self._shown = 0

    def put(self, ids: Any) -> None:
        """Called with the prompt, then with each new id."""
        if self._ids is None:
            self._ids = []
            return
        self._ids += ids.flatten().tolist()
        text = _decode(self._tokenizer, self._ids)
        if not text.endswith("\N{REPLACEMENT CHARACTER}"):
            self._show(text[self._shown :])
            self._shown = len(text)

    def end(self) -> None:
        """Called after the last id."""

"""What each token of a tokenizer adds to the text, as bytes.

Every reader is a pure function from somebody's tokenizer to a :class:`TokenTable`. A table says for
each id which bytes the token appends to the output, or that it appends none because it is a control
token or not a token at all. A tokenizer whose output is not the concatenation of such bytes is
refused with a :class:`~gramlock.errors.VocabularyError` that names the reason; nothing is guessed.

==================  ===========================================================================
``huggingface``     transformers and ``tokenizers`` objects, ``tokenizer.json``, model folders
``ranks``           tiktoken encodings, rank files and dictionaries, Mistral's ``tekken.json``
``sentencepiece``   SentencePiece ``.model`` files and processors
``decoders``        the decoder pipelines of ``tokenizer.json``
``byte_level``      GPT-2's printable stand-ins for the 256 bytes
``table``           the result
==================  ===========================================================================

No tokenizer package is imported here: objects are recognised by what they offer, and files are
read with the standard library.
"""

from __future__ import annotations

from .huggingface import from_huggingface
from .ranks import from_tiktoken
from .sentencepiece import from_sentencepiece
from .table import TokenTable

__all__ = ["TokenTable", "from_huggingface", "from_sentencepiece", "from_tiktoken"]

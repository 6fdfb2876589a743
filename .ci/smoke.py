"""A first use of the installed package with its base dependencies only."""

import numpy as np

import gramlock

schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
grammar = gramlock.Grammar.from_json_schema(schema)
assert grammar.accepts('{"ok": true}')
assert not grammar.accepts('{"ok": 1}')

tokens = [bytes([byte]) for byte in range(256)] + [b"", b'{"', b"true"]
vocabulary = gramlock.Vocabulary.from_tokens(tokens, end_ids=[256])
matcher = vocabulary.compile(grammar).matcher()
bitmask = gramlock.allocate_token_bitmask(1, vocabulary.size)
matcher.fill_next_token_bitmask(bitmask)
logits = np.zeros((1, vocabulary.size), np.float32)
gramlock.apply_token_bitmask_inplace(logits, bitmask)
assert np.isfinite(logits[0, 257])
assert np.isneginf(logits[0, 258])
print(f"gramlock {gramlock.__version__} from {gramlock.__file__} works")

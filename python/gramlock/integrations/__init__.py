"""Gramlock inside other people's generation loops.

=================  ==========================================================================
``transformers``   a logits processor for ``model.generate()``
``lineage``        which known row of ids each row of a batch goes on from
=================  ==========================================================================

Nothing here is imported by ``import gramlock``, and no optional package before it is needed.
"""

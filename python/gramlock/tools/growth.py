"""Whether a schema can make much work of a small value.

Parts of a schema are shared by references, so that few lines can stand for very many judgements::

    a: allOf [b, b]    b: allOf [c, c]    ...             doubles with each line
    a: allOf [{properties: {x: a}}, {properties: {x: a}}]  doubles with each level of the value

Schemas of the first kind have a large *expansion*: what is left when each reference is replaced by
what it means, but for those that lead back. Schemas of the second kind have a schema that, in
more than one part of itself, leads back into the value; branches of a union of which at most one
can hold count as one part.

The quick check (:mod:`gramlock.tools.quick`) counts no work, so it is not made for either kind;
the reporting validator has a budget.

Thread-safe. Cost: a visit of each schema and reference.

Tested by tests/test_tools_validate.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .schemas import IN_PLACE, Prepared, subschemas
from .unions import Union

__all__ = ["multiplies"]

_MOST = 20_000  # schemas that the expansion may have


def multiplies(prepared: Prepared) -> bool:
    """Whether the work for a value is more than a multiple of the value's size."""
    if not isinstance(prepared.root, dict):
        return False
    edges = {key: list(_edges(schema, prepared)) for key, schema in prepared.own.items()}
    order, returns = _order(edges, id(prepared.root))
    back = _leading_to(returns, edges)
    size: dict[int, int] = {}
    parts: dict[int, int] = {}
    for node in order:
        out = edges[node]
        size[node] = 1 + sum(size.get(target, 1) for target, _ in out)
        into_value = any(kind == "inside" and target in back for target, kind in out)
        together = sum(parts.get(target, 0) for target, kind in out if kind == "beside")
        one_of = [parts.get(target, 0) for target, kind in out if kind == "choice"]
        parts[node] = into_value + together + max(one_of, default=0)
        if parts[node] > 1 or size[node] > _MOST:
            return True
    return False


def _edges(schema: dict[str, Any], prepared: Prepared) -> Iterator[tuple[int, str]]:
    """The schemas that one leads to: "inside" the value, "beside" itself, or by "choice"."""
    target = prepared.targets.get((id(schema), "$ref"))
    if id(target) in prepared.own:
        yield id(target), "beside"
    for keyword, _, inner, holder, _ in subschemas(schema):
        if id(inner) in prepared.own:
            choice = isinstance(holder, Union) and holder.exclusive
            kind = "inside" if keyword not in IN_PLACE else "choice" if choice else "beside"
            yield id(inner), kind


def _order(edges: dict[int, list[tuple[int, str]]], root: int) -> tuple[list[int], set[int]]:
    """The schemas, each after what it leads to; and those that something leads back to."""
    order: list[int] = []
    returns: set[int] = set()
    open_nodes = {root}
    done: set[int] = set()
    stack = [(root, iter(edges[root]))]
    while stack:
        node, out = stack[-1]
        target = next(out, (None, ""))[0]
        if target is None:
            order.append(node)
            open_nodes.discard(node)
            done.add(node)
            stack.pop()
        elif target in open_nodes:
            returns.add(target)
        elif target not in done:
            open_nodes.add(target)
            stack.append((target, iter(edges[target])))
    return order, returns


def _leading_to(targets: set[int], edges: dict[int, list[tuple[int, str]]]) -> set[int]:
    holders: dict[int, list[int]] = {}
    for node, out in edges.items():
        for target, _ in out:
            holders.setdefault(target, []).append(node)
    found = set(targets)
    stack = list(targets)
    while stack:
        for holder in holders.get(stack.pop(), ()):
            if holder not in found:
                found.add(holder)
                stack.append(holder)
    return found

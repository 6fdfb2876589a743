"""Tool calls: read, validated, authorised, dispatched, repaired, reconciled.

A tool call is an untrusted message: generating it performs nothing. Application code executes it,
and only after everything that can be checked has been. "Valid JSON" and "right" are different
things, and so are "rejected", "failed", "accepted" and "unknown whether it happened".

Nothing here needs a grammar, a vocabulary or a model: it works on any model's output. Public names
are imported on use, so that the optional packages behind them are needed only by who uses them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# Public name -> module of this package that defines it. No name is also that of a module: whoever
# imported the module first would find it in place of what the name stands for.
_HOME: dict[str, str] = {
    "Accepted": "outcome",
    "Approval": "approvals",
    "ApprovalRequest": "approvals",
    "ApprovalStore": "approvals",
    "ArgumentReader": "stream",
    "Begun": "ledger",
    "BrokenCall": "call",
    "Changes": "changes",
    "ChatFixer": "fixers",
    "Completion": "completion",
    "CompletionReader": "turns",
    "Context": "context",
    "Difference": "changes",
    "Dispatcher": "dispatch",
    "Entry": "ledger",
    "Evidence": "ledger",
    "Ledger": "ledger",
    "LookUp": "ledger",
    "McpClient": "mcp_client",
    "McpDefinition": "mcp_answers",
    "ModelFixer": "fixers",
    "OperationKey": "ledger",
    "Outcome": "outcome",
    "Preview": "stream",
    "Reconciliation": "reconciliation",
    "RecordReader": "stream",
    "Reference": "references",
    "RepairAttempt": "repair",
    "RepairOutcome": "repair",
    "ResultStore": "results",
    "RunSummary": "summary",
    "StatusReport": "tool",
    "StoredResult": "results",
    "Tool": "tool",
    "ToolCall": "call",
    "ToolError": "outcome",
    "ToolLimits": "tool",
    "ToolReport": "toolset",
    "ToolResult": "outcome",
    "ToolSet": "toolset",
    "Validator": "validator",
    "Violation": "violation",
    "approve": "approvals",
    "differences": "changes",
    "digest": "canonical",
    "dispatch_all": "schedule",
    "dispatch_all_async": "schedule",
    "examine": "semantics",
    "first_of": "fixers",
    "invariant": "semantics",
    "parse_tool_call": "call",
    "read_completion": "completion",
    "reconcile": "reconciliation",
    "reconcile_async": "reconciliation",
    "redact": "redaction",
    "reference": "semantics",
    "request_approval": "approvals",
    "respell": "fixers",
    "result_tool": "retrieval",
    "run_with_repair": "repair",
    "run_with_repair_async": "repair",
    "summarize": "summary",
    "validate": "validator",
    "with_references": "references",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})

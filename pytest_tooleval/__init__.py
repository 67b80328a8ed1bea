"""pytest-tooleval: does a model call the right tool with the right arguments?

Importing this package loads nothing heavy; the names below are loaded on first use. Everything that is
not in `__all__` is private.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import AgentGaveUp as AgentGaveUp
    from .errors import ConfigError as ConfigError
    from .errors import ModelError as ModelError
    from .errors import Problem as Problem
    from .errors import ScoringError as ScoringError
    from .errors import SuiteError as SuiteError
    from .errors import ToolevalError as ToolevalError
    from .python.calls import call as call
    from .python.like import like as like
    from .record.calls import ToolCall as ToolCall
    from .record.results import CaseResult as CaseResult
    from .record.results import Score as Score
    from .record.results import TrialResult as TrialResult
    from .record.transcript import Transcript as Transcript
    from .record.transcript import text_of as text_of
    from .scoring.registry import Scorer as Scorer
    from .scoring.trial import score_calls as score_calls
    from .scoring.trial import score_messages as score_messages
    from .suite.case import ResolvedCase as ResolvedCase
    from .suite.case import TestCase as TestCase
    from .suite.expectations import ExpectedCall as ExpectedCall
    from .suite.load import load_suite as load_suite
    from .suite.load import parse_suite as parse_suite
    from .suite.model import Suite as Suite
    from .variants.variant import VariantContext as VariantContext

__version__ = "0.1.0"

_HOMES = {
    "AgentGaveUp": "errors",
    "CaseResult": "record.results",
    "ConfigError": "errors",
    "ExpectedCall": "suite.expectations",
    "ModelError": "errors",
    "Problem": "errors",
    "ResolvedCase": "suite.case",
    "Score": "record.results",
    "Scorer": "scoring.registry",
    "ScoringError": "errors",
    "Suite": "suite.model",
    "SuiteError": "errors",
    "TestCase": "suite.case",
    "ToolCall": "record.calls",
    "ToolevalError": "errors",
    "Transcript": "record.transcript",
    "TrialResult": "record.results",
    "VariantContext": "variants.variant",
    "call": "python.calls",
    "like": "python.like",
    "load_suite": "suite.load",
    "parse_suite": "suite.load",
    "score_calls": "scoring.trial",
    "score_messages": "scoring.trial",
    "text_of": "record.transcript",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

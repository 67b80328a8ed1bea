"""Verdicts on tau2's tasks against tau2's own evaluator, and its result files.

The evaluator loads a database for each verdict, so only a sample of the conversations is judged.
"""

from __future__ import annotations

import gc
import json
import os
import pickle
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from nightly import ALL, at_night

from pytest_tooleval.errors import ConfigError
from pytest_tooleval.imports import tau2_worlds as worlds
from pytest_tooleval.imports.commands.tau2 import tau2_suite
from pytest_tooleval.scoring.trial import score_messages
from pytest_tooleval.suite.load import parse_suite
from pytest_tooleval.suite.model import Suite

pytest.importorskip("tau2")
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # or it is fetched when the evaluator is imported

SAMPLE = 60 if ALL else 6


class Step(NamedTuple):
    """A call of the agent, or what somebody says."""

    who: str
    text: str = ""
    tool: str = ""
    arguments: Any = None


Steps = list[Step]


class Domain:
    """A domain of the benchmark, and the suite that was made of it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.module = worlds.domain_module(name)
        self.tasks = self.module.get_tasks()
        start = self.module.get_environment().tools.db
        self.start = pickle.dumps(start)
        self.suite: Suite = parse_suite(json.dumps(tau2_suite(name)))
        toolkit = self.module.get_environment(start).tools
        self.writes = [
            each
            for task in self.tasks
            for each in task.evaluation_criteria.actions
            if toolkit.tool_type(each.name) == "write"
        ]

    def environment(self, solo_mode: bool = False) -> Any:
        return self.module.get_environment(pickle.loads(self.start))

    def world(self) -> Any:
        return worlds.Airline() if self.name == "airline" else worlds.Retail()

    def messages(self, steps: Steps) -> list[dict[str, Any]]:
        """The conversation as tau2 records it."""
        world = self.world()
        messages: list[dict[str, Any]] = []
        for number, step in enumerate(steps):
            if not step.tool:
                messages.append({"role": step.who, "content": step.text})
                continue
            call = {"id": f"call_{number}", "name": step.tool, "arguments": step.arguments}
            answer = world(step.tool, json.loads(json.dumps(step.arguments)))
            messages += [
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "id": call["id"], "content": answer},
            ]
        return messages

    def simulation(self, task: Any, steps: Steps, reason: str = "user_stop") -> Any:
        """A run as tau2 records it."""
        from tau2.data_model.simulation import SimulationRun

        return SimulationRun(
            id=f"run of {task.id}",
            task_id=task.id,
            start_time="",
            end_time="",
            duration=1.0,
            termination_reason=reason,
            messages=self.messages(steps),
        )

    def rewarded(self, task: Any, steps: Steps, reason: str = "user_stop") -> bool:
        """What tau2 says. It replays the calls, and would raise if an answer were another one."""
        from tau2.evaluator.evaluator import EvaluationType, evaluate_simulation
        from tau2.registry import registry

        run = self.simulation(task, steps, reason)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(registry, "get_env_constructor", lambda name: self.environment)
            kind = EvaluationType.ALL
            return bool(evaluate_simulation(run, task, kind, False, self.name).reward == 1.0)

    def passed(self, task: Any, steps: Steps) -> bool:
        """What the suite says."""
        messages = []
        for step, after in zip(steps, [*steps[1:], None], strict=True):
            function = {"name": step.tool, "arguments": json.dumps(step.arguments)}
            message: dict[str, Any] = {"role": step.who, "content": step.text}
            if step.tool:
                message["tool_calls"] = [{"id": "call", "type": "function", "function": function}]
            messages.append(message)
            if step.tool and (after is None or after.who == "user"):  # whom it never asks after a call
                messages.append({"role": "assistant", "content": "Done."})
        return score_messages(self.suite, self.suite.case(task.id), messages).passed

    def right(self, task: Any) -> Steps:
        """The conversation in which the agent does and says what the task asks for."""
        criteria = task.evaluation_criteria
        calls = [Step("assistant", "", each.name, each.arguments) for each in criteria.actions]
        said = [Step("assistant", f"It is {each}.") for each in criteria.communicate_info]
        done = [Step("assistant", "Is there anything else?"), Step("user", "###STOP###")]
        return [Step("user", "Hello."), *calls, *said, *done]


def changed_value(value: Any, random: random.Random) -> Any:
    """Another value, of the same kind as a rule."""
    if isinstance(value, dict) and value:
        key = random.choice(sorted(value))
        return {**value, key: changed_value(value[key], random)}
    if isinstance(value, list) and value:
        index = random.randrange(len(value))
        changed = changed_value(value[index], random)
        return random.choice(
            [value[:index] + value[index + 1 :], [*value, value[index]], value[::-1]]
            + [[*value[:index], changed, *value[index + 1 :]]] * 2
        )
    if isinstance(value, int):
        return random.choice([value + 1, value - 1, float(value), str(value), None])
    text = str(value)
    return random.choice([text.upper(), text + " ", text[:-1], "", "economy", "no", None, 7, [text]])


def mutants(domain: Domain, task: Any, random: random.Random) -> Iterator[Steps]:
    """The right conversation with one thing changed, or two."""
    right = domain.right(task)
    calls = [number for number, step in enumerate(right) if step.tool]
    said = [number for number, step in enumerate(right) if step.text.startswith("It is")]
    for number in [*calls, *said]:
        yield right[:number] + right[number + 1 :]
    for number in calls:
        step = right[number]
        yield [*right[:number], step, *right[number:]]
        yield right[:number] + right[number + 1 :] + [step]
        for _ in range(3):
            name = random.choice([*step.arguments, "note"])
            other = {**step.arguments, name: changed_value(step.arguments.get(name, "?"), random)}
            yield [*right[:number], step._replace(arguments=other), *right[number + 1 :]]
        without = dict(step.arguments)
        without.pop(random.choice([*step.arguments, ""]), None)
        yield [*right[:number], step._replace(arguments=without), *right[number + 1 :]]
        yield [*right[:number], step._replace(tool=f"{step.tool}s"), *right[number + 1 :]]
    for number in said:
        step = right[number]
        for change in TEXTS:
            text = change(step.text, random)
            yield [*right[:number], step._replace(text=text), *right[number + 1 :]]
        yield [*right[:number], step._replace(who="user"), *right[number + 1 :]]
        yield [*right[:number], Step("assistant", step.text[:8]), Step("assistant", step.text[8:])]
    for _ in range(3):
        more = random.choice(domain.writes)
        at = random.randrange(1, len(right))
        yield [*right[:at], Step("assistant", "", more.name, more.arguments), *right[at:]]
    yield random.sample(right, len(right))
    yield [Step("user", "Hello."), Step("assistant", "No."), Step("user", "###STOP###")]


def _commas(text: str, random: random.Random) -> str:
    return "".join(each + "," * (random.random() < 0.3) for each in text)


TEXTS: list[Callable[[str, random.Random], str]] = [
    _commas,
    lambda text, _: text.upper(),
    lambda text, _: text.replace(" ", "\u00a0"),
    lambda text, _: text.replace(" ", "\n"),
    lambda text, _: text.replace(".", ","),
    lambda text, _: text.replace("0", ""),
    lambda text, _: f"**{text}**",
    lambda text, random: text.replace(random.choice(text), ""),
]


@pytest.fixture(scope="module", params=[at_night("airline"), "retail"])
def domain(request: pytest.FixtureRequest) -> Iterator[Domain]:
    gc.disable()  # it takes four fifths of the time to load a database
    yield Domain(request.param)
    gc.enable()


def test_every_right_conversation_passes_and_doing_nothing_fails(domain: Domain) -> None:
    for task in domain.tasks:
        criteria = task.evaluation_criteria
        assert domain.passed(task, domain.right(task)), task.id
        nothing = [Step("user", "Hello."), Step("assistant", "No."), Step("user", "###STOP###")]
        world = domain.world()
        for action in criteria.actions:
            world(action.name, action.arguments)
        expects = criteria.communicate_info or any(world.changed.values())
        assert domain.passed(task, nothing) is not bool(expects), task.id


def test_verdicts_are_those_of_the_benchmark(domain: Domain) -> None:
    chance = random.Random(16)
    made = [
        (task, steps)
        for task in domain.tasks
        for steps in (domain.right(task), *mutants(domain, task, chance))
    ]
    verdicts = {True: 0, False: 0}
    for task, steps in chance.sample(made, min(SAMPLE, len(made))):
        wanted = domain.rewarded(task, steps)
        assert domain.passed(task, steps) is wanted, (task.id, steps)
        verdicts[wanted] += 1
    print(f"{domain.name}: {verdicts[True]} right and {verdicts[False]} wrong of {len(made)}")
    assert min(verdicts.values()) > SAMPLE / 10


def test_a_trial_leaves_the_database_as_it_was(domain: Domain) -> None:
    before = domain.module.get_environment().get_db_hash()
    for task in domain.tasks:
        domain.messages(domain.right(task))
    assert worlds._loaded(domain.name)[1].get_hash() == before


def test_rewards_that_look_elsewhere(domain: Domain, monkeypatch: pytest.MonkeyPatch) -> None:
    from tau2.data_model.tasks import InitialState, RewardType

    def made(**criteria: Any) -> dict[str, Any]:
        task = domain.tasks[0].model_copy(deep=True)
        task.initial_state = criteria.pop("initial_state", None)
        task.evaluation_criteria = task.evaluation_criteria.model_copy(update=criteria)
        monkeypatch.setattr(domain.module, "get_tasks", lambda: [task])
        case: dict[str, Any] = tau2_suite(domain.name)["test_cases"][0]
        return case

    words = {"nl_assertions": ["Is polite."], "communicate_info": ["20 hours", "7"]}
    case = made(reward_basis=[RewardType.NL_ASSERTION], **words)
    assert "expected_calls" not in case
    assert case["expected_text"] == [{"$judge": "Is polite."}]
    case = made(reward_basis=[RewardType.DB, RewardType.COMMUNICATE], **words)
    assert case["match"] == "state"
    assert case["expected_text"] == [{"$regex": r"(?i)2,*0,*\ ,*h,*o,*u,*r,*s"}, "7"]
    for criteria, why in (
        ({"reward_basis": [RewardType.ACTION, RewardType.DB]}, "it is judged by ACTION"),
        ({"initial_state": InitialState()}, "it begins in its own state"),
    ):
        with pytest.raises(ConfigError, match=f"^the task '0' cannot be converted: {why}$"):
            made(**criteria)

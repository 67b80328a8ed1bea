"""The transcripts of `--tooleval-transcripts`: of which case each one is, and its answers to score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec import structs

from ..errors import CannotCompare, ModelError
from ..record.thresholds import needed_of
from ..record.transcript import SYSTEM_ROLES, Message, Transcript, text_of
from ..replies.messages import gist_of
from ..replies.outside_transcript import OutsideTranscript, as_words, unread_text
from ..scoring.trial import conversation_of
from ..scoring.turns import forbidden_in
from ..secrets import redact
from ..suite.case import ResolvedCase, TestCase
from ..suite.model import Suite
from ..suite.resolved import prompt_messages
from ..text import plural, printable, shown

_SHOWN = 20


class _Claim(NamedTuple):
    """A suite that has the case which a transcript names. `fits`: how much of what the user says."""

    file: str
    name: str
    fits: int


class TranscriptPool:
    """The given transcripts, and which of them match no case so far."""

    def __init__(self, transcripts: Sequence[OutsideTranscript]) -> None:
        self._given = transcripts
        self._used: set[int] = set()
        # Why it is unclear which case is meant.
        self._unclear: dict[int, str] = {}
        self._claims: dict[int, list[_Claim]] = {}

    def of_suite(self, suite: Suite, file: str) -> dict[str, list[OutsideTranscript]]:
        """The transcripts of a suite's cases, by case id; cases with none are left out."""
        matches = find_transcripts(suite, self._given)
        self._used |= matches.used
        self._unclear |= {id(each): why for each, why in matches.unclear}
        texts = {case.id: _said_in_case(case) for case in suite.test_cases}
        for case, mine in matches.of_case.items():
            for transcript in (each for each in mine if each.case or each.id == case):
                said = _said(transcript.messages)
                fits = 2 if said == texts[case] else int(said[:1] == texts[case][:1])
                self._claims.setdefault(id(transcript), []).append(_Claim(file, suite.name, fits))
        return matches.of_case

    def of_file(self, file: str, transcripts: Iterable[OutsideTranscript]) -> list[OutsideTranscript]:
        """The transcripts of a case that belong to no other file's case.

        Called once all suites are known. Where that is unclear, the transcript is an error.
        """
        return [decided for each in transcripts if (decided := self._decided(file, each)) is not None]

    def _decided(self, file: str, transcript: OutsideTranscript) -> OutsideTranscript | None:
        claims = self._claims.get(id(transcript), [])
        most = max((each.fits for each in claims), default=0)
        best = [each for each in claims if each.fits == most]
        if len(claims) < 2 or (most and len(best) == 1):
            return transcript if not claims or best[0].file == file else None
        names = " and ".join(each.file for each in claims)
        case = transcript.case or transcript.id
        written = " or ".join(dict.fromkeys(f'"{each.name}::{case}"' for each in claims))
        why = f"names the case {case}, which {names} have; name it {written}"
        return transcript._replace(error=why, messages=())

    def without_known_case(self) -> tuple[str, ...]:
        """A line for each transcript that names an unknown case: a gate may lack its result."""
        with_known_case = self._used | self._unclear.keys()
        left = (each for each in self._given if each.case and id(each) not in with_known_case)
        return tuple(printable(f"{each.place}: {_named(each)}") for each in left)

    def unread(self) -> list[str]:
        """A line for each file with items of unknown types, which were kept but not scored."""
        of_file: dict[str, list[str]] = {}
        for each in self._given:
            of_file.setdefault(each.at.path, []).extend(each.unread)
        texts = {path: unread_text(kinds) for path, kinds in of_file.items()}
        return [f"{printable(path)}: {text}; kept, not scored" for path, text in texts.items() if text]

    def left_lines(self) -> list[str]:
        """Lines about transcripts without a matching case; empty if there are none."""
        lines = [
            f"no case: {printable(f'{each.place}: {self._unclear.get(id(each)) or _named(each)}')}"
            for each in self._given
            if id(each) not in self._used
        ]
        if not lines:
            return []
        more = [f"no case: {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
        total = f"{len(lines)} of {plural(len(self._given), 'transcript')} NOT JUDGED: no case matches"
        return [total, *lines[:_SHOWN], *more]


def _named(transcript: OutsideTranscript) -> str:
    if transcript.case:
        return f"these suites have no case {shown(transcript.case)}"
    prompt = next((text_of(each) for each in transcript.messages if each.get("role") == "user"), "")
    return f'no case has its id or begins with "{shown(redact(prompt))}"'


class SuiteTranscripts(NamedTuple):
    """The transcripts of a suite's cases by id, and those without a clear case, with the reason.

    `used` has the `id()` of each transcript with a case, of which a case may have only a part.
    """

    of_case: dict[str, list[OutsideTranscript]]
    unclear: list[tuple[OutsideTranscript, str]]
    used: set[int]


def find_transcripts(suite: Suite, transcripts: Iterable[OutsideTranscript]) -> SuiteTranscripts:
    """Find the transcripts of each case: by the case that they name, by id, or by the user's messages.

    Among cases with the same first message, the one with the same messages to the end has it. If
    the transcript begins with the whole prompts of several, as one of an agent's loop does, each has it
    up to where the next one's begins. A recorded request belongs to the case whose prompt it is.
    """
    matches = SuiteTranscripts({}, [], set())
    cases = {str(case.id): case for case in suite.test_cases}
    texts_of = {name: _said_in_case(case) for name, case in cases.items()}
    first: dict[str, list[str]] = {}
    for name, texts in texts_of.items():
        first.setdefault(texts[0], []).append(name)

    def add(name: str, transcript: OutsideTranscript, excerpt: OutsideTranscript) -> None:
        matches.of_case.setdefault(name, []).append(excerpt)
        matches.used.add(id(transcript))

    for transcript in transcripts:
        named = transcript.case.removeprefix(f"{suite.name}::") or transcript.id
        names = [named] if named in texts_of else []
        if not names and not transcript.case:
            texts = _said(transcript.messages)
            names = first.get(texts[0], []) if texts and texts[0] else []
            if len(names) > 1:
                same_messages = [name for name in names if texts_of[name] == texts]
                has_turns = any(cases[name].turns for name in same_messages)
                parts = {} if has_turns else _parts(transcript, cases, names)
                for name, part in parts.items():
                    add(name, transcript, part)
                if parts:
                    continue
                names = same_messages or names
        if len(names) > 1:
            why = f"begins like the cases {', '.join(names[:3])}; add the case to the transcript"
            matches.unclear.append((transcript, why))
        elif names:
            add(names[0], transcript, transcript)
    for name, of_case in matches.of_case.items():
        groups = Counter(each.group for each in of_case if each.group)
        for each in [each for each in of_case if groups[each.group] > 1]:
            if _said(each.messages)[:1] != texts_of[name][:1]:
                of_case.remove(each)
                matches.used.discard(id(each))
                matches.unclear.append((each, f"another conversation in the transcript of case {name}"))
    return matches


def _parts(
    transcript: OutsideTranscript, cases: Mapping[str, TestCase], names: Iterable[str]
) -> dict[str, OutsideTranscript]:
    """The cases whose whole prompts a transcript begins with, each with its part of it."""
    messages, answers_from = transcript.messages, transcript.answers_from
    spoken = [index for index, each in enumerate(messages) if each.get("role") not in SYSTEM_ROLES]
    gists = [gist_of(messages[index]) for index in spoken]
    lengths: dict[str, int] = {}
    for name in names:
        prompt = [gist_of(as_words(each)) for each in prompt_messages(cases[name].prompt)]
        prompt = [each for each in prompt if each[0] not in SYSTEM_ROLES]
        if cases[name].leader is None and prompt == gists[: len(prompt)]:
            lengths[name] = len(prompt)
    prompts = sum(index < answers_from for index in spoken)
    exact = {name: length for name, length in lengths.items() if answers_from and length == prompts}
    lengths = exact or lengths
    if len({*lengths.values()}) < len(lengths):
        return {}  # several have the same prompt
    ends = dict(pairwise(sorted({*lengths.values()})))
    parts = dict.fromkeys(lengths, transcript)
    for name in [name for name, length in lengths.items() if length in ends]:
        end = spoken[ends[lengths[name]]]
        while messages[end - 1].get("role") == "user":
            end -= 1  # of the next one's prompt
        parts[name] = transcript._replace(messages=messages[:end])
    return parts


def _said_in_case(case: TestCase) -> list[str]:
    prompts = [case.prompt] if case.turns is None else [turn.prompt for turn in case.turns]
    return _said([message for prompt in prompts for message in prompt_messages(prompt)]) or [""]


def _said(messages: Iterable[Message]) -> list[str]:
    """The user's messages, with normalised white space."""
    return [" ".join(text_of(as_words(each)).split()) for each in messages if each.get("role") == "user"]


def answers_of(case: ResolvedCase, given: Sequence[OutsideTranscript]) -> list[Transcript | ModelError]:
    """A case's transcripts as its trials. Missing ones are errors."""
    needed = needed_of(case.pass_rule)
    if needed is not None and len(given) > needed[1]:
        message = f"{len(given)} transcripts, but the rule {case.pass_rule} needs {needed[1]}"
        return [ModelError(f"{message}; change it with --tooleval-pass", kind="replay")]
    missing = "no transcript of this case"
    if given:
        trials = plural(case.trials, "trial")
        missing = f"transcripts of {len(given)} of {trials}; see --tooleval-trials"
    absent = [ModelError(missing, kind="replay")] * (case.trials - len(given))
    return [*(_answer(case, each) for each in given), *absent]


def _answer(case: ResolvedCase, given: OutsideTranscript) -> Transcript | ModelError:
    try:
        transcript = conversation_of(case, _with_pictures(case, given.messages))
    except ModelError as error:
        return ModelError(f"{given.place}: {error}", kind=error.kind)
    transcript = _placed(transcript, given.place)
    # A forbidden call remains one, even if its tool raised and ended the run.
    if given.error and not (transcript.replies and _has_forbidden_call(case, transcript)):
        return ModelError(f"{given.place}: {given.error}", kind="bad_response")
    if not transcript.replies:
        return ModelError(f"{given.place}: the transcript ends without a reply", kind="bad_response")
    if transcript.no_answer is None:
        why = "" if transcript.unread else _broke_off(case, transcript)
        if why and not _has_forbidden_call(case, transcript):
            return ModelError(f"{given.place}: the transcript ends {why}", kind="bad_response")
    # Put the figures of the whole transcript into the last reply; only sums count.
    usage = {name: value for name, value in structs.asdict(given.usage).items() if value}
    none = {name: 0 if isinstance(value, (int, float)) else value for name, value in usage.items()}
    *before, last = transcript.replies
    earlier = (structs.replace(each, **none) for each in before)
    return Transcript(transcript.prompt, (*earlier, structs.replace(last, **usage)))


def _with_pictures(case: ResolvedCase, messages: Sequence[Message]) -> Sequence[Message]:
    """The messages, with the case's own prompt where they have words in place of its pictures."""
    spoken = [index for index, each in enumerate(messages) if each.get("role") not in SYSTEM_ROLES]
    prompt = [each for each in case.messages if each.get("role") not in SYSTEM_ROLES]
    by_index = dict(zip(spoken, prompt, strict=False))
    if not any(isinstance(each.get("content"), list) for each in prompt) or any(
        gist_of(messages[index]) != gist_of(as_words(each)) for index, each in by_index.items()
    ):
        return messages
    return [by_index.get(index, each) for index, each in enumerate(messages)]


def _placed(transcript: Transcript, place: str) -> Transcript:
    """The transcript, whose unread parts also name the place of the recording."""
    replies = []
    for reply in transcript.replies:
        unread = (
            structs.replace(each, where=f"{place}: {each.where}") if each.owner == "other" else each
            for each in reply.unread
        )
        replies.append(structs.replace(reply, unread=tuple(unread)) if reply.unread else reply)
    return structs.replace(transcript, replies=tuple(replies))


def _broke_off(case: ResolvedCase, transcript: Transcript) -> str:
    """Where a transcript ends too early, or empty. A model that reached max_rounds has failed."""
    turns, expected = transcript.turns, len(case.turns)
    if expected and turns[-1][-1].calls:
        return "with calls that no reply follows" if len(turns[-1]) < case.round_limit else ""
    return f"after {len(turns)} of {plural(expected, 'turn')}" if len(turns) < expected else ""


def _has_forbidden_call(case: ResolvedCase, transcript: Transcript) -> bool:
    try:
        return forbidden_in(case, transcript) is not None
    except CannotCompare:
        return True  # reported when the answer is scored

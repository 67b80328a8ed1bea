"""Keep keys out of every text that is scored, sent, stored or shown.

All outside data goes through `redact` before anything else sees it, so that it is scored as it is
stored. Logs and errors, which are never compared, go through `scrub`, which hides more.
"""

from __future__ import annotations

import base64
import functools
import logging
import os
import re
import threading
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

from .keys import PublicTexts, stand_in, without_keys
from .text import printable, shorten

_LONGEST_REASON = 300
_T = TypeVar("_T")

_API_KEY_NAME = re.compile(r"API_?KEY\d*$", re.IGNORECASE)
_KEY_NAME = re.compile(
    r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL)S?_?\d*$|BEARER_TOKEN_", re.IGNORECASE
)
# Texts that are only shown are also cleared of values that may be secrets.
_SECRET_NAME = re.compile(r"(API_?KEY|_KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$", re.IGNORECASE)
_MAYBE_SECRET_NAME = re.compile(
    r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTH)S?\d*(_|$)", re.IGNORECASE
)
_WORD = "(?:[A-Z]?[a-z]+|[A-Z]+)"
_WORD_OR_NUMBER = re.compile(rf"{_WORD}|\d+")
_WORDS_OR_NUMBER = re.compile(rf"{_WORD}(?:[-_]{_WORD})*|\d+")
# `https://...`, `~/key.json`, `/home/me/key.json`, `C:\key.json`
_PLACE = re.compile(r"\w+://|~[/\\]|(?:\.{0,2}|[A-Za-z]:)[/\\][A-Za-z._-]{1,12}(?:[/\\]|$)")
_PASSWORD = re.compile(r"\w+://[^\s/@:]*:([^\s/@]+)@")
_SCHEME = re.compile(r"(Bearer|Basic|Token)\s+", re.IGNORECASE)
_BEARER = re.compile(r"\b(Bearer|Basic)\s+[^\s'\",;]+", re.IGNORECASE)
_USERINFO = re.compile(r"(?<=://)[^\s/@'\"]{1,500}@")
_FIELD_NAME = re.compile(r"[a-z_]+")
_SHORTEST = 6  # shorter values ("x", "none", "1234") occur in ordinary text
_SHORTEST_MAYBE = 8
# By chance, the Base64 of a large image contains short values.
_IMAGE = re.compile("data:image/[a-z]+;base64,[A-Za-z0-9+/]+=*")
_LARGE, _SHORTEST_IN_IMAGE = 5000, 16
# The minimum length of a key variable's value, and the maximum length of plain words that are not taken
# for a key, such as `ollama` and `not-needed` as an API key, or `created_at` as SORT_KEY.
_NAMED = (_SHORTEST, 10)
_MAYBE_KEY = (_SHORTEST_MAYBE, 16)
_NO_KEY = (0, 0)
PLACEHOLDER = "[secret]"

# Headers whose values are no secrets; providers quote them in errors.
_PUBLIC_HEADERS = frozenset(
    "accept content-type user-agent anthropic-beta anthropic-version openai-beta".split()
)

# The variables named by models' tables or suites, and the values of headers in these tables.
_named: set[str] = set()
_in_headers: set[str] = set()


def keep_secret(variable: str | None) -> None:
    """Treat the value of this variable as a key, whatever its name."""
    if variable:
        _named.add(variable)


def keep_header_secret(name: str, value: str) -> None:
    """Show the value of this header nowhere, unless it is plain or the header's name is that of none."""
    shortest, longest_words = _NAMED if _means_secret(name.replace("-", "_")) else _MAYBE_KEY
    for each in {value, _bare(value)} if name.lower() not in _PUBLIC_HEADERS else ():
        if len(each) >= shortest and not _is_plain(each, longest_words):
            _in_headers.add(each)


def key_variables() -> dict[str, str]:
    """Return the values of the key variables, each with the name of its variable.

    These are fewer than `secret_values`: requests and answers must not change because some variable on
    this machine is set to an ordinary word, a number or a path.
    """
    by_value = {}
    # Not `items()`: pytest keeps changing PYTEST_CURRENT_TEST in another thread.
    for name in list(os.environ):
        shortest, longest_words = _NAMED if name in _named else _limits_of_key(name)
        if shortest:
            value = _bare(_value(name))
            if len(value) >= shortest and not _is_plain(value, longest_words):
                by_value[value] = name
    return by_value


def key_values() -> tuple[str, ...]:
    """Return the values of the key variables, longest first."""
    return longest_first(key_variables())


def secret_values() -> tuple[str, ...]:
    """Return the values in the environment and the tables that must not be shown, longest first.

    These are the values of key variables, of those that a model's table or a suite names, of all
    variables whose name suggests a secret, and of headers in the tables.
    """
    values = {*key_variables(), *_in_headers}
    for name in list(os.environ):
        meant = name in _named or _means_secret(name)
        if meant or _may_mean_secret(name):
            value = _value(name)
            if len(value) >= _SHORTEST if meant else _may_be_secret(value):
                values.add(value)
    return longest_first(values)


# Cached, as the whole environment is searched for every answer.
@functools.lru_cache(maxsize=4096)
def _limits_of_key(name: str) -> tuple[int, int]:
    if _API_KEY_NAME.search(name):
        return _NAMED
    return _MAYBE_KEY if _KEY_NAME.search(name) else _NO_KEY


@functools.lru_cache(maxsize=4096)
def _means_secret(name: str) -> bool:
    return bool(_SECRET_NAME.search(name))


@functools.lru_cache(maxsize=4096)
def _may_mean_secret(name: str) -> bool:
    return bool(_MAYBE_SECRET_NAME.search(name))


def _may_be_secret(value: str) -> bool:
    return len(value) >= _SHORTEST_MAYBE and not _WORD_OR_NUMBER.fullmatch(value)


def _value(name: str) -> str:
    return os.environ.get(name, "").strip()


def _bare(value: str) -> str:
    """Return the secret in a header's value or in a URL with a password."""
    match = _PASSWORD.match(value)
    return match[1] if match else _SCHEME.sub("", value, count=1)


def longest_first(values: Iterable[str]) -> tuple[str, ...]:
    """Sort values by length, because a short value may be part of a longer one."""
    return tuple(sorted(values, key=len, reverse=True))


def _is_plain(value: str, longest: int) -> bool:
    """True if it is a path or URL, or words or a number of at most this length."""
    if len(value) <= longest and _WORDS_OR_NUMBER.fullmatch(value):
        return True
    return bool(_PLACE.match(value))


def redact(value: _T, public: PublicTexts | None = None) -> _T:
    """Replace keys in outside JSON, in its texts and in the keys of its objects.

    Texts that look like keys stay if they are public; the values of key variables never stay.
    """
    values = key_values()
    return _mapped(value, lambda text: without_keys(_without(text, values), public))  # type: ignore[no-any-return]


def without_key_values(value: _T) -> _T:
    """Replace only the values of key variables, in the user's own JSON."""
    values = key_values()
    return scrub_json(value, values, all_names=True) if values else value


def scrub(text: str, values: Iterable[str]) -> str:
    """Remove these values, everything that looks like a key, and credentials in headers and URLs."""
    text = without_keys(_without(text, values, PLACEHOLDER))
    text = _BEARER.sub(rf"\1 {PLACEHOLDER}", text)
    return _USERINFO.sub(f"{PLACEHOLDER}@", text)


def scrub_json(value: Any, values: tuple[str, ...], *, all_names: bool = False) -> Any:
    """Copy a JSON value without these values in its texts and in the keys of its objects.

    Unless `all_names`, lower-case keys stay, so that a value that is an ordinary word does not break the
    structure.
    """
    return _mapped(value, lambda text: _without(text, values), all_names=all_names)


def _mapped(value: Any, clean: Callable[[str], str], *, all_names: bool = True) -> Any:
    def name_of(member: Any) -> Any:
        stays = not isinstance(member, str) or (not all_names and _FIELD_NAME.fullmatch(member))
        return member if stays else clean(member)

    if isinstance(value, str):
        return clean(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_mapped(member, clean, all_names=all_names) for member in value)
    if isinstance(value, dict):
        return {
            name_of(name): _mapped(member, clean, all_names=all_names) for name, member in value.items()
        }
    return value


def shown_address(url: str) -> str:
    """Return a URL, even a malformed one, without user, password, query and fragment."""
    address, rest = re.split("[?#]", url + "?", maxsplit=1)
    before, at, host = address.rpartition("@")
    scheme = f"{url.partition('://')[0]}://" if "://" in url else ""
    if "@" in rest:
        # Either the password contains the `?`, or the query an `@`.
        return f"{scheme}{PLACEHOLDER}"
    return f"{scheme if '://' in before else ''}{PLACEHOLDER}@{host}" if at else address


def _without(text: str, values: Iterable[str], instead: str | None = None) -> str:
    """Replace these values in a text, in upper or lower case, encoded or escaped."""
    if len(text) < _SHORTEST:
        return text
    if len(text) > _LARGE and _IMAGE.fullmatch(text):
        values = [value for value in values if len(value) >= _SHORTEST_IN_IMAGE]
    folded = text.casefold()
    for value in values:
        forms = _Forms.of(value)
        if any(form in folded for form in forms.folded):
            text = forms.coded.sub(lambda each: instead or "x" * len(each[0]), text)
            text = forms.plain.sub(instead or forms.stand_in, text)
        if "\\" in text or "%" in text:
            text = forms.escaped.sub(instead or forms.stand_in, text)
    return text


class _Forms(NamedTuple):
    """The forms of a value: in Base64, in upper or lower case, or with escapes."""

    coded: re.Pattern[str]
    plain: re.Pattern[str]
    escaped: re.Pattern[str]
    folded: tuple[str, ...]
    stand_in: str

    @staticmethod
    @functools.lru_cache(maxsize=1024)
    def of(value: str) -> _Forms:
        coded = sorted(_in_base64(value), key=len, reverse=True)
        return _Forms(
            coded=re.compile("|".join(map(re.escape, coded))),
            plain=re.compile(re.escape(value), re.IGNORECASE),
            escaped=re.compile("".join(map(_character, value)), re.IGNORECASE),
            folded=tuple(form.casefold() for form in (value, *coded)),
            stand_in=stand_in(value),
        )


def _in_base64(value: str) -> set[str]:
    """Return the value in Base64, alone or within a longer text."""
    data = os.fsencode(value)
    whole = base64.b64encode(data).decode()
    # Base64 depends on the offset of the bytes modulo 3 and, at the edges, on their neighbours.
    coded = {whole, whole.rstrip("="), *(_core(data, before) for before in range(3))}
    return coded | {form.replace("+", "-").replace("/", "_") for form in coded}


def _core(value: bytes, before: int) -> str:
    """Return the part of the Base64 that depends only on this value, `before` bytes into a text."""
    coded = base64.b64encode(bytes(before) + value).decode()
    return coded[(before * 8 + 5) // 6 : (before + len(value)) * 8 // 6]


def _character(character: str) -> str:
    r"""Match a character as escaped in JSON, a pattern or a URL: `\/`, `\u0073`, `\\u0073`, `%2f`."""
    plain = re.escape(character)
    if not character.isalnum():
        plain = r"\\{0,8}" + plain
    coded = "".join(f"%{byte:02x}" for byte in os.fsencode(character))
    more = {" ": r"|\+", "\n": r"|\\{1,8}n", "\r": r"|\\{1,8}r", "\t": r"|\\{1,8}t"}.get(character, "")
    return rf"(?:{plain}|\\{{1,8}}u{ord(character):04x}|{coded}{more})"


# These log whole requests and answers at DEBUG level, and providers' texts at any level.
_LIBRARIES = frozenset(
    "LiteLLM aiohttp anthropic asyncio boto3 botocore google httpcore httpx litellm mcp openai "
    "urllib3".split()
)


class ScrubFilter(logging.Filter):
    """Removes keys from log records, and escape sequences from those of libraries and agents."""

    def filter(self, record: logging.LogRecord) -> bool:
        values = secret_values()
        try:
            message = record.getMessage()
        except Exception:  # logging itself reports a record that cannot be formatted
            return True
        is_library = record.name.partition(".")[0].partition(" ")[0] in _LIBRARIES
        # Tests run on the main thread, agents on others.
        is_foreign = is_library or record.thread != threading.main_thread().ident
        clean_text = harmless if is_foreign else scrub
        clean = clean_text(message, values)
        if clean != message:
            record.msg, record.args = clean, None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = clean_text(record.exc_text, values)
        return True


def harmless(text: str, values: tuple[str, ...] | None = None) -> str:
    """Make foreign output safe to show, without secrets."""
    lines = scrub(text, secret_values() if values is None else values).split("\n")
    return "\n".join(printable(line, keep_newlines=True) for line in lines)


def clean_reason(text: str) -> str:
    """A reason without keys, short and safe to show."""
    return printable(shorten(scrub(text, secret_values()), _LONGEST_REASON))

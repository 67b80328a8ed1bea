"""Keeps API keys out of every text that is shown, stored or sent."""

from __future__ import annotations

import base64
import functools
import logging
import os
import re
from collections.abc import Iterable
from typing import Any

from .text import printable

_SECRET_NAME = re.compile(r"(API_?KEY|_KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$", re.IGNORECASE)
_API_KEY_NAME = re.compile(r"API_?KEY$", re.IGNORECASE)
# Names that may or may not mean a secret: words and plain numbers are not secrets here.
_MAYBE_SECRET_NAME = re.compile(
    r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTH)S?\d*(_|$)", re.IGNORECASE
)
_MAYBE_SENT_NAME = re.compile(r"(API_?KEY|TOKEN)\d*$|BEARER_TOKEN_", re.IGNORECASE)
_BEARER = re.compile(r"\b(Bearer|Basic)\s+[^\s'\",;]+", re.IGNORECASE)
_USERINFO = re.compile(r"(?<=://)[^\s/@'\"]{1,500}@")
_FIELD_NAME = re.compile(r"[a-z_]+")
_SHORTEST = 6  # shorter values ("x", "none", "1234") occur in ordinary text
_SHORTEST_MAYBE = 8
PLACEHOLDER = "[secret]"

# The `api_key_env` of all models.
_named: set[str] = set()


def keep_secret(variable: str | None) -> None:
    """Treat the value of this variable as a secret, whatever its name."""
    if variable:
        _named.add(variable)


def secret_values(names: Iterable[str | None] = ()) -> tuple[str, ...]:
    """The values in the environment that must not be shown, longest first.

    These are the variables in `names`, those that models name, and all whose name suggests a secret.
    """
    return _values({*names, *_named}, _SECRET_NAME, _MAYBE_SECRET_NAME)


def sent_values(name: str | None) -> tuple[str, ...]:
    """The keys that a provider may have received and could echo in an answer, longest first.

    Fewer than `secret_values`: a scored answer must not change because a password of the machine
    happens to be an ordinary word.
    """
    return _values({name}, _API_KEY_NAME, _MAYBE_SENT_NAME)


def _values(named: set[str | None], meant: re.Pattern[str], perhaps: re.Pattern[str]) -> tuple[str, ...]:
    values = set()
    # Not `items()`: pytest keeps changing PYTEST_CURRENT_TEST in another thread.
    for name in list(os.environ):
        value = os.environ.get(name, "").strip()
        if name in named or _matches(meant, name):
            if len(value) >= _SHORTEST:
                values.add(value)
        elif len(value) >= _SHORTEST_MAYBE and _matches(perhaps, name) and not _is_ordinary(value):
            values.add(value)
    return tuple(sorted(values, key=len, reverse=True))


# Cached, as every answer looks through the whole environment.
@functools.lru_cache(maxsize=4096)
def _matches(pattern: re.Pattern[str], name: str) -> bool:
    return bool(pattern.search(name))


def _is_ordinary(value: str) -> bool:
    """Whether it is a plain number, or a word such as `disabled`."""
    is_word = value.isalpha() and (value.islower() or value.isupper() or value.istitle())
    return is_word or value.isdigit()


def scrub(text: str, values: Iterable[str]) -> str:
    """The text without these values, and without credentials in headers and URLs."""
    text = _BEARER.sub(rf"\1 {PLACEHOLDER}", _without(text, values))
    return _USERINFO.sub(f"{PLACEHOLDER}@", text)


def scrub_json(value: Any, values: tuple[str, ...], *, all_names: bool = False) -> Any:
    """A copy of a JSON value without these values in its texts and in the names of its members.

    Unless `all_names`, names of only small letters stay, so that a key that is an ordinary word breaks
    no structure.
    """
    if isinstance(value, str):
        return _without(value, values)
    if isinstance(value, list):
        return [scrub_json(member, values, all_names=all_names) for member in value]
    if isinstance(value, dict):
        return {
            _without(name, values) if all_names or not _FIELD_NAME.fullmatch(name) else name: scrub_json(
                member, values, all_names=all_names
            )
            for name, member in value.items()
        }
    return value


def shown_address(url: str) -> str:
    """A URL, even a malformed one, without user, password, query and fragment."""
    address, rest = re.split("[?#]", url + "?", maxsplit=1)
    before, at, host = address.rpartition("@")
    scheme = f"{url.partition('://')[0]}://" if "://" in url else ""
    if "@" in rest:
        # Either the password contains the `?`, or the query an `@`.
        return f"{scheme}{PLACEHOLDER}"
    return f"{scheme if '://' in before else ''}{PLACEHOLDER}@{host}" if at else address


def _without(text: str, values: Iterable[str]) -> str:
    for value in values:
        for form in _forms(value):
            text = text.replace(form, PLACEHOLDER)
        if "\\" in text or "%" in text:
            text = _escaped(value).sub(PLACEHOLDER, text)
    return text


@functools.lru_cache(maxsize=1024)
def _forms(value: str) -> tuple[str, ...]:
    """The value itself and in Base64, alone or within a longer text."""
    data = os.fsencode(value)
    whole = base64.b64encode(data).decode()
    # Base64 depends on the offset of the bytes modulo 3, and at the edges on their neighbours.
    coded = {whole, whole.rstrip("="), *(_core(data, before) for before in range(3))}
    urlsafe = {form.replace("+", "-").replace("/", "_") for form in coded}
    return tuple(sorted({value, *coded, *urlsafe}, key=len, reverse=True))


def _core(value: bytes, before: int) -> str:
    """The part of the Base64 that depends on this value alone, `before` bytes into a text."""
    coded = base64.b64encode(bytes(before) + value).decode()
    return coded[(before * 8 + 5) // 6 : (before + len(value)) * 8 // 6]


@functools.lru_cache(maxsize=1024)
def _escaped(value: str) -> re.Pattern[str]:
    r"""The value as it may be escaped in JSON or a URL: `\/`, `\u0073`, `\\u0073`, `%2f`."""
    return re.compile("".join(map(_character, value)))


def _character(character: str) -> str:
    plain = re.escape(character)
    if character in '/"\\':
        plain = r"\\{0,8}" + plain
    coded = "".join(f"%{byte:02x}" for byte in os.fsencode(character))
    plus = r"|\+" if character == " " else ""
    return rf"(?:{plain}|\\{{1,8}}u(?i:{ord(character):04x})|(?i:{coded}){plus})"


# They log whole requests and answers at DEBUG level, and texts of providers at any.
_LIBRARIES = frozenset(
    "LiteLLM aiohttp anthropic asyncio boto3 botocore google httpcore httpx litellm mcp openai "
    "urllib3".split()
)


class ScrubFilter(logging.Filter):
    """Removes keys from log records, and escape sequences from those of libraries."""

    def filter(self, record: logging.LogRecord) -> bool:
        values = secret_values()
        try:
            message = record.getMessage()
        except Exception:  # logging itself reports a record that cannot be formatted
            return True
        is_foreign = record.name.partition(".")[0].partition(" ")[0] in _LIBRARIES
        clean_text = _harmless if is_foreign else scrub
        clean = clean_text(message, values)
        if clean != message:
            record.msg, record.args = clean, None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = clean_text(record.exc_text, values)
        return True


def _harmless(text: str, values: tuple[str, ...]) -> str:
    lines = scrub(text, values).split("\n")
    return "\n".join(printable(line, keep_newlines=True) for line in lines)

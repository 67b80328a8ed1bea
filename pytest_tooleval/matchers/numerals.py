"""Find the numbers in a text written for people.

- A number has digits, and may have a fraction after a point and an exponent: 5, 5.00, .5, 5e3.
- A minus (`-`, U+2212, an en dash) belongs to it, even before or after a currency: -5, -$5, $-5.
  After a letter, a digit, `)` or `%` it is a hyphen: 3-5 contains 3 and 5.
- Commas, apostrophes and spaces (including thin and no-break ones) separate thousands: 5,000 and 5 000
  are 5000. A comma may also separate a list: 1,2,3 are three numbers. 100,200 may be one or two, so
  100200, 100 and 200 are found, unless there is a currency, a percent sign, a fraction or a group 050.
- A letter before the digits, or more digits after letters, make it an id: A5, INV-17, v2.1, 4f2a and
  1920x1080 contain no number. Letters after it are a unit: 5kg, 3rd, 5%.
- Three or more groups of digits with the same separator are a date, a version, an address or a telephone
  number, and 10:30 is a time: 2026-03-02, 5.0.1 and 10.0.0.1 contain no number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

Figures = tuple["Decimal | str", ...]

_MINUS = "[-\u2212\u2013\ufe63\uff0d]"
_CURRENCIES = (
    "$\u00a2-\u00a5\u058f\u060b\u09f2\u09f3\u0af1\u0bf9\u0e3f\u17db\u20a0-\u20cf\ufdfc\ufe69\uff04"
    "\uffe0\uffe1\uffe5\uffe6"
)
_SPACES = " \u00a0\u2007\u2009\u202f"
# Only of scripts with spaces between words: in Chinese and Japanese, a number may follow a letter.
_LETTERS = "A-Za-z_\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u052f"
_DIGITS = re.compile(r"\d+")
_GAPS = re.compile(rf"[{_SPACES}'\u2019,]")
# A number, or digits that are not one.
_TOKEN = re.compile(
    rf"""
      [{_LETTERS}]\w*(?:[.\-]\w+)*
    | {_MINUS}?\d+(?P<mark>[.:/\-])\d+(?:(?P=mark)\d+)+(?:T\d[\d:.]*)?\w*
    | \d{{1,2}}:[0-5]\d(?!\d)\w*
    | (?:
          (?P<minus>(?<![\w%)\]{_CURRENCIES}-]){_MINUS})
          (?:(?P<code>[A-Z]{{0,3}}[{_CURRENCIES}]|[A-Z]{{3}})[{_SPACES}]?)?
        | (?P<money>[{_CURRENCIES}])[{_SPACES}]?(?P<inner_minus>{_MINUS})?
      )?
      (?:
          (?P<groups>
              \d{{1,3}}(?P<gap>[{_SPACES}'\u2019])\d{{3}}(?:(?P=gap)\d{{3}})*(?!\d)
            | \d+(?:,\d+)*
          )
          (?P<fraction>\.\d+)?
        | (?<![\w.)\]])(?P<bare_fraction>\.\d+)
      )
      (?P<exponent>[eE][-+\u2212]?\d{{1,4}}(?![{_LETTERS}\d]))?
      (?P<unit>[{_LETTERS}\d]*)
      (?P<sign>[%\u2030{_CURRENCIES}])?
    """,
    re.VERBOSE,
)


def numbers(text: str) -> Iterator[Decimal]:
    """Yield the numbers in a text, by the rules of this module."""
    for token in _TOKEN.finditer(text):
        whole, several, is_list = _read(token)
        if whole is not None:
            yield whole
        if is_list:
            yield from several


def figures(text: str) -> set[Figures]:
    """Return a text's numbers, and the digits of ids, dates and the like.

    There are two readings, in which groups of digits such as 5,000 are one number, or several.
    """
    one: list[Decimal | str] = []
    other: list[Decimal | str] = []
    for token in _TOKEN.finditer(text):
        whole, several, _ = _read(token)
        parts = several or _DIGITS.findall(token[0])
        one += parts if whole is None else [whole]
        other += parts
    return {tuple(one), tuple(other)}


def _read(token: re.Match[str]) -> tuple[Decimal | None, list[Decimal], bool]:
    """Return the number, the numbers if read as a list, and whether it may be a list."""
    bare = token["bare_fraction"]
    if (token["groups"] is None and bare is None) or any(map(str.isdecimal, token["unit"])):
        return None, [], False
    minus = "-" if token["minus"] or token["inner_minus"] else ""
    tail = (token["fraction"] or "") + (token["exponent"] or "").replace("\u2212", "-")
    if bare is not None:
        return Decimal(minus + bare + tail), [], False
    first, *others = groups = _GAPS.split(token["groups"])
    whole = Decimal(minus + "".join(groups) + tail)
    if not others:
        return whole, [whole], False
    several = [*map(Decimal, (minus + first, *others[:-1], others[-1] + tail))]
    is_money = bool(token["money"] or token["code"] or token["sign"])
    no_zeros = not any(len(group) > 1 and int(group[0]) == 0 for group in groups)
    if len(first) <= 3 and int(first[0]) and all(len(group) == 3 for group in others):
        return whole, several, len(first) == 3 and no_zeros and not (is_money or tail)
    return None, several, no_zeros and not is_money

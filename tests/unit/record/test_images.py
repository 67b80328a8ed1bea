"""Images in the answers of tools: what is one, and the words for it where it cannot be shown."""

from __future__ import annotations

import base64

import pytest
from builders import PNG, picture

from pytest_tooleval.record.images import (
    MAX_IMAGE_BYTES,
    image_part,
    image_problem,
    url_of,
    without_images,
)


def coded(content: bytes) -> str:
    return base64.b64encode(content).decode()


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\xff\xd8\xff\xe0..", "jpeg"),
        (b"GIF89a..", "gif"),
        (b"RIFF\x01\n\x02\x03WEBPVP8 ", "webp"),
        (base64.b64decode(PNG), "png"),
    ],
)
def test_the_bytes_say_what_an_image_is(content: bytes, kind: str) -> None:
    part = image_part(coded(content))
    assert url_of(part) == f"data:image/{kind};base64,{coded(content)}"
    assert image_problem(part) == ""


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("", "not a PNG, JPEG, GIF or WebP"),
        (coded(b"<svg onload='alert(1)'>"), "not a PNG, JPEG, GIF or WebP"),
        (coded(b"RIFF\x01\x02\x03\x04WAVEfmt "), "not a PNG, JPEG, GIF or WebP"),
        (f"{PNG}'>", "not Base64"),
        (f"{PNG}\n", "not Base64"),
        ("Ünicode", "not Base64"),
        (coded(b"GIF89a" + bytes(MAX_IMAGE_BYTES)), "larger than 5 MiB"),
    ],
)
def test_anything_else_is_no_image(data: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        image_part(data)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("https://example.org/a.png", ""),
        ("http://example.org/a.png", "expected a URL such as data:image/png;base64,... or https://..."),
        ("a.png", "expected a URL such as"),
        (None, "expected a URL such as"),
        (f"data:image/svg+xml;base64,{PNG}", "expected a URL such as"),
        (f"data:image/jpeg;base64,{PNG}", "the image is of the type image/png"),
        ("data:image/png;base64,AAAA", "the image is not a PNG, JPEG, GIF or WebP"),
    ],
)
def test_an_image_of_a_suite(url: object, problem: str) -> None:
    for held in ({"url": url}, url):
        found = image_problem({"type": "image_url", "image_url": held})
        assert found.startswith(problem)
        assert bool(found) == bool(problem)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("plain", "plain"),
        ([{"type": "text", "text": "a"}, picture(), "junk"], "a\n[image: image/png, 1 kB]"),
        ([picture("A" * 16_000)], "[image: image/png, 12 kB]"),
        ([{"type": "image_url", "image_url": "https://a.b/c"}], "[image: https://a.b/c]"),
    ],
)
def test_the_words_for_an_image(content: object, text: str) -> None:
    assert without_images(content) == text

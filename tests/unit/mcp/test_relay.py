from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from pytest_tooleval.mcp import relay

WRITE = "import sys; sys.stdout.buffer.write(bytes.fromhex(sys.argv[1]))"


def run(*command: str, max_line: int = 100, max_total: int = 0) -> tuple[bytes, dict[str, object]]:
    """What comes through, and the report of the end."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", relay.__file__, "TOKEN", str(max_line), str(max_total), *command],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )
    _, _, report = done.stderr.rpartition(b"\nTOKEN ")
    return done.stdout, json.loads(report)


def write(data: bytes, **limits: int) -> tuple[bytes, dict[str, object]]:
    return run(sys.executable, "-I", "-S", "-c", WRITE, data.hex(), **limits)


@settings(max_examples=15)
@given(st.lists(st.binary(max_size=100).map(lambda line: line.replace(b"\n", b""))))
def test_lines_within_the_limit_come_through_unchanged(lines: list[bytes]) -> None:
    assert write(b"\n".join(lines)) == (b"\n".join(lines), {"exit": 0})


@pytest.mark.parametrize(
    "data", [b"x" * 101, b"ok\n" + b"x" * 101 + b"\nno", b"ok\n" + b"x" * 50_000 + b"\n"]
)
def test_a_longer_line_ends_it(data: bytes) -> None:
    assert write(data)[1] == {"max_line": 100}


@pytest.mark.skipif(os.name == "nt", reason="a pipe cannot be waited for on Windows")
def test_the_server_starts_with_the_first_message(tmp_path: Path) -> None:
    started = tmp_path / "started"
    code = f"import sys; open({str(started)!r}, 'w').close(); print(sys.stdin.readline(), end='')"
    command = [
        sys.executable,
        "-I",
        "-S",
        relay.__file__,
        "TOKEN",
        "100",
        "0",
        sys.executable,
        "-c",
        code,
    ]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    assert not started.exists()
    output, _ = process.communicate(b"hello\n", timeout=120)
    assert output == b"hello\n"
    assert started.exists()


def test_all_lines_together_have_a_limit() -> None:
    assert write(b"12345\n" * 20, max_total=119)[1] == {"max_total": 119}
    assert write(b"12345\n" * 20, max_total=120)[1] == {"exit": 0}


def test_the_end_is_reported() -> None:
    assert run(sys.executable, "-c", "raise SystemExit(3)")[1] == {"exit": 3}
    assert run("/no/such/command")[1] == {"not_started": "No such file or directory"}


def test_a_server_is_read_to_its_end_when_nobody_listens() -> None:
    code = "import sys; [print('x' * 90) for _ in range(10_000)]; print('done', file=sys.stderr)"
    command = [
        sys.executable,
        "-I",
        "-S",
        relay.__file__,
        "TOKEN",
        "100",
        "0",
        sys.executable,
        "-c",
        code,
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert b"done" in process.stderr.read()
    assert process.wait(120) == 0
    process.stderr.close()

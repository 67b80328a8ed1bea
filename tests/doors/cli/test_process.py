"""What happens to the process of a command from outside is said in one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from pytest_tooleval.checkout.ci import CiJob
from pytest_tooleval.cli.forges import Forge, GitHub, GitLab
from pytest_tooleval.errors import ToolevalError

_UNIX = pytest.mark.skipif(sys.platform == "win32", reason="no such path on this system")


def tooleval(*words: str, path: Path | None = None, output: str = "") -> tuple[int, str]:
    """The exit status and the errors of a command whose output goes nowhere else."""
    code = f"import sys; sys.argv[1:] = {list(words)}\n"
    if sys.platform != "win32":  # else a test that fails takes all memory
        code += "import resource; resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
    code += "from pytest_tooleval.__main__ import main; main()"
    with open(output or os.devnull, "w") as out:
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdout=out,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(path or "")},
            text=True,
            timeout=120,
            check=False,
        )
    return done.returncode, done.stderr.strip()


@_UNIX
@pytest.mark.slow
@pytest.mark.parametrize("words", [["--help"], ["schema"], ["validate", "no.tooleval.json"]])
def test_an_output_that_is_full(words: list[str]) -> None:
    full = (2, "Error: cannot write the output: No space left on device")
    assert tooleval(*words, output="/dev/full") == full


@pytest.mark.slow
def test_ctrl_c_while_a_command_is_imported(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt", encoding="utf-8")
    assert tooleval("merge", "a.json", path=tmp_path) == (1, "Aborted!")


@_UNIX
@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["import", "/dev/zero", "--out=a.tooleval.json"], "/dev/zero:1:1: not a regular file"),
        (["mutate", "/dev/zero"], "/dev/zero: the file cannot be read: it is a device"),
        (["merge", "/dev/zero"], "/dev/zero: cannot be read: it is a device"),
    ],
)
def test_a_file_that_never_ends(words: list[str], why: str) -> None:
    status, error = tooleval(*words)
    assert status in (1, 2)
    assert why in error
    assert "Traceback" not in error


@pytest.fixture
def answer() -> Iterator[list[bytes]]:
    """What a forge answers to everything, and its address."""
    answers = [b""]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(answers[0])))
            self.end_headers()
            self.wfile.write(answers[0])

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        answers.append(f"http://127.0.0.1:{server.server_port}".encode())
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield answers
        server.shutdown()


def _job(forge: type[GitHub | GitLab], address: bytes) -> CiJob:
    name = "GITHUB_API_URL" if forge is GitHub else "CI_API_V4_URL"
    job = CiJob.now({name: address.decode()})
    assert job is not None
    return job


@pytest.mark.parametrize("forge", [GitHub, GitLab])
@pytest.mark.parametrize(
    "odd",
    [b"", b"[]", b"null", b"{}", b'{"head": [], "sha": 1}', b'"text"', b"\xff", b"<html>", b"[" * 99999],
)
def test_an_odd_answer_of_a_forge_is_an_error_of_ours(
    forge: type[GitHub | GitLab], odd: bytes, answer: list[bytes]
) -> None:
    answer[0] = odd
    found: Forge = forge(_job(forge, answer[1]), "token")
    for ask in (found.head, lambda: list(found.comments())):
        if (odd, forge) != (b"[]", GitHub) or ask == found.head:
            with pytest.raises(ToolevalError, match="an odd answer: "):
                ask()


def test_a_forge_whose_comments_never_end(answer: list[bytes]) -> None:
    answer[0] = json.dumps([{"id": 1}] * 100).encode()
    assert len(list(GitHub(_job(GitHub, answer[1]), "token").comments())) == 10_000

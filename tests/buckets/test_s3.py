"""Histories in a bucket: moto's server for S3, which s3fs writes to and reads."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("s3fs")
boto3 = pytest.importorskip("boto3")
moto_server = pytest.importorskip("moto.server")

SUITE = """
{"name": "Weather",
 "tools": [{"type": "function", "function": {
    "name": "get_weather", "description": "Get the weather in a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}],
 "test_cases": [{"id": "rain", "prompt": "get the weather", "expected_tool": "get_weather"}]}
"""
TOOLEVAL = str(Path(sys.executable).with_name("tooleval"))
PYTEST = (sys.executable, "-m", "pytest", "--tooleval-model=builtin/lexical", "-q")


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    server = moto_server.ThreadedMotoServer(port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "testing")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        boto3.client("s3").create_bucket(Bucket="team")
        yield "team"
    server.stop()


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        arguments,
        cwd=folder,
        capture_output=True,
        text=True,
        env=os.environ,
        check=False,
    )
    return done.stdout + done.stderr


def job(folder: Path, url: str) -> str:
    folder.mkdir()
    (folder / "pytest.ini").write_text(f"[pytest]\ntooleval_history = {url}\n")
    (folder / "weather.tooleval.json").write_text(SUITE)
    return run(folder, *PYTEST)


def keys(prefix: str) -> list[str]:
    found = boto3.client("s3").list_objects_v2(Bucket="team", Prefix=prefix)
    return [each["Key"] for each in found.get("Contents", [])]


def test_jobs_at_once_and_a_cold_reader(bucket: str, tmp_path: Path) -> None:
    url = f"s3://{bucket}/runs-of-jobs"
    with ThreadPoolExecutor(2) as threads:
        said = list(threads.map(lambda name: job(tmp_path / name, url), ("one", "two")))
    assert all("saved as" in each for each in said), said
    assert all("stays on this machine" not in each for each in said), said
    assert len(keys("runs-of-jobs/runs/")) == len(keys("runs-of-jobs/heads/")) == 2
    reader = tmp_path / "reader"
    reader.mkdir()
    listed = run(reader, TOOLEVAL, "history", f"--history={url}")
    assert listed.count("builtin/lexical") == 2, listed
    tagged = run(reader, TOOLEVAL, "history", "tag", "latest", "v1", f"--history={url}")
    assert tagged.startswith("@v1 is the run"), tagged
    other = run(tmp_path / "one", TOOLEVAL, "show", "@v1")
    assert "run " in other, other
    prune = ("history", "prune", "--keep=0", "--yes", f"--history={url}")
    pruned = run(reader, TOOLEVAL, *prune)
    assert pruned.startswith("deleted 1 run"), pruned  # the tagged one stays
    assert len(keys("runs-of-jobs/heads/")) == 1


def test_a_bucket_that_is_not_there_keeps_the_run(bucket: str, tmp_path: Path) -> None:
    said = job(tmp_path / "job", "s3://no-such-bucket/runs")
    assert "the run stays on this machine until the next one: s3://no-such-bucket/runs" in said, said
    assert "1 passed" in said


def test_a_torn_upload_is_told(bucket: str, tmp_path: Path) -> None:
    url = f"s3://{bucket}/torn"
    assert "saved as" in job(tmp_path / "job", url)
    (key,) = keys("torn/runs/")
    client = boto3.client("s3")
    data = client.get_object(Bucket=bucket, Key=key)["Body"].read()
    client.put_object(Bucket=bucket, Key=key, Body=data[: len(data) // 2])
    (tmp_path / "reader").mkdir()
    said = run(tmp_path / "reader", TOOLEVAL, "history", f"--history={url}")
    assert f"torn: {len(data) // 2} of {len(data)} bytes" in said, said

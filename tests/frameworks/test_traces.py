"""The spans that libraries write now are read as the recorded ones in tests/traces."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from traces import record
from traces.test_traces import check

from .running import skip_without


@pytest.mark.nightly
@pytest.mark.parametrize("library", record.LIBRARIES)
def test_spans_of_today(library: str, tmp_path: Path) -> None:
    skip_without("opentelemetry.exporter.otlp.json.file")
    path = tmp_path / "spans.jsonl"
    subprocess.run([sys.executable, record.__file__, library, path], check=True)
    check(path)

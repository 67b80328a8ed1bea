"""The project of the plugin's tests, in runs with the plugins that are named."""

from __future__ import annotations

from doors.pytest.conftest import project  # noqa: F401  a fixture

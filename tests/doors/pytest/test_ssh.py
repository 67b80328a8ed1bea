"""Workers on other machines: two ssh servers on the loopback interface stand for two hosts."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from mock_server import MockServer

from .project import Project
from .test_resume import served_cases
from .test_resume import with_server

pytest.importorskip("xdist")

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
KEY = "sk-only-on-the-remote-side"
# As in the fixture `project`, whose environment the hosts do not get.
_PLUGINS = 'PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTEST_ADDOPTS="-p tooleval"'
pytestmark = pytest.mark.skipif(
    not (SSHD and shutil.which("ssh")), reason="needs an ssh client and server (openssh-server)"
)


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Path]:
    """An ssh configuration that knows host1 and host2; both have the key in their environment."""
    for name in ("host", "client"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True
        )
    servers, config = [], ""
    for name in ("host1", "host2"):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        (tmp_path / f"{name}.conf").write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {tmp_path}/host\nPidFile none\n"
            f"AuthorizedKeysFile {tmp_path}/client.pub\nStrictModes no\nPermitRootLogin yes\n"
            f"PasswordAuthentication no\nUsePAM no\nSetEnv REMOTE_KEY={KEY} {_PLUGINS}\n"
        )
        config += f"Host {name}\n  HostName 127.0.0.1\n  Port {port}\n"
        assert SSHD is not None
        servers.append(subprocess.Popen([SSHD, "-D", "-e", "-f", tmp_path / f"{name}.conf"]))
    config += (
        f"Host *\n  IdentityFile {tmp_path}/client\n  StrictHostKeyChecking no\n"
        "  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n"
    )
    (tmp_path / "config").write_text(config)
    try:
        _wait_for(tmp_path / "config")
        yield tmp_path / "config"
    finally:
        for server in servers:
            server.terminate()
            server.wait()


def _wait_for(config: Path) -> None:
    """Until both hosts let us in; where they never do (no privilege separation folder), skip."""
    for name in ("host1", "host2"):
        for _ in range(20):
            command = ["ssh", "-F", str(config), name, "true"]
            if subprocess.run(command, check=False, capture_output=True).returncode == 0:
                break
            time.sleep(0.2)
        else:
            pytest.skip("the ssh server does not let us in here")


def test_two_hosts_share_the_cases_and_keep_the_key_to_themselves(project: Project, hosts: Path) -> None:
    with MockServer(latency=0.05) as server:
        with_server(project, server, api_key_env='"REMOTE_KEY"')
        served_cases(project, 20)
        hosts_options = [
            f"--tx=ssh=-F {hosts} {name}//python={sys.executable}//chdir={project.path}"
            for name in ("host1", "host2")
        ]
        result = project.run_subprocess(
            "-d", *hosts_options, "--tooleval-report=out.json", "-v", model="served"
        )
        result.assert_outcomes(passed=20)
        assert server.requests == 20
        assert {headers["authorization"] for headers in server.headers} == {f"Bearer {KEY}"}
    workers = {line.split()[0] for line in result.outlines if line.startswith("[gw")}
    assert workers == {"[gw0]", "[gw1]"}
    assert KEY not in result.stdout.str() + (project.path / "out.json").read_text()

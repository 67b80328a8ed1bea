"""Workers on other machines: an ssh server for each connection stands for a host. No network is used."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mock_server import MockServer

from .project import Project
from .test_resume import served_cases, with_server

pytest.importorskip("xdist")

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
KEY = "sk-only-on-the-remote-side"
# As for all tests, whose environment the hosts do not get.
_PLUGINS = 'PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTEST_ADDOPTS="-p tooleval"'
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (SSHD and shutil.which("ssh")), reason="needs an ssh client and server (openssh-server)"
    ),
]


@pytest.fixture
def hosts(tmp_path: Path) -> Path:
    """An ssh configuration that knows host1 and host2; both have the key in their environment."""
    for name in ("host", "client"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True
        )
    (tmp_path / "host.conf").write_text(
        f"HostKey {tmp_path}/host\nPidFile none\nLoginGraceTime 0\n"
        f"AuthorizedKeysFile {tmp_path}/client.pub\nStrictModes no\nPermitRootLogin yes\n"
        f"PasswordAuthentication no\nUsePAM no\nSetEnv REMOTE_KEY={KEY} {_PLUGINS}\n"
    )
    config = tmp_path / "config"
    config.write_text(
        f"Host host1 host2\n  ProxyCommand {SSHD} -i -f {tmp_path}/host.conf\n"
        f"  IdentityFile {tmp_path}/client\n  StrictHostKeyChecking no\n"
        "  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n"
    )
    done = subprocess.run(["ssh", "-F", config, "host1", "true"], check=False, capture_output=True)
    if done.returncode != 0:  # there may be no folder for its separation of privileges
        pytest.skip("the ssh server does not let us in here")
    return config


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

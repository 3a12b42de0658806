"""zookeeper-shell: what it prints, beside ZooKeeper's own shell where there is a Java."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.protocol.states import WatchedEvent

from kafka_py.embedded import shell
from kafka_py.embedded.shell import ZooKeeperShell
from kafka_py.embedded.shell_commands import ShellCommands
from kafka_py.embedded.zookeeper_server import ZooKeeperServer
from kafka_py.tools.java_runtime import find_java, require_java, zookeeper_class_path
from tests.embedded.servers import apache_server, embedded_server, server, zk_connect

__all__ = ["apache_server", "embedded_server", "server", "zk_connect"]


class Shell:
    """The shell, and what it has said since one looked."""

    def __init__(self, client: KazooClient) -> None:
        self.said: list[str] = []
        self.failed: list[str] = []
        self._changed = threading.Condition()
        self.shell = ZooKeeperShell(client, self._out, self.failed.append)

    def _out(self, line: str) -> None:
        with self._changed:
            self.said.append(line)
            self._changed.notify()

    def hears(self, *lines: str) -> bool:
        """Wait until all of the lines were said, by whatever thread."""
        with self._changed:
            return self._changed.wait_for(lambda: set(lines) <= set(self.said), timeout=20)

    def __call__(self, line: str) -> list[str]:
        """What the line prints, without what watches say; it must not fail."""
        before = len(self.said)
        assert self.shell.execute_line(line) == 0, self.failed
        return [said for said in self.said[before:] if "WATCHER" not in said]

    def fails(self, line: str, status: int = 1) -> list[str]:
        """What the line says of its failure."""
        assert self.shell.execute_line(line) == status
        failed, self.failed[:] = list(self.failed), []
        return failed


@pytest.fixture
def run(zk_connect: str) -> Iterator[Shell]:
    client = KazooClient(zk_connect, timeout=10.0)
    client.start(20)
    client.ensure_path("/")
    yield Shell(client)
    client.stop()
    client.close()


def test_nodes_come_and_go(run: Shell) -> None:
    assert run("create /a one") == ["Created /a"]
    assert run("create -s /a/s- three") == ["Created /a/s-0000000000"]
    assert run("create -e /a/e") == ["Created /a/e"]
    assert run("create -s -e '/a/es ' x") == ["Created /a/es 0000000002"]
    assert run("ls /a") == ["[e, es 0000000002, s-0000000000]"]
    assert run("ls -R /a") == ["/a", "/a/e", "/a/es 0000000002", "/a/s-0000000000"]
    assert run("getAllChildrenNumber /a") == ["3"]
    assert run("getEphemerals /a") == run("getEphemerals") == ["[/a/e, /a/es 0000000002]"]
    assert run.fails("delete /a") == ["Node not empty: /a"]
    assert run.fails("create /a/e/child") == ["Ephemerals cannot have children: /a/e/child"]
    assert run("delete /a/e") == []
    assert run("deleteall /a") == []
    assert run.fails("rmr /a") == ["Node does not exist: /a"]


def test_data_and_versions(run: Shell) -> None:
    run("create /a one")
    assert run("get /a") == ["one"]
    assert run.fails("create /a two") == ["Node already exists: /a"]
    assert run("set /a 'two words'") == []
    assert run("set -s /a again")[6:8] == ["dataVersion = 2", "aclVersion = 0"]
    assert run("set /a last -v 2") == []
    assert run.fails("set -v 2 /a no") == ["version No is not valid : /a"]
    assert run.fails("set -v x /a no") == ['java.lang.NumberFormatException: For input string: "x"']
    assert run.fails("delete -v 7 /a") == ["version No is not valid : /a"]
    names = [line.partition(" = ")[0] for line in run("stat /a")]
    assert names == ["cZxid", "ctime", "mZxid", "mtime", "pZxid", "cversion", "dataVersion", "aclVersion",
                     "ephemeralOwner", "dataLength", "numChildren"]  # fmt: skip
    assert run("get -s /a")[0] == "last"
    assert run("ls2 /a")[0] == run("ls -s /a")[0] == "[]"
    for line in ("get /absent", "ls /absent", "ls -R /absent", "stat /absent", "set /absent x", "delete /absent"):
        assert run.fails(line) == ["Node does not exist: /absent"]
    assert run("sync /a") == ["Sync is OK"]


def test_access_lists(run: Shell) -> None:
    run("create /a one world:anyone:cdrwa")
    run("create /a/b")
    assert run("getAcl /a") == ["'world,'anyone\n: cdrwa"]
    assert run("setAcl -R /a world:anyone:ra") == []
    assert run("getAcl -s /a/b")[:2] == ["'world,'anyone\n: ra", run("stat /a/b")[0]]
    assert run.fails("set /a two") == ["Insufficient permission : /a"]
    assert run.fails("setAcl -v 9 /a world:anyone:cdrwa") == ["version No is not valid : /a"]
    assert run.fails("setAcl /a world") == ["world does not have the form scheme:id:perm"]
    assert run.fails("setAcl /a nobody:knows:r") == ["Acl is not valid : /a"]
    assert run("addauth digest joe:pw") == []
    assert run("create /sec x auth:joe:pw:cdrwa") == ["Created /sec"]
    assert run("getAcl /sec") == ["'digest,'joe:VAXy9ajBTglP5dEFbkRFkF33wJ4=\n: cdrwa"]


def test_watches(run: Shell) -> None:
    event = "\nWATCHER::\n\nWatchedEvent state:SyncConnected type:{} path:/a"
    run("create /a one")
    run("get -w /a")
    run("ls -w /a")
    run("create /a/b")
    run.shell.execute_line("set /a two")
    assert run.hears(event.format("NodeChildrenChanged"), event.format("NodeDataChanged"))
    run.said.clear()
    run("stat -w /a")
    run("deleteall /a")
    assert run.hears(event.format("NodeDeleted"))
    run("printwatches off")
    assert run("printwatches")[-1] == "printwatches is off"
    run("printwatches on")
    assert run("printwatches")[-1] == "printwatches is on"


def test_nothing_is_printed_of_watches_that_are_off() -> None:
    said: list[str] = []
    commands = ShellCommands(None, said.append)
    for commands.print_watches in (False, True):
        commands._print_event(WatchedEvent("CREATED", "CONNECTED", "/a"))
    assert said == ["\nWATCHER::\n\nWatchedEvent state:SyncConnected type:NodeCreated path:/a"]


def test_lines_that_make_no_sense(run: Shell) -> None:
    assert run.fails("ls") == ["ls [-s] [-w] [-R] path"]
    assert run.fails("set /") == ["set path data [-s] [-v version]"]
    assert run.fails("ls -x /") == ["org.apache.commons.cli.UnrecognizedOptionException: Unrecognized option: -x"]
    assert run.fails("create foo bar") == ["Path must start with / character"]
    usage = run.fails("frobnicate", 127)
    assert usage[0] == "ZooKeeper -server host:port cmd args"
    assert usage[-1] == "Command not found: Command not found frobnicate"
    assert run("help") == usage[:-1]
    assert "\tstat [-w] path" in usage


def test_what_was_said_can_be_said_again(run: Shell) -> None:
    assert run("create -s /n- x") == ["Created /n-0000000000"]
    assert run("redo 0") == ["Created /n-0000000001"]
    assert run("history") == ["0 - create -s /n- x", "1 - create -s /n- x", "2 - history"]
    assert run.fails("redo 99") == run.fails("redo x") == ["Command index out of range"]
    assert run("redo") == []
    assert run.fails("redo 3") == ["No redoing redos"]
    for _ in range(12):
        run("sync /")
    lines = run("history")
    assert (len(lines), lines[0], lines[-1]) == (11, "9 - sync /", "19 - history")


def test_lines_of_standard_input(zk_connect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("create /a one\n\nls /absent\nget /a\nls\nquit\nget /a\n"))
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        client = KazooClient(zk_connect)
        client.start(20)
        client.ensure_path("/")
        client.stop()
        client.close()
        assert shell.main([zk_connect]) == 1
    assert out.getvalue().splitlines()[1:] == ["Welcome to ZooKeeper!", "Created /a", "one"]
    assert err.getvalue().splitlines() == ["Node does not exist: /absent", "ls [-s] [-w] [-R] path"]


SAME = """create /a one
create /a two
create -e /eph two
create -s /a/s- three
create /a/k
ls /
ls -R /a
ls
ls /absent
ls -x /
get /a
get /absent
set /a changed
set -v 0 /a no
set /absent x
stat /absent
sync /a
getAcl /a
setAcl -v 9 /a world:anyone:cdrwa
setAcl /a world:anyone:cdrw
getAcl /a
delete -v 7 /a/k
delete /a/k
delete /a
delete /absent
deleteall /absent
history
redo 9
redo 99
getAllChildrenNumber /
getEphemerals /
addauth digest joe:pw
printwatches
create foo bar
create /b/c x
delete
"""


@pytest.mark.slow
@pytest.mark.zookeeper
@pytest.mark.skipif(find_java() is None, reason="no Java found")
def test_the_same_as_javas_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = SAME + "quit\n"
    java = [str(require_java()), "-cp", zookeeper_class_path(), "org.apache.zookeeper.ZooKeeperMain", "-server"]
    with ZooKeeperServer(tmp_path / "java", force_sync=False) as server:
        theirs = subprocess.run(
            [*java, server.connect_string], input=commands, capture_output=True, text=True, timeout=60, check=False
        )
    out, err = io.StringIO(), io.StringIO()
    monkeypatch.setattr("sys.stdin", io.StringIO(commands))
    with (
        ZooKeeperServer(tmp_path / "ours", force_sync=False) as server,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        status = shell.main([server.connect_string])
    assert status == theirs.returncode
    noise = re.compile(r"WATCHER|WatchedEvent|JLine|Welcome|Connecting|ERROR Exiting|^20\d\d-|^ -| -b|^$|^SLF4J|log4j")

    def lines(text: str, created: bool = False) -> list[str]:
        found = [line for line in text.splitlines() if not noise.search(line)]
        return [line for line in found if line.startswith("Created ") is created]

    assert lines(out.getvalue()) == lines(theirs.stdout)
    assert lines(err.getvalue()) == lines(theirs.stderr)
    # ours are with the results, Java's with the errors
    assert lines(out.getvalue(), created=True) == lines(theirs.stderr, created=True)

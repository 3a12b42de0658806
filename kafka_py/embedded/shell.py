"""A shell for ZooKeeper's tree without Java: `zookeeper-shell.py host:port[/path] [command...]`.

The commands and what they print are those of ZooKeeper's own shell, as far as they go.
"""

from __future__ import annotations

import logging
import shlex
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

USAGE = "USAGE: zookeeper-shell.py zookeeper_host:port[/path] [args...]"
_HELP = """ZooKeeper -server host:port cmd args
\tcreate [-s] [-e] path [data]
\tdelete [-v version] path
\tdeleteall path
\tget [-s] path
\tgetAcl path
\thelp
\tls [-s] [-R] path
\tquit
\tset [-s] [-v version] path data
\tstat path
\tsync path"""


class ZooKeeperShell:
    """Carries out commands on one connection.

    Mirrors: org.apache.zookeeper.ZooKeeperMain (a part of it)
    """

    def __init__(self, client: Any, out: Callable[[str], None] = print) -> None:
        """Use that kazoo client; write lines with out."""
        self._client = client
        self._out = out
        self._commands: dict[str, Callable[[set[str], int, list[str]], None]] = {
            "ls": self._ls,
            "get": self._get,
            "stat": self._stat,
            "create": self._create,
            "set": self._set,
            "delete": self._delete,
            "deleteall": lambda flags, version, words: self._client.delete(words[0], recursive=True),
            "rmr": lambda flags, version, words: self._client.delete(words[0], recursive=True),
            "getAcl": self._get_acl,
            "sync": lambda flags, version, words: self._out(f"Sync is OK for {self._client.sync(words[0])}"),
        }

    def execute(self, line: list[str]) -> int:
        """Carry out one command: 0, or 1 when it failed, which is told in a line."""
        from kazoo.exceptions import KazooException  # kazoo is loaded only when there is a connection

        command = self._commands.get(line[0])
        if command is None:
            self._out(_HELP if line[0] == "help" else f"Command not found: Command not found {line[0]}\n{_HELP}")
            return 0 if line[0] == "help" else 1
        flags, version, words = _parse(line[1:])
        try:
            command(flags, version, words)
        except IndexError:
            self._out(f"{line[0]}: too few arguments\n{_HELP}")
            return 1
        except KazooException as e:
            self._out(f"{_text(e)}: {words[0] if words else ''}")
            return 1
        return 0

    def _ls(self, flags: set[str], version: int, words: list[str]) -> None:
        path = words[0]
        children, stat = self._client.get_children(path, include_data=True)
        if "-R" in flags:
            self._out(path)
            for child in sorted(children):
                self._ls(flags, version, [f"{path.rstrip('/')}/{child}"])
            return
        self._out(f"[{', '.join(sorted(children))}]")
        if "-s" in flags:
            self._print_stat(stat)

    def _get(self, flags: set[str], version: int, words: list[str]) -> None:
        data, stat = self._client.get(words[0])
        self._out("null" if data is None else data.decode(errors="replace"))
        if "-s" in flags:
            self._print_stat(stat)

    def _stat(self, flags: set[str], version: int, words: list[str]) -> None:
        stat = self._client.exists(words[0])
        if stat is None:
            self._out(f"Node does not exist: {words[0]}")
        else:
            self._print_stat(stat)

    def _create(self, flags: set[str], version: int, words: list[str]) -> None:
        data = words[1].encode() if len(words) > 1 else None
        path = self._client.create(words[0], data, ephemeral="-e" in flags, sequence="-s" in flags)
        self._out(f"Created {path}")

    def _set(self, flags: set[str], version: int, words: list[str]) -> None:
        stat = self._client.set(words[0], words[1].encode(), version)
        if "-s" in flags:
            self._print_stat(stat)

    def _delete(self, flags: set[str], version: int, words: list[str]) -> None:
        self._client.delete(words[0], version)

    def _get_acl(self, flags: set[str], version: int, words: list[str]) -> None:
        for acl in self._client.get_acls(words[0])[0]:
            rights = "".join(c for bit, c in ((4, "c"), (8, "d"), (1, "r"), (2, "w"), (16, "a")) if acl.perms & bit)
            self._out(f"'{acl.id.scheme},'{acl.id.id}\n: {rights}")

    def _print_stat(self, stat: Any) -> None:
        lines = {
            "cZxid": hex(stat.czxid),
            "ctime": _date(stat.ctime),
            "mZxid": hex(stat.mzxid),
            "mtime": _date(stat.mtime),
            "pZxid": hex(stat.pzxid),
            "cversion": stat.cversion,
            "dataVersion": stat.version,
            "aclVersion": stat.aversion,
            "ephemeralOwner": hex(stat.ephemeralOwner),
            "dataLength": stat.dataLength,
            "numChildren": stat.numChildren,
        }
        for name, value in lines.items():
            self._out(f"{name} = {value}")


def _parse(words: list[str]) -> tuple[set[str], int, list[str]]:
    """(flags, version, other words) of a command's arguments."""
    flags: set[str] = set()
    version = -1
    while words and words[0].startswith("-") and len(words[0]) == 2:
        flag = words.pop(0)
        flags.add(flag)
        if flag == "-v" and words:
            version = int(words.pop(0))
    return flags, version, words


def _date(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")


def _text(exception: Exception) -> str:
    names = {
        "NoNodeError": "Node does not exist",
        "NodeExistsError": "Node already exists",
        "NotEmptyError": "Node not empty",
        "BadVersionError": "version No is not valid",
    }
    return names.get(type(exception).__name__, repr(exception))


def main(arguments: list[str]) -> int:
    """One command from the arguments, or commands from standard input until quit."""
    if not arguments:
        print(USAGE)
        return 1
    from kazoo.client import KazooClient  # after the check: a usage line needs no client
    from kazoo.handlers.threading import KazooTimeoutError

    logging.getLogger("kazoo").addHandler(logging.NullHandler())
    print(f"Connecting to {arguments[0]}")
    client = KazooClient(arguments[0], timeout=30.0)
    try:
        client.start(timeout=30)
    except KazooTimeoutError:
        print(f"KeeperErrorCode = ConnectionLoss: no answer from {arguments[0]}")
        return 1
    try:
        shell = ZooKeeperShell(client)
        if len(arguments) > 1:
            return shell.execute(arguments[1:])
        print("Welcome to ZooKeeper!")
        return _read_commands(shell)
    finally:
        client.stop()
        client.close()


def _read_commands(shell: ZooKeeperShell) -> int:
    status = 0
    for line in sys.stdin:
        words = shlex.split(line)
        if words and words[0] == "quit":
            break
        if words:
            status = shell.execute(words)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

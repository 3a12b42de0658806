"""A shell for ZooKeeper's tree without Java: `zookeeper-shell.py host:port[/path] [command...]`.

The commands, what they print and the exit codes are those of ZooKeeper's own shell (3.9), as far as they go: 0 done, 1
failed, 127 no such command. Lines of standard input are carried out until quit; the status is that of the last one.

Mirrors: org.apache.zookeeper.ZooKeeperMain and the classes of org.apache.zookeeper.cli, in Apache ZooKeeper
Read next: shell_commands.py (what each command does)
"""

from __future__ import annotations

import logging
import shlex
import sys
from collections.abc import Callable
from typing import Any

from kafka_py.embedded.shell_commands import COMMANDS, CliError, Command, ShellCommands

USAGE = "USAGE: zookeeper-shell.py zookeeper_host:port[/path] [args...]"
_HEADING = "ZooKeeper -server host:port cmd args"
_OF_THE_SHELL = {"help": "help", "history": "history", "printwatches": "printwatches on|off", "quit": "quit",
                 "redo": "redo cmdno"}  # fmt: skip
_OLD_NAMES = {"rmr": "deleteall", "ls2": "ls"}  # those of 3.4, which Kafka 1.1.1 came with
_SHOWN = 10
NO_SUCH_COMMAND = 127


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr)


class ZooKeeperShell:
    """Carries out commands on one connection, and remembers them.

    Mirrors: org.apache.zookeeper.ZooKeeperMain (a part of it)
    Differs: `help` is a command; nothing is printed when the connection is made; that a node was created is told on
        standard output, not with the errors.
    """

    def __init__(
        self, client: Any, out: Callable[[str], None] = print, err: Callable[[str], None] = _to_stderr
    ) -> None:
        """Use that kazoo client; write results and failures, line by line."""
        self._out = out
        self._err = err
        self._commands = ShellCommands(client, out)
        self._history: list[str] = []

    def execute_line(self, line: str) -> int:
        """Carry out a line and remember it: the command's status."""
        self._history.append(line)
        return self.execute(shlex.split(line))

    def execute(self, line: list[str]) -> int:
        """Carry out one command: 0, 1 when it failed, which is told in a line, 127 when there is none."""
        name, arguments = line[0], line[1:]
        if name in _OF_THE_SHELL:
            return self._execute_own(name, arguments)
        command = COMMANDS.get(_OLD_NAMES.get(name, name))
        if command is None:
            self._usage(self._err)
            self._err(f"Command not found: Command not found {name}")
            return NO_SUCH_COMMAND
        if name == "ls2":
            arguments = ["-s", *arguments]
        return self._execute(command, arguments)

    def _execute(self, command: Command, arguments: list[str]) -> int:
        from kazoo.exceptions import KazooException  # kazoo is loaded only when there is a connection

        words: list[str] = []
        try:
            options, words = command.parse(arguments)
            command.action(self._commands, options, words)
        except CliError as e:
            self._err(str(e))
            return 1
        except KazooException as e:
            self._err(_text(e, words[0] if words else ""))
            return 1
        return 0

    def _execute_own(self, name: str, arguments: list[str]) -> int:
        if name == "help":
            self._usage(self._out)
        elif name == "history":
            first = max(0, len(self._history) - 1 - _SHOWN)
            for number, line in enumerate(self._history[first:], first):
                self._out(f"{number} - {line}")
        elif name == "printwatches":
            if arguments:
                self._commands.print_watches = arguments[0] == "on"
            else:
                self._out(f"printwatches is {'on' if self._commands.print_watches else 'off'}")
        elif name == "redo" and arguments:
            return self._redo(arguments[0])
        return 0

    def _redo(self, number: str) -> int:
        """A line again, which takes the place of the redo in the history."""
        if not number.isdecimal() or int(number) >= len(self._history) - 1:
            self._err("Command index out of range")
            return 1
        line = self._history[int(number)]
        if line.split()[0] == "redo":
            self._err("No redoing redos")
            return 1
        self._history[-1] = line
        return self.execute(shlex.split(line))

    @staticmethod
    def _usage(write: Callable[[str], None]) -> None:
        usages = {name: command.usage for name, command in COMMANDS.items()} | _OF_THE_SHELL
        write(_HEADING)
        for name in sorted(usages, key=str.lower):
            write(f"\t{usages[name]}")


def _text(exception: Exception, path: str) -> str:
    """What ZooKeeper's shell says of it."""
    name = type(exception).__name__
    known = {
        "NoNodeError": f"Node does not exist: {path}",
        "NodeExistsError": f"Node already exists: {path}",
        "NotEmptyError": f"Node not empty: {path}",
        "BadVersionError": f"version No is not valid : {path}",
        "NoAuthError": f"Insufficient permission : {path}",
        "InvalidACLError": f"Acl is not valid : {path}",
        "NoChildrenForEphemeralsError": f"Ephemerals cannot have children: {path}",
    }
    return known.get(name, f"KeeperErrorCode = {name.removesuffix('Error')} for {path}")


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
        text = line.strip()
        if text.split()[:1] == ["quit"]:
            break
        if text:
            status = shell.execute_line(text)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

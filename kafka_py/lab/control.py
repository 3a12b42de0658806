"""How another terminal speaks to a lab that runs: a socket in the lab's directory, one line there, some lines back.

Ours, no original. There may be several labs at once. Each has a directory of its own; the one that is meant is named,
or else it is the only one that answers. A directory whose lab was killed has a socket, too, but nobody answers there.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType

SOCKET = "lab.sock"
ENVIRONMENT_VARIABLE = "KAFKA_LAB"
_EXIT = "exit "
_SAY = "say "
_PATIENCE_S = 5.0
Tell = Callable[[str], None]


class NoLabError(Exception):
    """There is no lab to speak to, or more than one."""


def say(text: str) -> None:
    """Print at once, for people."""
    print(text, flush=True)


@contextlib.contextmanager
def _address(home: pathlib.Path) -> Iterator[str]:
    """The socket's address, which must be short, however long the directory's path is. Raises OSError."""
    directory = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{directory}/{SOCKET}"
    finally:
        os.close(directory)


class ControlServer:
    """Takes commands, one after the other, and has them carried out on the thread that calls ``serve``.

    Thread: the lab's only one
    """

    def __init__(self, home: pathlib.Path, execute: Callable[[Sequence[str], Tell], int]) -> None:
        """``execute`` is given the words of a command and whom to tell what happens; it gives the exit code."""
        self._execute = execute
        self._socket = socket.socket(socket.AF_UNIX)
        with _address(home) as address:
            self._socket.bind(address)
        self._socket.listen()

    def __enter__(self) -> ControlServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def serve(self, timeout_ms: float) -> None:
        """Carry out the next command, if one comes in time."""
        self._socket.settimeout(timeout_ms / 1000)
        try:
            connection, _ = self._socket.accept()
        except TimeoutError:
            return
        with connection:
            connection.settimeout(_PATIENCE_S)
            self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        def send(line: str) -> None:
            # Whoever asked may have gone; what was begun is finished all the same.
            with contextlib.suppress(OSError):
                connection.sendall(f"{line}\n".encode())

        def tell(text: str) -> None:
            for line in text.split("\n"):
                send(_SAY + line)

        try:
            words = _line(connection).split()
        except OSError:
            return
        if words:  # none: somebody only looked whether the lab is up
            send(f"{_EXIT}{self._execute(words, tell)}")


def _line(connection: socket.socket) -> str:
    with connection.makefile("r", encoding="utf-8") as lines:
        return lines.readline(4096)


def ask(home: pathlib.Path, words: Sequence[str], tell: Tell = say) -> int:
    """Have the lab in this directory carry out a command, tell what it says as it comes, and give the exit code.

    Raises OSError when no lab answers there, or it ends before the command has.
    """
    with connected(home) as connection, connection.makefile("rw", encoding="utf-8") as lines:
        lines.write(" ".join(words) + "\n")
        lines.flush()
        for line in lines:
            if line.startswith(_EXIT):
                return int(line.removeprefix(_EXIT))
            tell(line.removeprefix(_SAY).rstrip("\n"))
    raise ConnectionError(f"The lab in {home} ended before it had done it")


def connected(home: pathlib.Path) -> socket.socket:
    """A connection to the lab in this directory. Raises OSError when there is none."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        with _address(home) as address:
            connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection


def is_up(home: pathlib.Path) -> bool:
    """Whether a lab answers in this directory."""
    try:
        connected(home).close()
    except OSError:
        return False
    return True


def find_lab(given: str | None) -> pathlib.Path:
    """The directory of the lab that is meant: the one given, or that of $KAFKA_LAB, or of the only one that runs.

    Raises NoLabError, which says what to do.
    """
    if given:
        if is_up(pathlib.Path(given)):
            return pathlib.Path(given)
        raise NoLabError(f"No lab runs in {given}")
    named = os.environ.get(ENVIRONMENT_VARIABLE)
    if named and is_up(pathlib.Path(named)):
        return pathlib.Path(named)
    folder = pathlib.Path(tempfile.gettempdir())
    found = sorted(home for home in folder.glob("kafka_py-*") if is_up(home))
    if not found:
        raise NoLabError(f"No lab of yours runs: none answers in {folder}/kafka_py-*")
    if len(found) > 1:
        which = "".join(f"\n  --lab {home}" for home in found)
        raise NoLabError(f"{len(found)} labs run; say which one, or source its lab.env:{which}")
    return found[0]

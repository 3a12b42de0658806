"""A cluster for programs in any language: a line of JSON in, a line of JSON out.

Ours, no original. ``{"id": 1, "do": "start", "brokers": 3}`` is answered by ``{"id": 1, "ok": {…}}`` or by
``{"id": 1, "error": {"type", "message"}}``; one after the other, in their order. What can be done stands in VERBS, and
``help`` lists it. When standard input ends, what was asked for is done, then everything ends; when the process that
started this one ends, everything ends at once.

Read next: cluster_for_tests.py; faults.py, the table of the cluster's verbs
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn, TextIO

from kafka_py.common.utils.kafka_thread import KafkaThread
from kafka_py.testing.cluster import FaultError
from kafka_py.testing.cluster_for_tests import ClusterForTests
from kafka_py.testing.faults import FAULTS, Fault, fault_of
from kafka_py.utils.installation import HERE

OWN = ("help", "start", "status", "close")
ERRORS = {
    "BadLine": "The line is no JSON object, or says not what to do.",
    "UnknownVerb": "There is no such verb.",
    "Refused": "An argument is wrong or missing, or it makes no sense as things are.",
    "Timeout": "What was awaited did not come about in time.",
    "Failed": "Something else went wrong, such as a process that did not start.",
}
_LOOK_EVERY_S = 0.2
_CHUNK = 1 << 16
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class _BadLineError(Exception):
    """A line that is no request."""


class _UnknownVerbError(Exception):
    """A request for what there is not."""


class ClusterSession:
    """One program's cluster, if it has started one, and the answers to its lines.

    Thread: of its owner
    """

    def __init__(self, make: Callable[..., ClusterForTests] = ClusterForTests) -> None:
        self._make = make
        self._cluster: ClusterForTests | None = None  # thread: of its owner

    def answer(self, line: bytes) -> str:
        """Do what the line says; the line that answers it."""
        id = None
        try:
            request = _request_of(line)
            id = request.pop("id", None)
            told: dict[str, Any] = {"id": id, "ok": self._do(request)}
        except _BadLineError as e:
            told = _error(id, "BadLine", e)
        except _UnknownVerbError as e:
            told = _error(id, "UnknownVerb", e)
        except FaultError as e:
            told = _error(id, "Refused", e)
        except TimeoutError as e:
            told = _error(id, "Timeout", e)
        except Exception as e:  # noqa: BLE001 -- whatever it was, the other program is told, and the cluster lives on
            told = _error(id, "Failed", e)
        return json.dumps(told, default=str)

    def _do(self, request: dict[str, Any]) -> Any:
        name = request.pop("do", None)
        if not isinstance(name, str):
            raise _BadLineError('The line says not what to do: "do" is missing or no string')
        verb = VERBS.get(name)
        if verb is None:
            raise _UnknownVerbError(f"There is no verb {name}; there are {', '.join(VERBS)}")
        if name in OWN:
            return verb.give(self, request)
        cluster = self._running()
        with cluster.lock:
            return verb.give(cluster, request)

    def _running(self) -> ClusterForTests:
        if self._cluster is None:
            raise FaultError("No cluster runs; start one")
        return self._cluster

    # -- The verbs of its own; their first lines are their help

    def help(self) -> dict[str, Any]:
        """All verbs with their arguments, and the types of errors."""
        return {"verbs": [verb.listing() for verb in VERBS.values()], "errors": ERRORS}

    def start(
        self,
        brokers: int = 1,
        properties: Mapping[str, str] | None = None,
        log_dirs: int = 1,
        zookeeper: str = "embedded",
        port: int = 0,
    ) -> dict[str, Any]:
        """Start ZooKeeper and brokers; bootstrap, zookeeper, home, and of each broker what status tells."""
        if self._cluster is not None:
            raise FaultError("A cluster runs already; close it first")
        if brokers < 1 or log_dirs < 1:
            raise FaultError("There is no cluster without brokers, and no broker without a log directory")
        self._cluster = self._make(brokers, port=port, zookeeper=zookeeper, properties=properties, log_dirs=log_dirs)
        try:
            self._cluster.start()
        except BaseException:
            self.close()
            raise
        return self._cluster.status()

    def status(self) -> dict[str, Any]:
        """Of each broker: id, address, pid, state (running, stopped or ended), log, log_dirs and metrics."""
        return self._running().status()

    def close(self) -> None:
        """End the cluster and remove its directory; start may follow."""
        cluster, self._cluster = self._cluster, None
        if cluster is not None:
            cluster.close()


# Everything that a line may ask for: the verbs of the session itself, then those of the cluster.
VERBS: Mapping[str, Fault] = {**{name: fault_of(name, ClusterSession) for name in OWN}, **FAULTS}


def _request_of(line: bytes) -> dict[str, Any]:
    try:
        request = json.loads(line)
    except ValueError as e:
        raise _BadLineError(f"The line is no JSON: {e}") from e
    if not isinstance(request, dict):
        raise _BadLineError('The line is no JSON object such as {"id": 1, "do": "help"}')
    return request


def _error(id: Any, type: str, error: Exception) -> dict[str, Any]:
    message = str(error) or error.__class__.__name__
    return {"id": id, "error": {"type": type, "message": message}}


class LineReader:
    """Reads lines ahead, and notices meanwhile when the parent process ends.

    Thread: made and read by its owner; the thread cluster-command reads the file and looks for the parent
    """

    def __init__(self, file: int, orphaned: Callable[[], None], parent: Callable[[], int] = os.getppid) -> None:
        self._file = file
        self._orphaned = orphaned
        self._parent = parent
        self._first = parent()
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()  # handoff: cluster-command -> owner
        self._closing = False  # volatile: written by the owner
        self._thread = KafkaThread.daemon_thread("cluster-command", self._run)

    def __iter__(self) -> Iterator[bytes]:
        """The lines that are not empty, until the file ends."""
        while (line := self._lines.get()) is not None:
            if line.strip():
                yield line

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._closing = True
        self._thread.join()

    def _run(self) -> None:
        rest, files = b"", [self._file]
        while not self._closing:
            ready, _, _ = select.select(files, [], [], _LOOK_EVERY_S)
            if self._parent() != self._first:
                self._orphaned()
                return
            if ready:
                data = os.read(self._file, _CHUNK)
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._lines.put(line)
                if not data:
                    self._lines.put(rest)
                    self._lines.put(None)
                    files = []


def serve(session: ClusterSession, lines: Iterator[bytes], out: TextIO) -> None:
    """Answer each line; BrokenPipeError when nobody hears it."""
    for line in lines:
        out.write(session.answer(line) + "\n")
        out.flush()


def _end(number: int, frame: object) -> NoReturn:
    """Leave whatever the main thread does, as at Ctrl-C; what is in ``finally`` is done."""
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)


def _end_main_thread() -> None:
    main = threading.main_thread().ident
    assert main is not None
    signal.pthread_kill(main, signal.SIGTERM)


@contextlib.contextmanager
def standard_output() -> Iterator[TextIO]:
    """What was standard output; whatever else prints there now writes to standard error."""
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        yield out


def main(args: list[str]) -> int:
    """0 at the end of standard input, 1 when nobody reads the answers."""
    verbs = "".join(f"  {verb.usage}\n      {verb.help}\n" for verb in VERBS.values())
    parser = argparse.ArgumentParser(
        prog=HERE.name_of("kafka-test-cluster"),
        description="Starts and breaks a cluster as lines of JSON on standard input say, and answers each with a line.",
        epilog=f'{{"id": 1, "do": "start", "brokers": 3}}; what may be done, with its arguments:\n{verbs}',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.parse_args(args)
    session = ClusterSession()
    reader = LineReader(sys.stdin.fileno(), _end_main_thread)
    for number in _SIGNALS:
        signal.signal(number, _end)
    with standard_output() as out:
        reader.start()
        try:
            serve(session, iter(reader), out)
        finally:
            for number in _SIGNALS:
                signal.signal(number, signal.SIG_IGN)
            session.close()
            reader.close()
    return 0

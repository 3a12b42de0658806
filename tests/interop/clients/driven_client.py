"""A client of another language run through the same steps: a program in that language does what it is told.

    python -m tests.interop.clients.driven_client "PROGRAM ARGUMENT …" BOOTSTRAP [STEP …]

Each line to the program is a call, {"id", "do", "with"}; each line from it the answer to one, {"id", "is"} or
{"id", "error", "kind"} with kind "skipped", "fenced" or "", or what a listener was told, {"of", "event", "partitions"}.
Calls overlap as the callers' do.
"""

from __future__ import annotations

import itertools
import json
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from tests.interop.clients.steps import Client, Record, Skipped, TopicPartition, Transactions, main

TIMEOUT_S = 40.0


class FencedError(Exception):
    """The client said that another producer has taken the transactional id."""


class RemoteError(Exception):
    """The client failed; the text is its own."""


ERRORS: dict[str, type[Exception]] = {"skipped": Skipped, "fenced": FencedError}


class Program:
    """The other program and the thread that reads what it writes.

    Thread: callers' threads write, one thread reads.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self._ids = itertools.count(1)
        self._answers: dict[int, Future[Any]] = {}
        self._listeners: dict[int, Callable[[str, frozenset[TopicPartition]], None]] = {}
        self._write = threading.Lock()
        threading.Thread(target=self._read, name="answers", daemon=True).start()

    def call(self, do: str, **arguments: Any) -> Any:
        """What the program answers to it; Skipped, FencedError or RemoteError where it says so."""
        assert self._process.stdin is not None
        answer: Future[Any] = Future()
        with self._write:
            id = next(self._ids)
            self._answers[id] = answer
            self._process.stdin.write(json.dumps({"id": id, "do": do, "with": arguments}) + "\n")
            self._process.stdin.flush()
        return answer.result(TIMEOUT_S)

    def listen(self, of: int, listener: Callable[[str, frozenset[TopicPartition]], None]) -> None:
        self._listeners[of] = listener

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said = json.loads(line)
            if "event" in said:
                self._listeners[said["of"]](said["event"], frozenset(map(tuple, said["partitions"])))
            elif "error" in said:
                error = ERRORS.get(said["kind"], RemoteError)(said["error"])
                self._answers.pop(said["id"]).set_exception(error)
            else:
                self._answers.pop(said["id"]).set_result(said.get("is"))
        for answer in list(self._answers.values()):
            answer.set_exception(RemoteError("the program ended"))

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


_numbers = itertools.count(1)


class DrivenConsumer:
    def __init__(self, program: Program, group: str, topics: list[str], options: Mapping[str, Any]) -> None:
        self.number = next(_numbers)
        self.events: list[tuple[str, frozenset[TopicPartition]]] = []
        self._program = program
        program.listen(self.number, lambda what, partitions: self.events.append((what, partitions)))
        self._call("consumer", group=group, topics=topics, **options)

    def _call(self, do: str, **arguments: Any) -> Any:
        return self._program.call(do, of=self.number, **arguments)

    def poll(self, seconds: float) -> list[Record]:
        found = self._call("poll", ms=int(seconds * 1000))
        return [Record(topic, partition, offset, value.encode()) for topic, partition, offset, value in found]

    def assignment(self) -> set[TopicPartition]:
        return set(map(tuple, self._call("assignment")))

    def commit(self, offsets: Mapping[TopicPartition, int] | None = None) -> None:
        if offsets is None:
            self._call("commit")
        else:
            self._call("commitOffsets", offsets=flat(offsets))

    def commit_async(self, done: Callable[[object], None]) -> None:
        self._call("commitAsync")
        done(None)

    def committed(self, partition: TopicPartition) -> int | None:
        found: int | None = self._call("committed", topic=partition[0], partition=partition[1])
        return found

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self._call("seek", topic=partition[0], partition=partition[1], offset=offset)

    def pause(self, partition: TopicPartition) -> None:
        self._call("pause", topic=partition[0], partition=partition[1])

    def resume(self, partition: TopicPartition) -> None:
        self._call("resume", topic=partition[0], partition=partition[1])

    def close(self) -> None:
        self._call("closeConsumer")


def flat(offsets: Mapping[TopicPartition, int]) -> list[list[Any]]:
    return [[topic, partition, offset] for (topic, partition), offset in offsets.items()]


class DrivenTransactions:
    def __init__(self, program: Program, id: str) -> None:
        self._number = next(_numbers)
        self._program = program
        self._call("transactions", id=id)

    def _call(self, do: str, **arguments: Any) -> Any:
        return self._program.call(do, of=self._number, **arguments)

    def begin(self) -> None:
        self._call("begin")

    def send(self, topic: str, partition: int, value: bytes) -> None:
        self._call("send", topic=topic, partition=partition, value=value.decode())

    def send_offsets(self, consumer: DrivenConsumer, offsets: Mapping[TopicPartition, int]) -> None:
        self._call("sendOffsets", consumer=consumer.number, offsets=flat(offsets))

    def commit(self) -> None:
        self._call("commitTransaction")

    def abort(self) -> None:
        self._call("abortTransaction")

    def close(self) -> None:
        self._call("closeTransactions")


class DrivenClient:
    def __init__(self, command: Sequence[str], bootstrap: str) -> None:
        self._program = Program([*command, bootstrap])

    def create_topic(self, name: str, partitions: int) -> None:
        self._program.call("createTopic", topic=name, partitions=partitions)

    def produce(self, topic: str, partition: int, values: Iterable[bytes]) -> None:
        self._program.call("produce", topic=topic, partition=partition, values=[value.decode() for value in values])

    def consumer(self, group: str, topics: list[str], **options: Any) -> DrivenConsumer:
        return DrivenConsumer(self._program, group, topics, options)

    def transactions(self, transactional_id: str) -> Transactions:
        return DrivenTransactions(self._program, transactional_id)

    def is_fenced(self, error: Exception) -> bool:
        return isinstance(error, FencedError)

    def groups(self) -> set[str]:
        return set(self._program.call("groups"))

    def describe(self, group: str) -> tuple[str, int]:
        state, members = self._program.call("describe", group=group)
        return state.lower(), members

    def delete_group(self, group: str) -> None:
        self._program.call("deleteGroup", group=group)

    def alter_offset(self, group: str, partition: TopicPartition, offset: int) -> None:
        self._program.call("alterOffset", group=group, topic=partition[0], partition=partition[1], offset=offset)

    def delete_offset(self, group: str, partition: TopicPartition) -> None:
        self._program.call("deleteOffset", group=group, topic=partition[0], partition=partition[1])

    def offset_of(self, group: str, partition: TopicPartition) -> int | None:
        found: int | None = self._program.call("offsetOf", group=group, topic=partition[0], partition=partition[1])
        return found

    def close(self) -> None:
        self._program.close()


def make(bootstrap: str) -> Client:
    return DrivenClient(shlex.split(sys.argv[1]), bootstrap)


if __name__ == "__main__":
    main(make, sys.argv[2:])

"""Lab 1: to whom connections go, more network threads, why a connection is muted, and the acceptor's loop rewritten.

Ours, no original.
"""

from __future__ import annotations

import random
import re
import socket
from typing import Final

from kafka_py.labs import acceptor_cases, child, pipelining_cases
from kafka_py.labs.clients import wait_for
from kafka_py.labs.exercise import About, Bench, Exercise, Question
from kafka_py.labs.finding import Finding

WANTED: Final = 5
FILE, SCHEDULE = "lab_1.py", "schedule-1.json"
_ACCEPTOR = "data-plane-kafka-socket-acceptor-"
_THREAD = "data-plane-kafka-network-thread-"
_NUMBER = re.compile(r"networkProcessor=(\d+)")
_TEMPLATE = '''"""Lab 1: Acceptor gives a new connection to one of its processors."""


def assign(processors, index, offer):
    """Give one connection away, and return the index with which to begin next time.

    processors   a list
    index        where to begin; it grows and grows, and there may be fewer processors than last time
    offer        offer(processor, may_block) is True when that processor has taken the connection. One whose queue is
                 full does not take it, unless may_block: then the acceptor waits until it has room.
    """
    offer(processors[0], True)
    return index
'''


def _connections(bench: Bench) -> dict[int, int]:
    """How many connections each processor of the listener has."""
    found = {}
    for name, bean in bench.xray().beans("kafka.server:type=socket-server-metrics,*").items():
        number = _NUMBER.search(name)
        if number is not None and "connection-count" in bean:
            found[int(number[1])] = int(bean["connection-count"])
    return found


def _threads(bench: Bench, prefix: str) -> list[str]:
    return [str(one["name"]) for one in bench.xray().state("threads") if one["name"].startswith(prefix)]


class AcceptorAndProcessor(Exercise):
    """Connections that say nothing are dealt out to three network threads."""

    about = About(
        number=1,
        slug="acceptor-and-processor",
        title="Acceptor and processors",
        title_zh="Acceptor 与 Processor",
        kinds=("observe", "tune", "schedule", "implement"),
        minutes=45,
        pages=("start-up-network-threads", "socket-server"),
        properties={"num.network.threads": "3"},
        questions=(
            Question("acceptor", "What is the acceptor's thread called?", lambda bench: _threads(bench, _ACCEPTOR)),
            Question(
                "method",
                "With which method of Processor does the acceptor hand a connection over (Class.member)?",
                lambda bench: ("Processor.accept", "accept"),
            ),
            Question(
                "last",
                "Which processor (a number) got the last of the connections that were there at the beginning?",
                lambda bench: str(bench.notes["last"]),
            ),
        ),
    )

    def prepare(self, bench: Bench) -> None:
        """Some connections, not as many for each processor: who has one more than the next got the last."""
        bench.write_new(FILE, _TEMPLATE)
        bench.write_new(SCHEDULE, pipelining_cases.USUAL.to_json())
        idle: list[socket.socket] = []
        bench.notes.update(idle=idle, pid=bench.cluster.broker(0).process.pid)
        fewest = random.randint(4, 9)
        self._level(bench)
        while len(idle) < fewest or len(set(_connections(bench).values())) == 1:
            before = _connections(bench)
            idle.append(self._connect(bench))
            bench.notes["last"] = self._who_got_it(bench, before)

    def _level(self, bench: Bench) -> None:
        """As many connections for each processor as for the others. Connections of the start that are closed by now had
        their turns, so who has one more than the next need not have got the last; what is opened goes round, and is
        kept where some are missing."""
        while len(set(_connections(bench).values())) != 1:
            before = _connections(bench)
            new = self._connect(bench)
            if before[self._who_got_it(bench, before)] < max(before.values()):
                bench.notes["idle"].append(new)
            else:
                new.close()
                wait_for(lambda seen=before: _connections(bench) == seen, "a connection's end")  # type: ignore[misc]

    @staticmethod
    def _connect(bench: Bench) -> socket.socket:
        return socket.create_connection(("127.0.0.1", bench.cluster.broker(0).port))

    @staticmethod
    def _who_got_it(bench: Bench, before: dict[int, int]) -> int:
        wait_for(lambda: sum(_connections(bench).values()) > sum(before.values()), "a new connection")
        after = _connections(bench)
        return next(number for number in after if after[number] > before[number])

    def finish(self, bench: Bench) -> None:
        """The connections are closed."""
        for one in bench.notes.get("idle", []):
            one.close()
        super().finish(bench)

    def check_work(self, bench: Bench) -> list[Finding]:
        """Five network threads in the same process, of which the new ones have connections; schedule and function."""
        process, threads, counts = bench.cluster.broker(0).process, _threads(bench, _THREAD), _connections(bench)
        new = [counts.get(number, 0) for number in range(3, WANTED)]
        return [
            Finding(f"{WANTED} network threads", len(threads) == WANTED, f"there are {len(threads)}"),
            Finding("in the same process", process.pid == bench.notes["pid"], "the broker was started again"),
            Finding("the new ones have connections", all(new), f"processors 3 and 4 have {new[0]} and {new[1]}"),
            *child.run(pipelining_cases.__name__, bench.file(SCHEDULE)),
            *child.run(acceptor_cases.__name__, bench.file(FILE)),
        ]

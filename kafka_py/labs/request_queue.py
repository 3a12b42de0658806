"""Lab 2: one handler hangs, the others serve; more handlers while the broker runs; a request queue that is full.

Ours, no original.
"""

from __future__ import annotations

from typing import Any

from kafka_py.labs.clients import Sender, answers, create_topic, wait_for
from kafka_py.labs.exercise import About, Bench, Exercise, Question
from kafka_py.labs.finding import Finding

SLOW = "slow"
CLIENT = "sleeper"
WANTED_HANDLERS = 4
CAPACITY = 10
_HANDLER = "data-plane-kafka-request-handler-"
_FLOODED = "*name=RequestsPerSec,request=DescribeConfigs*"


def _held(bench: Bench) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = bench.xray().state("broker")["held"]
    return found


def _handlers(bench: Bench) -> list[str]:
    return [one["name"] for one in bench.xray().state("threads") if one["name"].startswith(_HANDLER)]


def _depth(bench: Bench) -> int:
    return next(int(one["depth"]) for one in bench.xray().state("queues") if one["name"] == "requestQueue")


class RequestQueue(Exercise):
    """A record to the topic ``slow`` holds the handler that appends it; everybody else has what is left."""

    about = About(
        number=2,
        slug="request-queue",
        title="The request queue and its handlers",
        title_zh="请求队列与处理线程",
        kinds=("observe", "tune", "break"),
        minutes=35,
        pages=("start-up-network-threads", "why-fast-and-available"),
        properties={"num.io.threads": "2", "num.network.threads": "1", "queued.max.requests": str(CAPACITY)},
        questions=(
            Question("held", "Which thread is held?", lambda bench: str(bench.notes["held"])),
            Question("method", "In which method (Class.member)?", lambda bench: str(bench.notes["method"])),
            Question("left", "How many handlers served everybody else then?", lambda bench: "1"),
            Question("capacity", "How many requests fit into the request queue?", lambda bench: str(CAPACITY)),
            Question(
                "blocked",
                "While the queue is full: in which method of RequestChannel does the network thread wait?",
                lambda bench: ("RequestChannel.send_request", "send_request", "RequestChannel.send_requests"),
            ),
        ),
    )

    def prepare(self, bench: Bench) -> None:
        """One record waits for its append."""
        create_topic(bench.servers, SLOW)
        bench.xray().post("hold", rules=[{"points": ["append"], "topic": SLOW}])
        sender = Sender(bench.servers, CLIENT)
        sender.send(SLOW, "I am the one that waits", 0)
        wait_for(lambda: _held(bench), "a held handler")
        (held,) = _held(bench)
        bench.notes.update(sender=sender, pid=bench.cluster.broker(0).process.pid)
        bench.notes.update(held=held["thread"], method=held["method"])

    def finish(self, bench: Bench) -> None:
        """The record is not waited for any more."""
        if "sender" in bench.notes:
            bench.notes["sender"].drop()
        super().finish(bench)

    def check_work(self, bench: Bench) -> list[Finding]:
        """Four handlers in the same process, a queue that was full and is empty, and nobody held."""
        process, handlers = bench.cluster.broker(0).process, _handlers(bench)
        serves = answers(bench.cluster.broker(0).address)
        flood = sum(bean["Count"] for bean in bench.xray().beans(_FLOODED).values())
        sender: Sender = bench.notes["sender"]
        sender.look()
        return [
            Finding("the broker answers", serves, "a Metadata request was not answered"),
            Finding(
                f"{WANTED_HANDLERS} handlers",
                len(handlers) == WANTED_HANDLERS,
                f"there are {len(handlers)}",
            ),
            Finding("in the same process", process.pid == bench.notes["pid"], "the broker was started again"),
            Finding("the request queue was full", flood > CAPACITY, "nobody has filled it yet"),
            Finding("and is empty again", _depth(bench) < CAPACITY, "it is full"),
            Finding("nobody is held", not _held(bench), "somebody is"),
            Finding("the record that waited is in the log", sender.offsets == [0], "it is not"),
        ]

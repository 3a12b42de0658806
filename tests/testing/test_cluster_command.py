"""Lines of JSON to a cluster: what they are answered, what is refused, and what ends it all."""

from __future__ import annotations

import io
import json
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_py.testing import cluster_command
from kafka_py.testing.cluster import FaultError
from kafka_py.testing.cluster_command import ERRORS, OWN, VERBS, ClusterSession, LineReader, serve
from kafka_py.testing.cluster_for_tests import ClusterForTests
from kafka_py.testing.faults import FAULTS
from kafka_py.utils.concurrent import CountDownLatch


class FakeCluster(ClusterForTests):
    """Is not started, and remembers what was done to it."""

    def __init__(self, brokers: int = 1, **options: Any) -> None:
        super().__init__(brokers, **options)
        self.options = options
        self.done: list[Any] = []
        self.fails: Exception | None = None

    def start(self) -> ClusterForTests:
        self.done.append("start")
        if self.options["zookeeper"] == "nowhere":
            raise RuntimeError("zookeeper ended with 1")
        return self

    def close(self) -> None:
        self.done.append("close")
        super().close()

    def status(self) -> dict[str, Any]:
        return {"bootstrap": "b:1"}

    def kill(self, broker: int) -> None:
        if self.fails is not None:
            raise self.fails
        self.done.append(("kill", broker))

    def await_leader(self, topic: str, partition: int, leader: int | None = None, timeout_s: float = 60) -> int:
        self.done.append(("await_leader", topic, partition, leader, timeout_s))
        return 2

    def corrupt_tail(self, broker: int, topic: str, partition: int, what: str = "torn") -> pathlib.Path:
        return pathlib.Path("/data/t-0/0.log")

    def create_topic(self, topic: str, *args: Any, **options: Any) -> str:
        self.done.append((topic, options))
        return topic


class Talk:
    """A session, and what it says."""

    def __init__(self, home: pathlib.Path) -> None:
        self.made: list[FakeCluster] = []
        self.home = home
        self.session = ClusterSession(self.make)

    def make(self, brokers: int, **options: Any) -> FakeCluster:
        self.made.append(FakeCluster(brokers, home=self.home, **options))
        return self.made[-1]

    @property
    def cluster(self) -> FakeCluster:
        return self.made[-1]

    def say(self, line: str) -> Any:
        return json.loads(self.session.answer(line.encode()))

    def do(self, verb: str, **arguments: Any) -> Any:
        """What it gives; AssertionError for an error."""
        return self.say(json.dumps({"id": 1, "do": verb, **arguments}))["ok"]

    def refusal(self, verb: str, **arguments: Any) -> tuple[str, str]:
        answer = self.say(json.dumps({"id": 1, "do": verb, **arguments}))
        assert answer["id"] == 1
        return answer["error"]["type"], answer["error"]["message"]


@pytest.fixture
def talk(tmp_path: pathlib.Path) -> Iterator[Talk]:
    made = Talk(tmp_path)
    yield made
    made.session.close()


@pytest.fixture
def started(talk: Talk) -> Talk:
    assert talk.do("start", brokers=3) == {"bootstrap": "b:1"}
    return talk


def test_a_cluster_is_started_as_the_line_says(talk: Talk) -> None:
    settings = {"log.segment.bytes": 1048576, "log.preallocate": True, "compression.type": "gzip"}
    talk.do("start", brokers=2, properties=settings, log_dirs=2)
    assert len(talk.cluster.brokers) == 2
    properties = talk.cluster.broker(1).properties
    assert [properties[name] for name in settings] == ["1048576", "true", "gzip"]
    assert properties["log.dirs"].count(",") == 1
    assert properties["offsets.topic.replication.factor"] == "2"
    assert talk.refusal("start") == ("Refused", "A cluster runs already; close it first")
    assert talk.do("status") == {"bootstrap": "b:1"}
    assert talk.do("close") is None
    assert talk.do("close") is None
    talk.do("start")
    assert [made.done for made in talk.made] == [["start", "close"], ["start"]]


@pytest.mark.parametrize("options", [{"brokers": 0}, {"log_dirs": 0}])
def test_a_cluster_has_brokers_and_they_have_directories(talk: Talk, options: dict[str, int]) -> None:
    assert talk.refusal("start", **options)[0] == "Refused"
    assert talk.made == []


def test_what_does_not_start_is_cleaned_up_and_may_be_tried_again(talk: Talk) -> None:
    assert talk.refusal("start", zookeeper="nowhere") == ("Failed", "zookeeper ended with 1")
    assert talk.cluster.done == ["start", "close"]
    talk.do("start")


def test_verbs_are_the_clusters(started: Talk) -> None:
    assert started.do("kill", broker=1) is None
    assert started.do("await_leader", topic="t", partition=0, timeout_s=5, leader=None) == 2
    assert started.do("corrupt_tail", broker=1, topic="t", partition=0) == "/data/t-0/0.log"
    started.do("create_topic", topic="u", replicas=[2, 0], config={"min.insync.replicas": 2})
    assert started.cluster.done[1:] == [
        ("kill", 1),
        ("await_leader", "t", 0, None, 5),
        ("u", {"replicas": [2, 0], "config": {"min.insync.replicas": "2"}}),
    ]


def test_ids_come_back_as_they_are(talk: Talk) -> None:
    for id in ('"a"', "[1]", "null", "7"):
        assert talk.say(f'{{"id": {id}, "do": "close"}}') == {"id": json.loads(id), "ok": None}
    assert talk.say('{"do": "close"}') == {"id": None, "ok": None}


@pytest.mark.parametrize(
    ("line", "id", "type", "why"),
    [
        ("start", None, "BadLine", "The line is no JSON: Expecting value"),
        ("\u0000\ufffd", None, "BadLine", "The line is no JSON"),
        ("[1, 2]", None, "BadLine", "no JSON object such as"),
        ('{"id": 5}', 5, "BadLine", '"do" is missing or no string'),
        ('{"id": 5, "do": 6}', 5, "BadLine", '"do" is missing or no string'),
        ('{"id": 5, "do": "explode"}', 5, "UnknownVerb", "There is no verb explode; there are help, start, status"),
        ('{"id": 5, "do": "__init__"}', 5, "UnknownVerb", "There is no verb __init__"),
        ('{"id": 5, "do": "kill", "broker": 0}', 5, "Refused", "No cluster runs; start one"),
        ('{"id": 5, "do": "status"}', 5, "Refused", "No cluster runs; start one"),
    ],
)
def test_what_is_no_request_is_told_so(talk: Talk, line: str, id: object, type: str, why: str) -> None:
    answer = talk.say(line)
    assert answer["id"] == id
    assert answer["error"]["type"] == type
    assert why in answer["error"]["message"]
    assert talk.do("help")


def test_bytes_that_are_no_text_are_told_so(talk: Talk) -> None:
    assert json.loads(talk.session.answer(b'{"do": "\xff\xfe"}'))["error"]["type"] == "BadLine"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({}, "kill wants broker; kill broker"),
        ({"broker": None}, "kill wants broker; kill broker"),
        ({"broker": 1, "hard": True}, "kill knows no hard; kill broker"),
        ({"broker": "1"}, 'broker is no int: "1"'),
        ({"broker": True}, "broker is no int: true"),
        ({"broker": 1.5}, "broker is no int: 1.5"),
    ],
)
def test_wrong_arguments_are_refused(started: Talk, arguments: dict[str, Any], why: str) -> None:
    assert started.refusal("kill", **arguments) == ("Refused", why)
    assert started.cluster.done == ["start"]


@pytest.mark.parametrize(
    ("verb", "name", "good", "bad"),
    [
        ("slow_link", "delay_ms", (1, 0.5), ("1", None, True)),
        ("cut", "one_way", (True, False), (0, "yes")),
        ("cut", "a", (0, "zookeeper"), ("0", "left", True, 1.0)),
        ("await_isr", "isr", ([], [0, 2]), ("0,2", [0, "2"], 1, {"0": 1})),
        ("create_topic", "config", ({}, {"a": "b"}), ("a=b", [], 1)),
        ("create_topic", "topic", ("", "t"), (1, ["t"])),
    ],
)
def test_the_types_of_arguments(verb: str, name: str, good: tuple[Any, ...], bad: tuple[Any, ...]) -> None:
    [argument] = [argument for argument in FAULTS[verb].signature if argument.name == name]
    assert [argument.check(value) for value in good] == list(good)
    for value in bad:
        with pytest.raises(FaultError, match=f"{name} is no {argument.type}: "):
            argument.check(value)


@pytest.mark.parametrize(
    ("error", "type", "why"),
    [
        (FaultError("Broker 1 has ended"), "Refused", "Broker 1 has ended"),
        (TimeoutError("Not within 1 s: a leader"), "Timeout", "Not within 1 s: a leader"),
        (ValueError("no records"), "Refused", "kill: no records"),
        (RuntimeError("did not start"), "Failed", "did not start"),
        (ConnectionRefusedError(111, "refused"), "Failed", "[Errno 111] refused"),
        (KeyError(), "Failed", "KeyError"),
    ],
)
def test_errors_have_a_type_and_the_session_goes_on(started: Talk, error: Exception, type: str, why: str) -> None:
    started.cluster.fails = error
    assert started.refusal("kill", broker=1) == (type, why)
    started.cluster.fails = None
    started.do("kill", broker=1)


def test_help_lists_what_there_is(talk: Talk) -> None:
    told = talk.do("help")
    assert [verb["name"] for verb in told["verbs"]] == [*OWN, *FAULTS] == list(VERBS)
    assert told["errors"] == ERRORS
    [start] = [verb for verb in told["verbs"] if verb["name"] == "start"]
    assert [(a["name"], a["type"], a["optional"]) for a in start["arguments"]] == [
        ("brokers", "int", True),
        ("properties", "settings", True),
        ("log_dirs", "int", True),
        ("zookeeper", "str", True),
        ("port", "int", True),
    ]


def test_each_line_is_answered_by_a_line(talk: Talk) -> None:
    out = io.StringIO()
    serve(talk.session, iter([b'{"id": 1, "do": "close"}', b"?"]), out)
    first, second = map(json.loads, out.getvalue().splitlines())
    assert first == {"id": 1, "ok": None}
    assert second["error"]["type"] == "BadLine"


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_command, "_LOOK_EVERY_S", 0.005)


class Pipe:
    """A reader, what it reads from, and its parent's process id."""

    def __init__(self) -> None:
        self.read, self.write = os.pipe()
        self.orphaned = CountDownLatch(1)
        self.parent = 7
        self.reader = LineReader(self.read, self.orphaned.count_down, lambda: self.parent)

    def close(self) -> None:
        self.reader.close()
        os.close(self.read)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    made.reader.start()
    yield made
    made.close()


def test_lines_are_read_as_they_come(pipe: Pipe) -> None:
    lines = iter(pipe.reader)
    for part in (b"on", b"e\n\n  \ntwo\nthr", b"ee\n", b"half"):
        os.write(pipe.write, part)
    assert [next(lines), next(lines), next(lines)] == [b"one", b"two", b"three"]
    os.close(pipe.write)
    assert list(lines) == [b"half"]
    assert pipe.orphaned.get_count() == 1


def test_the_end_of_the_parent_is_noticed_before_and_after_the_end_of_the_lines() -> None:
    for ended in (False, True):
        pipe = Pipe()
        pipe.reader.start()
        if ended:
            os.close(pipe.write)
            assert list(pipe.reader) == []
        pipe.parent = 1
        assert pipe.orphaned.await_(20_000)
        pipe.close()
        if not ended:
            os.close(pipe.write)

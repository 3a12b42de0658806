"""The lab's group: members come, read, commit and go, and each step is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from kafka_py.lab import group_story
from kafka_py.lab.group_story import GroupStory
from kafka_py.testing.mock_time import MockTime


class Message:
    """A record of a partition, or an error."""

    def __init__(self, partition: int, error: KafkaError | None = None) -> None:
        self._partition, self._error = partition, error

    def error(self) -> KafkaError | None:
        return self._error

    def partition(self) -> int:
        return self._partition


class GroupConsumer:
    """A consumer whose group assigns the partitions in turn, with the next poll of each after somebody came or went."""

    members: ClassVar[list[GroupConsumer]] = []
    records: ClassVar[list[int]] = []  # left in each partition
    failure: ClassVar[KafkaError | None] = None

    def __init__(self, settings: dict[str, Any]) -> None:
        assert settings["enable.auto.commit"] is False
        self.name = settings["client.id"]
        self._callbacks: dict[str, Callable[..., None]] = {}
        self._paused = self._stale = False
        self._mine: list[TopicPartition] = []
        self._read: dict[int, int] = {}

    def subscribe(self, topics: list[str], **callbacks: Callable[..., None]) -> None:
        assert topics == ["t"]
        self._callbacks = callbacks
        self.members.append(self)
        self._rebalance()

    def _rebalance(self) -> None:
        for member in self.members:
            member._stale = True

    def poll(self, timeout: float) -> Message | None:
        if self.failure is not None:
            return Message(-1, self.failure)
        if self._stale:
            self._stale = False
            if self._mine:
                self._callbacks["on_revoke"](self, self._mine)
            place = self.members.index(self)
            mine = [TopicPartition("t", p) for p in range(place, len(self.records), len(self.members))]
            self._callbacks["on_assign"](self, mine)
            return None
        for tp in self._mine if not self._paused else ():
            if self.records[tp.partition]:
                self.records[tp.partition] -= 1
                self._read[tp.partition] = self._read.get(tp.partition, 0) + 1
                return Message(tp.partition)
        return None

    def assign(self, partitions: list[TopicPartition]) -> None:
        self._mine, self._paused = partitions, False

    def assignment(self) -> list[TopicPartition]:
        return self._mine

    def pause(self, partitions: list[TopicPartition]) -> None:
        assert partitions == self._mine
        self._paused = True

    def resume(self, partitions: list[TopicPartition]) -> None:
        self._paused = False

    def commit(self, asynchronous: bool) -> list[TopicPartition]:
        assert not asynchronous
        return [TopicPartition("t", p, count) for p, count in self._read.items()]

    def close(self) -> None:
        self.members.remove(self)
        self._rebalance()


class Service:
    """Prints a table in place of kafka-consumer-groups."""

    def __init__(self, options: Any) -> None:
        assert options.options.value_of("group") == "lab-group"

    def describe_group(self) -> None:
        print("TABLE")

    def close(self) -> None:
        print("closed")


def asked_by(broker: object, clientId: str) -> list[dict[str, str]]:  # noqa: N803 -- as the journal's query has it
    return [{"api": api} for api in ("JOIN_GROUP", "FIND_COORDINATOR", "JoinGroup", "Metadata")]


@pytest.fixture(autouse=True)
def group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GroupConsumer, "members", [])
    monkeypatch.setattr(GroupConsumer, "records", [4, 3, 2])
    monkeypatch.setattr(GroupConsumer, "failure", None)
    monkeypatch.setattr(group_story, "Consumer", GroupConsumer)
    monkeypatch.setattr(group_story, "ConsumerGroupService", Service)
    monkeypatch.setattr(group_story, "journal", asked_by)


def story(said: list[str]) -> GroupStory:
    brokers: Any = [object(), object()]
    return GroupStory("b:1", "t", brokers, said.append, MockTime(auto_tick_ms=100))


def told(records: int, *, short: bool) -> tuple[bool, list[str]]:
    said: list[str] = []
    good = story(said).tell(records, short=short)
    assert GroupConsumer.members == [], "both have left"
    return good, [line.partition(" after ")[0] + line.partition(" s: ")[2] for line in said]


def test_the_short_form(capsys: pytest.CaptureFixture[str]) -> None:
    good, said = told(9, short=True)
    assert good
    assert said == [
        "\nGroup 'lab-group' reads topic 't':",
        "  A is aloneA has 0, 1, 2",
        "  B has joined, the group has rebalancedA has 0, 2; B has 1",
        "  A has read 6 records and commits: partition 0 at 4, partition 2 at 2",
        "  B has read 3 records and commits: partition 1 at 3",
        "  B has left, the group has rebalancedA has 0, 1, 2",
    ]
    assert capsys.readouterr().out == ""


def test_the_long_form_has_the_table_and_the_requests(capsys: pytest.CaptureFixture[str]) -> None:
    good, said = told(9, short=False)
    assert good
    assert capsys.readouterr().out == "TABLE\nclosed\n"
    assert said[-2:] == [
        "  A asked: 2 FindCoordinator, 4 JoinGroup",
        "  B asked: 2 FindCoordinator, 4 JoinGroup",
    ]


def test_a_member_without_partitions_commits_nothing() -> None:
    GroupConsumer.records[:] = [5]
    good, said = told(5, short=True)
    assert good
    assert said[2:5] == [
        "  B has joined, the group has rebalancedA has 0; B has nothing",
        "  A has read 5 records and commits: partition 0 at 5",
        "  B has read 0 records and commits: -",
    ]


def test_records_that_do_not_come_are_missed() -> None:
    assert told(10, short=True)[0] is False


def test_a_group_that_does_not_settle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GroupConsumer, "poll", lambda self, timeout: None)
    with pytest.raises(TimeoutError, match="Group lab-group: not within 60 s: A is alone"):
        story([]).tell(1, short=True)
    assert GroupConsumer.members == []


def test_what_the_brokers_refuse_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GroupConsumer, "failure", KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED))
    with pytest.raises(KafkaException):
        story([]).tell(1, short=True)

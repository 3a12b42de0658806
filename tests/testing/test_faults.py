"""The table of verbs: what words mean, what is refused and why, and what a page is told of it."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_py.testing.cluster import Cluster, FaultError
from kafka_py.testing.cluster_command import ERRORS, VERBS
from kafka_py.testing.faults import FAULTS
from kafka_py.testing.request_flood import TOPICS, request
from kafka_py.zk.kafka_zk_client import KafkaZkClient
from kafka_py.zookeeper.zoo_keeper_client import ZooKeeperClientTimeoutException


@pytest.fixture
def cluster(tmp_path: pathlib.Path) -> Iterator[Cluster]:
    """Three brokers that are never started."""
    made = Cluster(3, home=tmp_path)
    yield made
    made.close()


def do(cluster: Cluster, line: str) -> str:
    name, *words = line.split()
    return FAULTS[name].call(cluster, FAULTS[name].named(words))


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("cut 0 1", {"a": "0", "b": "1"}),
        ("cut 0 1 --one-way", {"a": "0", "b": "1", "one_way": "true"}),
        ("cut b=zookeeper 0", {"a": "0", "b": "zookeeper"}),
        ("cut 0 1 one_way=no", {"a": "0", "b": "1", "one_way": "no"}),
        ("await_isr t 0 0,2 --timeout-s=3", {"topic": "t", "partition": "0", "isr": "0,2", "timeout_s": "3"}),
        ("create_topic t config=a=1,b=x=y,z", {"topic": "t", "config": "a=1,b=x=y,z"}),
        ("heal", {}),
    ],
)
def test_words_are_arguments_in_their_order_or_by_name(line: str, named: dict[str, str]) -> None:
    name, *words = line.split()
    assert FAULTS[name].named(words) == named


def test_links_are_cut_and_healed_by_words(cluster: Cluster) -> None:
    assert do(cluster, "cut 0 1 --one-way") == "cut a=0 b=1 one_way=true: done"
    assert do(cluster, "slow_link 2 zookeeper 20.5").endswith("done")
    do(cluster, "hold_fetcher 2")
    assert cluster.links() == {
        "cut": ["0>1"],
        "slow": ["2>zookeeper 20.5 ms", "zookeeper>2 20.5 ms"],
        "held fetchers": ["2 of 0", "2 of 1"],
    }
    do(cluster, "heal 1 0")
    assert cluster.links()["cut"] == []
    assert "20.5 ms" in do(cluster, "links")
    do(cluster, "heal")
    assert cluster.links() == {"cut": [], "slow": [], "held fetchers": []}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("cut 0", "cut wants b; cut a b"),
        ("cut 0 1 yes 3", "Too many arguments: 3"),
        ("cut 0 1 --both", "cut knows no both"),
        ("cut 0 left", "b is no end: 'left'"),
        ("cut 0 1 one_way=perhaps", "one_way is no bool"),
        ("cut 0 7", "There is no broker 7; there are 0, 1, 2"),
        ("cut 1 1", "no link between 1 and itself"),
        ("create_topic t config=compact", "config is no settings: 'compact'"),
        ("restart 0 how=gently", "by terminate or kill, not by gently"),
        ("expire_session 0", "session of broker 0 is not known"),
        ("stop_zookeeper", "No ZooKeeper of this cluster runs"),
        ("fail_log_dir 0 1", "has log directories 0 to 0"),
        ("heal_log_dir 0 0", "has not failed"),
        ("drain_request_queue 0", "Nobody fills"),
    ],
)
def test_what_makes_no_sense_is_refused(cluster: Cluster, line: str, why: str) -> None:
    with pytest.raises(FaultError, match=why):
        do(cluster, line)


def test_errors_of_files_are_refusals_too(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ValueError("no records")

    monkeypatch.setattr(cluster, "corrupt_tail", fail)
    with pytest.raises(FaultError, match="corrupt_tail: no records"):
        do(cluster, "corrupt_tail 0 t 0")


def test_a_zookeeper_that_does_not_answer_is_a_refusal(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ZooKeeperClientTimeoutException("Timed out waiting for connection")

    monkeypatch.setattr(KafkaZkClient, "create", fail)
    with pytest.raises(FaultError, match="does not answer: Timed out waiting for connection"):
        do(cluster, "describe_topic t")


def test_settings_are_words_too() -> None:
    [config] = [argument for argument in FAULTS["create_topic"].signature if argument.name == "config"]
    assert config.parse("a=1,cleanup.policy=compact,delete,b=x=y") == {
        "a": "1",
        "cleanup.policy": "compact,delete",
        "b": "x=y",
    }
    assert config.parse("") == {}


def test_a_page_can_list_all_verbs() -> None:
    listing = json.loads(json.dumps([fault.listing() for fault in FAULTS.values()]))
    [cut] = [fault for fault in listing if fault["name"] == "cut"]
    assert cut["help"].startswith("Let nothing pass")
    assert cut["arguments"] == [
        {"name": "a", "type": "end", "optional": False},
        {"name": "b", "type": "end", "optional": False},
        {"name": "one_way", "type": "bool", "optional": True},
    ]
    types = {argument["type"] for fault in listing for argument in fault["arguments"]}
    assert types == {"int", "float", "str", "bool", "ids", "end", "settings"}
    assert all(fault["help"].endswith(".") for fault in listing)


def test_brokers_meet_at_doors(cluster: Cluster) -> None:
    found = cluster.broker(1).properties
    assert found["listeners"] == "PLAINTEXT://127.0.0.1:0,INTERNAL://127.0.0.1:0"
    assert found["inter.broker.listener.name"] == "INTERNAL"
    ports = {broker.properties["advertised.listeners"].rpartition(":")[2] for broker in cluster.brokers}
    assert len(ports - {"0"}) == 3


def test_one_broker_needs_no_listener_for_others(tmp_path: pathlib.Path) -> None:
    alone = Cluster(1, home=tmp_path)
    assert alone.brokers[0].properties["listeners"] == "PLAINTEXT://127.0.0.1:0"
    alone.close()


def test_a_zookeeper_that_was_there_before_cannot_be_cut_off(tmp_path: pathlib.Path) -> None:
    guest = Cluster(2, home=tmp_path, zookeeper="127.0.0.1:1")
    with pytest.raises(FaultError, match="was there before"):
        guest.cut(0, "zookeeper")
    guest.close()


def test_the_request_of_a_flood_is_whole() -> None:
    text = request()
    assert int.from_bytes(text[:4], "big") == len(text) - 4
    assert text.count(b"flood-") == TOPICS


def test_the_page_has_every_verb_as_it_is() -> None:
    page = (pathlib.Path(__file__).parents[2] / "docs" / "testing.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert rows == [f"| `{verb.usage}` | {verb.help} |" for verb in VERBS.values()]
    rows = [line for line in page.splitlines() if line.startswith(tuple(f"| {type} |" for type in ERRORS))]
    assert rows == [f"| {type} | {text} |" for type, text in ERRORS.items()]

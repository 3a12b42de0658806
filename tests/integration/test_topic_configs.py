"""What administrators change on a living broker, through librdkafka's AdminClient and through the tools."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions  # type: ignore[attr-defined]

from kafka_py.log.log_config import LogConfig
from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from tests.integration.clients import consume_confluent, create_topic, produce, topic_name, wait_for_leaders
from tests.integration.support import wait_until, wait_until_forgotten

pytestmark = [
    pytest.mark.slow,
    # The API of 1.1 replaces all settings at once; librdkafka would have users take the incremental one of 2.3.
    pytest.mark.filterwarnings("ignore:alter_configs has been deprecated"),
]

BIN = pathlib.Path(__file__).parents[2] / "bin"
TEN_KB = [(None, b"x" * 1000)] * 10


def admin_of(cluster: LocalCluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap_servers})


def describe(admin: AdminClient, kind: str, name: str) -> dict[str, Any]:
    resource = ConfigResource(kind, name)
    found: dict[str, Any] = admin.describe_configs([resource])[resource].result(20)
    return found


def alter(admin: AdminClient, kind: str, name: str, validate_only: bool = False, **settings: str) -> None:
    config = {key.replace("_", "."): value for key, value in settings.items()}
    resource = ConfigResource(kind, name, set_config=config)
    admin.alter_configs([resource], validate_only=validate_only)[resource].result(20)


def directory(broker: LocalBroker, topic: str, partition: int = 0) -> pathlib.Path:
    (found,) = [d / f"{topic}-{partition}" for d in broker.log_dirs if (d / f"{topic}-{partition}").is_dir()]
    return found


def segments(broker: LocalBroker, topic: str) -> list[str]:
    return sorted(path.name for path in directory(broker, topic).glob("*.log"))


def tool(name: str, *args: str) -> str:
    done = subprocess.run(
        [sys.executable, str(BIN / f"{name}.py"), *args], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.ported("AdminClientIntegrationTest.testDescribeAndAlterConfigs")
def test_configs_of_topics_are_described_and_replaced(cluster: LocalCluster) -> None:
    admin = admin_of(cluster)
    topic = create_topic(cluster.bootstrap_servers, topic_name("cfg"), config={"max.message.bytes": "500000"})
    found = describe(admin, "topic", topic)
    assert set(found) == set(LogConfig.config_names())
    largest, segment = found["max.message.bytes"], found["segment.bytes"]
    assert (largest.value, largest.is_default, largest.source) == ("500000", False, 1)
    # the cluster's server.properties set log.segment.bytes
    assert (segment.value, segment.source) == ("1048576", 4)
    assert set(segment.synonyms) == {"log.segment.bytes"}

    alter(admin, "topic", topic, validate_only=True, retention_ms="5")
    assert describe(admin, "topic", topic)["max.message.bytes"].value == "500000"
    alter(admin, "topic", topic, retention_ms="12345")
    found = describe(admin, "topic", topic)
    assert found["retention.ms"].value == "12345"
    assert found["max.message.bytes"].is_default, "what is not named goes back to its default"

    with pytest.raises(KafkaException, match="Not a number of type LONG") as raised:
        alter(admin, "topic", topic, retention_ms="soon")
    assert raised.value.args[0].code() == KafkaError.INVALID_REQUEST
    with pytest.raises(KafkaException, match=r"Unknown topic config name: no\.such"):
        alter(admin, "topic", topic, no_such="1")
    with pytest.raises(KafkaException, match="does not exist"):
        alter(admin, "topic", "none-such", retention_ms="1")


@pytest.mark.ported("DynamicConfigChangeTest.testConfigChange")
def test_segment_size_and_retention_take_effect_at_once(cluster: LocalCluster) -> None:
    address, (broker,) = cluster.bootstrap_servers, cluster.brokers
    admin = admin_of(cluster)
    topic = create_topic(address, topic_name("live"), config={"file.delete.delay.ms": "0"})
    produce(address, topic, TEN_KB)
    assert len(segments(broker, topic)) == 1

    alter(admin, "topic", topic, segment_bytes="4000", file_delete_delay_ms="0")

    def rolls() -> bool:
        produce(address, topic, TEN_KB, linger_ms=0, batch_num_messages=1)
        return len(segments(broker, topic)) >= 3

    wait_until(rolls, what="small segments")

    # the records are a moment old: all but the active segment go with the next check
    alter(admin, "topic", topic, segment_bytes="4000", retention_ms="1", file_delete_delay_ms="0")
    first = segments(broker, topic)[0]
    # a broker's first check comes half a minute after its start
    wait_until(lambda: first not in segments(broker, topic), 45, what="retention")
    consumer = Consumer({"bootstrap.servers": address, "group.id": "unused", "enable.auto.commit": False})

    def first_offset() -> int:
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)
        assert low <= high
        return int(low)

    # the log start offset follows when the last of the files has been renamed
    wait_until(lambda: first_offset() > 0, what="the log start offset")
    consumer.close()


def test_the_largest_message_grows_and_shrinks(cluster: LocalCluster) -> None:
    address, admin = cluster.bootstrap_servers, admin_of(cluster)
    topic = create_topic(address, topic_name("max"), config={"max.message.bytes": "5000"})
    large = [(None, b"x" * 20_000)]
    with pytest.raises(KafkaException, match="MSG_SIZE_TOO_LARGE"):
        produce(address, topic, large)
    alter(admin, "topic", topic, max_message_bytes="50000")

    def accepted() -> bool:
        try:
            produce(address, topic, large)
        except KafkaException:
            return False
        return True

    wait_until(accepted, what="the larger limit")


def test_brokers_are_described_and_altered(cluster: LocalCluster) -> None:
    admin = admin_of(cluster)
    found = describe(admin, "broker", "0")
    assert found["broker.id"].is_read_only
    assert found["log.cleaner.threads"].value == "1"
    assert not found["log.cleaner.threads"].is_read_only
    try:
        alter(admin, "broker", "0", log_cleaner_backoff_ms="14000")
        wait_until(lambda: describe(admin, "broker", "0")["log.cleaner.backoff.ms"].value == "14000")
        assert describe(admin, "broker", "0")["log.cleaner.backoff.ms"].source == 2
        with pytest.raises(KafkaException, match="Cannot update these configs dynamically"):
            alter(admin, "broker", "0", broker_id="7")
    finally:
        alter(admin, "broker", "0")
    wait_until(lambda: describe(admin, "broker", "0")["log.cleaner.backoff.ms"].is_default)


@pytest.mark.ported("AdminClientIntegrationTest.testCreatePartitions")
def test_a_topic_grows(cluster: LocalCluster) -> None:
    address, admin = cluster.bootstrap_servers, admin_of(cluster)
    topic = create_topic(address, topic_name("grow"))
    produce(address, topic, [(None, b"before")])

    def grow(count: int, assignment: list[list[int]] | None = None, validate_only: bool = False) -> None:
        new = NewPartitions(topic, count, replica_assignment=assignment) if assignment else NewPartitions(topic, count)
        admin.create_partitions([new], operation_timeout=15, validate_only=validate_only)[topic].result(20)

    grow(3, validate_only=True)
    assert set(admin.list_topics(topic, timeout=10).topics[topic].partitions) == {0}
    grow(3)
    grow(4, [[0]])
    assert set(admin.list_topics(topic, timeout=10).topics[topic].partitions) == {0, 1, 2, 3}
    acked = produce(address, topic, [(b"%d" % i, b"after") for i in range(100)])
    assert len(acked) > 1
    assert len(consume_confluent(address, topic, 4, 101)) == 101
    for count, code in ((4, KafkaError.INVALID_PARTITIONS), (1, KafkaError.INVALID_PARTITIONS)):
        with pytest.raises(KafkaException) as raised:
            grow(count)
        assert raised.value.args[0].code() == code
    with pytest.raises(KafkaException, match="Unknown broker"):
        grow(5, [[9]])


@pytest.mark.ported("AdminClientIntegrationTest.testSeekAfterDeleteRecords")
@pytest.mark.ported("AdminClientIntegrationTest.testLogStartOffsetAfterDeleteRecords")
def test_deleted_records_are_out_of_range(cluster: LocalCluster) -> None:
    address, admin = cluster.bootstrap_servers, admin_of(cluster)
    topic = create_topic(address, topic_name("del"))
    produce(address, topic, [(None, b"%d" % i) for i in range(100)])

    def delete(offset: int) -> int:
        partition = TopicPartition(topic, 0, offset)
        low: int = admin.delete_records([partition])[partition].result(20).low_watermark
        return low

    assert delete(40) == 40
    assert delete(20) == 40, "the start never moves back"
    consumer = Consumer(
        {"bootstrap.servers": address, "group.id": "unused", "auto.offset.reset": "error", "enable.auto.commit": False}
    )
    try:
        assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10) == (40, 100)
        consumer.assign([TopicPartition(topic, 0, 39)])
        message = consumer.poll(20)
        assert message is not None
        error = message.error()
        assert error is not None
        assert "out of range" in error.str()
        consumer.assign([TopicPartition(topic, 0, 40)])
        message = consumer.poll(20)
        assert message is not None
        assert (message.offset(), message.value()) == (40, b"40")
    finally:
        consumer.close()
    with pytest.raises(KafkaException) as raised:
        delete(101)
    assert raised.value.args[0].code() == KafkaError.OFFSET_OUT_OF_RANGE
    assert delete(-1) == 100
    produce(address, topic, [(None, b"next")])
    compacted = create_topic(address, topic_name("del"), config={"cleanup.policy": "compact"})
    partition = TopicPartition(compacted, 0, 0)
    with pytest.raises(KafkaException) as raised:
        admin.delete_records([partition])[partition].result(20)
    assert raised.value.args[0].code() == KafkaError.POLICY_VIOLATION


def test_the_tools(cluster: LocalCluster, tmp_path: pathlib.Path) -> None:
    address, (broker,) = cluster.bootstrap_servers, cluster.brokers
    topic = create_topic(address, topic_name("tools"))
    produce(address, topic, TEN_KB)

    found = json.loads(
        tool("kafka-log-dirs", "--bootstrap-server", address, "--describe", "--topic-list", topic).splitlines()[2]
    )
    ((replica),) = [p for d in found["brokers"][0]["logDirs"] for p in d["partitions"]]
    size = sum(path.stat().st_size for path in directory(broker, topic).glob("*.log"))
    assert replica == {"partition": f"{topic}-0", "size": size, "offsetLag": 0, "isFuture": False}
    assert {d["logDir"] for d in found["brokers"][0]["logDirs"]} == {str(d) for d in broker.log_dirs}

    offsets = tmp_path / "offsets.json"
    offsets.write_text(json.dumps({"partitions": [{"topic": topic, "partition": 0, "offset": 4}], "version": 1}))
    out = tool("kafka-delete-records", "--bootstrap-server", address, "--offset-json-file", str(offsets))
    assert out.splitlines()[2] == f"partition: {topic}-0\tlow_watermark: 4"

    entity = ("--zookeeper", cluster.zookeeper_connect, "--entity-type", "topics", "--entity-name", topic)
    out = tool("kafka-configs", *entity, "--alter", "--add-config", "retention.ms=777,segment.bytes=5000")
    assert out == f"Completed Updating config for entity: topic '{topic}'.\n"
    out = tool("kafka-configs", *entity, "--describe")
    prefix = f"Configs for topic '{topic}' are "
    assert out.startswith(prefix)
    assert set(out.removeprefix(prefix).strip().split(",")) == {"retention.ms=777", "segment.bytes=5000"}
    brokers = ("--bootstrap-server", address, "--entity-type", "brokers", "--entity-default")
    try:
        tool("kafka-configs", *brokers, "--alter", "--add-config", "log.cleaner.backoff.ms=13000")
        out = tool("kafka-configs", *brokers, "--describe")
        assert "  log.cleaner.backoff.ms=13000 sensitive=false" in out
    finally:
        tool("kafka-configs", *brokers, "--alter", "--delete-config", "log.cleaner.backoff.ms")


def test_a_change_that_was_missed_holds_after_the_restart(own_cluster: LocalCluster) -> None:
    own_cluster.start()
    (broker,) = own_cluster.brokers
    topic = create_topic(own_cluster.bootstrap_servers, topic_name("missed"))
    produce(own_cluster.bootstrap_servers, topic, TEN_KB, batch_num_messages=1)
    broker.process.stop()
    wait_until_forgotten(own_cluster, broker)
    entity = ("--zookeeper", own_cluster.zookeeper_connect, "--entity-type", "topics", "--entity-name", topic)
    tool("kafka-configs", *entity, "--alter", "--add-config", "segment.bytes=3000")
    broker.start()
    # a client that asks before the broker has heard of its controller would wait for its next refresh
    wait_for_leaders(own_cluster.bootstrap_servers, topic, 1)
    admin = admin_of(own_cluster)
    assert describe(admin, "topic", topic)["segment.bytes"].value == "3000"
    produce(own_cluster.bootstrap_servers, topic, TEN_KB, batch_num_messages=1)
    assert len(segments(broker, topic)) > 3

"""What two brokers keep of a partition when they stop, start, lose a directory or elect who was not in sync."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator, Mapping, Sequence

import pytest
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.cluster.broker import Broker
from kafka_py.cluster.broker_end_point import BrokerEndPoint
from kafka_py.common.metrics.metrics import Metrics
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.requests.abstract_response import AbstractResponse
from kafka_py.common.requests.epoch_end_offset import EpochEndOffset
from kafka_py.common.requests.leader_and_isr_request import LeaderAndIsrRequest
from kafka_py.common.requests.leader_and_isr_response import LeaderAndIsrResponse
from kafka_py.common.requests.offsets_for_leader_epoch_request import OffsetsForLeaderEpochRequest
from kafka_py.common.requests.offsets_for_leader_epoch_response import OffsetsForLeaderEpochResponse
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.controller.controller_channel_manager import ControllerChannelManager
from kafka_py.controller.controller_context import ControllerContext
from kafka_py.controller.state_change_logger import StateChangeLogger
from kafka_py.server.kafka_config import KafkaConfig
from kafka_py.server.replica_fetcher_blocking_send import ReplicaFetcherBlockingSend
from kafka_py.testing.cluster import Cluster
from kafka_py.testing.local_cluster import LocalBroker
from kafka_py.utils.concurrent import CountDownLatch
from tests.integration.clients import consume_confluent, topic_name
from tests.integration.support import children, wait_until, zookeeper
from tests.integration.wire import LIST_OFFSETS, Connection, list_offsets, values_of

pytestmark = pytest.mark.slow

PROPERTIES = {
    "zookeeper.session.timeout.ms": "2000",
    "replica.lag.time.max.ms": "2000",
    "auto.leader.rebalance.enable": "false",
    "log.cleaner.backoff.ms": "100",
    # the last one alive asks in vain who takes over
    "controlled.shutdown.max.retries": "1",
    "controlled.shutdown.retry.backoff.ms": "100",
}
UNCLEAN = "unclean.leader.election.enable"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Each test leaves both alive."""
    with Cluster(2, home=tmp_path_factory.mktemp("replication"), properties=PROPERTIES) as started:
        yield started


def create(cluster: Cluster, assignment: Sequence[list[int]], **config: str) -> str:
    """A topic whose partitions all have a leader and all their replicas in sync; its name."""
    name = topic_name("replicated")
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    topic = NewTopic(name, len(assignment), replica_assignment=list(assignment), config=config)
    for future in admin.create_topics([topic]).values():
        future.result(30)
    for partition, replicas in enumerate(assignment):
        cluster.await_leader(name, partition, replicas[0])
        cluster.await_isr(name, partition, replicas)
    return name


def producer_of(cluster: Cluster, **config: object) -> Producer:
    given = {name.replace("_", "."): value for name, value in config.items()}
    return Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all", "linger.ms": 0, **given})


def send_with(producer: Producer, topic: str, values: Sequence[bytes], partition: int = 0) -> None:
    """Each in a batch of its own; KafkaException with the error of the first that is not acknowledged."""
    errors: list[KafkaError] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            errors.append(error)

    for value in values:
        producer.produce(topic, value, value, partition=partition, on_delivery=delivered)
        assert producer.flush(60) == 0
        if errors:
            raise KafkaException(errors[0])


def send(cluster: Cluster, topic: str, values: Sequence[bytes], partition: int = 0, **config: object) -> None:
    """By a producer that knows nothing yet."""
    send_with(producer_of(cluster, **config), topic, values, partition)


def values(cluster: Cluster, topic: str, leader: int) -> list[bytes | None]:
    """All there is in the topic's only partition."""
    with Connection(cluster.broker(leader)) as connection:
        end = next(values_of(connection.call(LIST_OFFSETS, 1, list_offsets(topic.encode())), "offset"))
    return [row.value for row in consume_confluent(cluster.bootstrap_servers, topic, 1, end)]


# -- Elections ------------------------------------------------------------------------------------------------------


def unclean_elections(broker: LocalBroker) -> int:
    """How many the broker has held as controller."""
    url = f"http://127.0.0.1:{broker.metrics_port}/jmx?qry=*name=UncleanLeaderElectionsPerSec*"
    with urllib.request.urlopen(url, timeout=20) as answer:
        [bean] = json.load(answer)["beans"]
    count: int = bean["Count"]
    return count


def start_with_default(cluster: Cluster, broker: int, default: str) -> None:
    """Start a broker for which this is the default of the topics."""
    properties = cluster.broker(broker).properties
    properties[UNCLEAN] = default
    try:
        cluster.start_broker(broker)
    finally:
        del properties[UNCLEAN]


@pytest.mark.ported(
    "UncleanLeaderElectionTest.testUncleanLeaderElectionEnabled",
    "UncleanLeaderElectionTest.testUncleanLeaderElectionDisabled",
    "UncleanLeaderElectionTest.testUncleanLeaderElectionEnabledByTopicOverride",
    "UncleanLeaderElectionTest.testCleanLeaderElectionDisabledByTopicOverride",
    changes="all at once; the follower starts with one default and then with the other",
)
def test_who_lacks_records_leads_where_that_is_allowed(cluster: Cluster) -> None:
    plain = create(cluster, [[0, 1]])
    allowed, forbidden = (create(cluster, [[0, 1]], **{UNCLEAN: value}) for value in ("true", "false"))
    topics = (plain, allowed, forbidden)
    for topic in topics:
        send(cluster, topic, [b"first"])
    cluster.terminate(1)
    for topic in topics:
        send(cluster, topic, [b"second"])
        assert values(cluster, topic, 0) == [b"first", b"second"]
    cluster.terminate(0)

    for default, led, not_led in (("false", allowed, (plain, forbidden)), ("true", plain, (forbidden,))):
        start_with_default(cluster, 1, default)
        cluster.await_leader(led, 0, 1)
        send(cluster, led, [b"third"])
        assert values(cluster, led, 1) == [b"first", b"third"], "what only the other one had is lost"
        assert unclean_elections(cluster.broker(1)) == 1
        for topic in not_led:
            with pytest.raises(KafkaException):
                send(cluster, topic, [b"third"], message_timeout_ms=500)
        if default == "false":
            cluster.terminate(1)

    cluster.start_broker(0)
    cluster.await_leader(forbidden, 0, 0)
    send(cluster, forbidden, [b"third"])
    cluster.await_isr(forbidden, 0, [0, 1])
    cluster.terminate(0)
    cluster.await_leader(forbidden, 0, 1)
    assert values(cluster, forbidden, 1) == [b"first", b"second", b"third"]
    cluster.start_broker(0)


@pytest.mark.ported("LeaderElectionTest.testLeaderElectionWithStaleControllerEpoch")
def test_a_broker_does_not_obey_a_controller_of_the_past(cluster: Cluster) -> None:
    topic = create(cluster, [[0, 1]])
    listener, protocol = ListenerName("PLAINTEXT"), SecurityProtocol.PLAINTEXT
    brokers = [Broker.create(b.id, "127.0.0.1", b.port, listener, protocol) for b in cluster.brokers]
    context = ControllerContext()
    context.set_live_broker_and_epochs(dict.fromkeys(brokers, 0))
    metrics, impostor = Metrics(), 2
    manager = ControllerChannelManager(
        context, config_of(impostor), Time.SYSTEM, metrics, StateChangeLogger(impostor, in_controller_context=True)
    )
    answers: list[AbstractResponse] = []
    answered = CountDownLatch(1)

    def callback(response: AbstractResponse) -> None:
        answers.append(response)
        answered.count_down()

    state = LeaderAndIsrRequest.PartitionState(2, 1, LeaderAndIsr.INITIAL_LEADER_EPOCH, [0, 1], 0, [0, 1], False)
    request = LeaderAndIsrRequest.Builder(
        ApiKeys.LEADER_AND_ISR.latest_version(), impostor, 0, {TopicPartition(topic, 0): state},
        {broker.node(listener) for broker in brokers},
    )  # fmt: skip
    manager.startup()
    try:
        manager.send_request(1, ApiKeys.LEADER_AND_ISR, request, callback)
        assert answered.await_(20_000)
    finally:
        manager.shutdown()
        metrics.close()
    [answer] = answers
    assert isinstance(answer, LeaderAndIsrResponse)
    assert answer.error() is Errors.STALE_CONTROLLER_EPOCH
    send(cluster, topic, [b"to the leader that there was"])
    assert cluster.await_leader(topic, 0) == 0


def config_of(id: int) -> KafkaConfig:
    """Of a broker that is not there."""
    return KafkaConfig.from_props({"zookeeper.connect": "z", "broker.id": str(id)}, do_log=False)


# -- Leader epochs --------------------------------------------------------------------------------------------------


def end_offsets(broker: LocalBroker, epochs: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, EpochEndOffset]:
    """What a follower would be told about the ends of these epochs."""
    metrics = Metrics()
    end_point = BrokerEndPoint(broker.id, "127.0.0.1", broker.port)
    sender = ReplicaFetcherBlockingSend(end_point, config_of(2), metrics, Time.SYSTEM, 42, "TestFetcher", "")
    try:
        response = sender.send_request(OffsetsForLeaderEpochRequest.Builder(dict(epochs))).response_body()
        assert isinstance(response, OffsetsForLeaderEpochResponse)
        return response.responses()
    finally:
        sender.close()
        metrics.close()


def not_the_controller(cluster: Cluster) -> int:
    return 1 - cluster.await_controller()


@pytest.mark.ported("LeaderEpochIntegrationTest.shouldSendLeaderEpochRequestAndGetAResponse")
def test_only_the_leader_tells_where_an_epoch_ends(cluster: Cluster) -> None:
    two, one = create(cluster, [[0], [1]]), create(cluster, [[0]])
    for topic, partition, count in ((two, 0, 10), (two, 1, 20), (one, 0, 30)):
        send(cluster, topic, [b"%d" % n for n in range(count)], partition)
    two_0, two_1, one_0, one_2 = (TopicPartition(t, p) for t, p in ((two, 0), (two, 1), (one, 0), (one, 2)))
    asked = dict.fromkeys((two_0, two_1, one_0, one_2), 0)
    told = end_offsets(cluster.broker(0), asked)
    assert {tp: (told[tp].error(), told[tp].end_offset()) for tp in asked} == {
        two_0: (Errors.NONE, 10),
        two_1: (Errors.UNKNOWN_TOPIC_OR_PARTITION, EpochEndOffset.UNDEFINED_EPOCH_OFFSET),
        one_0: (Errors.NONE, 30),
        one_2: (Errors.UNKNOWN_TOPIC_OR_PARTITION, EpochEndOffset.UNDEFINED_EPOCH_OFFSET),
    }
    assert end_offsets(cluster.broker(1), asked)[two_1].end_offset() == 20


@pytest.mark.ported("LeaderEpochIntegrationTest.shouldIncreaseLeaderEpochBetweenLeaderRestarts")
def test_a_leader_remembers_its_epochs_from_before_its_restarts(cluster: Cluster) -> None:
    leader = not_the_controller(cluster)
    tp = TopicPartition(create(cluster, [[leader]]), 0)

    def ends(*epochs: int) -> list[int]:
        return [end_offsets(cluster.broker(leader), {tp: epoch})[tp].end_offset() for epoch in epochs]

    def send_one() -> None:
        cluster.await_leader(tp.topic, 0, leader)
        send(cluster, tp.topic, [b"one more"])

    send_one()
    assert ends(0) == [1]
    cluster.restart(leader)
    send_one()
    assert ends(0, 2) == [1, 2], "epoch 1 was the one without a leader"
    cluster.restart(leader)
    send_one()
    assert ends(0, 2, 4) == [1, 2, 3]
    assert ends(1, 3, 5) == [1, 2, EpochEndOffset.UNDEFINED_EPOCH_OFFSET]


def epochs_on_disk(broker: LocalBroker, topic: str) -> list[int]:
    """The leader epoch of each batch."""
    [log] = broker.log_dirs[0].glob(f"{topic}-0/*.log")
    return [batch.partition_leader_epoch() for batch in MemoryRecords.readable_records(log.read_bytes()).batches()]


@pytest.mark.ported("LeaderEpochIntegrationTest.shouldAddCurrentLeaderEpochToMessagesAsTheyAreWrittenToLeader")
def test_batches_bear_the_epoch_of_the_leader_that_wrote_them(cluster: Cluster) -> None:
    leader = not_the_controller(cluster)
    topics = [create(cluster, [[leader, 1 - leader]]) for _ in range(2)]
    for topic in topics:
        send(cluster, topic, [b"1", b"2", b"3", b"4"])
    cluster.restart(leader)
    for topic in topics:
        cluster.await_leader(topic, 0, 1 - leader)
        cluster.await_isr(topic, 0, [0, 1])
        send(cluster, topic, [b"5", b"6", b"7", b"8"])
        for broker in cluster.brokers:
            # with the ISR's growth comes no new epoch
            assert epochs_on_disk(broker, topic) == [0] * 4 + [1] * 4


# -- Deletion -------------------------------------------------------------------------------------------------------


@pytest.mark.ported("DeleteTopicTest.testDeleteTopicWithCleaner", changes="on both replicas")
def test_a_topic_that_the_cleaner_has_seen_is_deleted_with_its_checkpoints(cluster: Cluster) -> None:
    topic = create(
        cluster, [[0, 1]], **{"cleanup.policy": "compact", "segment.bytes": "1000", "min.cleanable.dirty.ratio": "0.01"}
    )
    send(cluster, topic, [b"%d" % (n % 10) for n in range(60)])
    log_dirs = [broker.log_dirs[0] for broker in cluster.brokers]
    cleaned = [log_dir / "cleaner-offset-checkpoint" for log_dir in log_dirs]
    wait_until(lambda: all(topic in path.read_text() for path in cleaned), what="cleaning")
    assert all((log_dir / f"{topic}-0").is_dir() for log_dir in log_dirs)

    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.delete_topics([topic], operation_timeout=20)[topic].result(20)
    with zookeeper(cluster.zookeeper_connect) as client:
        wait_until(lambda: topic not in children(client, "/admin/delete_topics"), what="the end of the deletion")
        assert topic not in children(client, "/brokers/topics")
    assert not any((log_dir / f"{topic}-0").exists() for log_dir in log_dirs), "what is left has another name"
    of_the_logs = ("cleaner", "recovery-point", "log-start")
    files = [log_dir / f"{name}-offset-checkpoint" for log_dir in log_dirs for name in of_the_logs]
    assert [file for file in files if topic in file.read_text()] == []


# -- A directory that fails -----------------------------------------------------------------------------------------

ROLLING, CHECKPOINTING = 0, 1


@pytest.fixture(scope="module")
def three_disks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Broker 0 never writes its high watermarks by itself, broker 1 does it all the time. Nothing else is written."""
    home = tmp_path_factory.mktemp("three-disks")
    made = Cluster(2, home=home, properties={**PROPERTIES, "log.cleaner.enable": "false"}, log_dirs=3)
    for broker, interval in zip(made.brokers, ("3600000", "100"), strict=True):
        broker.properties["replica.high.watermark.checkpoint.interval.ms"] = interval
    with made:
        yield made


@pytest.mark.ported(
    "LogDirFailureTest.testIOExceptionDuringLogRoll",
    "LogDirFailureTest.testIOExceptionDuringCheckpoint",
    changes="the controller's view is seen in the ISR",
)
@pytest.mark.parametrize(
    ("leader", "noticed"),
    [
        (ROLLING, "Error while rolling log segment"),
        (CHECKPOINTING, "Error while .* checkpoint file .*replication-offset-checkpoint"),
    ],
    ids=["roll", "checkpoint"],
)
def test_another_leads_when_the_leaders_directory_fails(three_disks: Cluster, leader: int, noticed: str) -> None:
    cluster, other = three_disks, 1 - leader
    process = cluster.broker(leader).process
    # without an index entry, whose file is not open yet, the next segment is the first file that is missed
    topic = create(cluster, [[leader, other]], **{"segment.bytes": "20000", "index.interval.bytes": "1000000"})
    producer = producer_of(cluster, message_send_max_retries=0)
    send_with(producer, topic, [b"first"])
    said = len(process.text())
    [log_dir] = (d for d in cluster.broker(leader).log_dirs if (d / f"{topic}-0").is_dir())
    log_dir.rename(log_dir.with_suffix(".away"))
    log_dir.touch()
    offline = re.compile(f"Stopping serving replicas in dir {log_dir}")
    if leader == CHECKPOINTING:
        process.wait_for(offline, said)

    with pytest.raises(KafkaException) as raised:
        send_with(producer, topic, [bytes(1000)] * 40)
    error = raised.value.args[0].code()
    assert error in (KafkaError.KAFKA_STORAGE_ERROR, KafkaError.NOT_LEADER_FOR_PARTITION)
    process.wait_for(offline, said)
    assert re.search(noticed, process.text()[said:])

    cluster.await_leader(topic, 0, other)
    cluster.await_isr(topic, 0, [other])
    send(cluster, topic, [b"last"])
    read = values(cluster, topic, other)
    assert (read[0], read[-1]) == (b"first", b"last")
    with zookeeper(cluster.zookeeper_connect) as client:
        wait_until(lambda: children(client, "/log_dir_event_notification") == [], what="the controller having heard")

"""A client asks for a topic that is not there: its replicas are spread over the racks that ZooKeeper knows of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from kafka_py.admin.rack_aware_mode import RackAwareMode
from kafka_py.cluster.broker import Broker
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.metadata_request import MetadataRequest
from kafka_py.zk.admin_zk_client import AdminZkClient
from kafka_py.zk.kafka_zk_client import KafkaZkClient
from kafka_py.zk.zk_data import BrokerInfo
from tests.controller.fakes import broker
from tests.controller.test_kafka_controller import zk
from tests.embedded.servers import embedded_server
from tests.server.kafka_apis_support import Apis

__all__ = ["embedded_server", "zk"]
RACKS = {0: "0", 1: "0", 2: "1", 3: "1"}
PARTITIONS, REPLICATION_FACTOR = 8, 2


@pytest.fixture
def apis() -> Iterator[Apis]:
    made = Apis(num__partitions=PARTITIONS, default__replication__factor=REPLICATION_FACTOR)
    yield made
    made.close()


@pytest.mark.ported("RackAwareAutoTopicCreationTest.testAutoCreateTopic", changes="Metadata alone, without a Produce")
def test_each_partition_is_in_both_racks(apis: Apis, zk: KafkaZkClient, monkeypatch: pytest.MonkeyPatch) -> None:
    admin = AdminZkClient(zk)
    for id, rack in RACKS.items():
        zk.register_broker_in_zk(BrokerInfo(Broker(id, broker(id).end_points, rack), 4, -1))
    assert {b.id: b.rack for b in admin.get_broker_metadatas(RackAwareMode.Enforced)} == RACKS
    monkeypatch.setattr(apis.apis.metadata, "_admin_zk_client", admin)
    apis.update_metadata()
    [answer] = apis.handle(
        MetadataRequest(version=4, topics=["topic"], allow_auto_topic_creation=True)
    ).topic_metadata()
    assert answer.error is Errors.LEADER_NOT_AVAILABLE
    assigned = list(zk.get_replica_assignment_for_topics(["topic"]).values())
    assert len(assigned) == PARTITIONS
    assert all({RACKS[id] for id in replicas} == {"0", "1"} for replicas in assigned)
    assert Counter(replicas[0] for replicas in assigned) == dict.fromkeys(RACKS, PARTITIONS // len(RACKS))
    each = PARTITIONS * REPLICATION_FACTOR // len(RACKS)
    assert Counter(id for replicas in assigned for id in replicas) == dict.fromkeys(RACKS, each)

"""Brokers of both kinds in one cluster: either one leads, follows, controls, dies and comes back."""

from __future__ import annotations

import itertools
import json
import pathlib
import re
import struct
from collections.abc import Iterator, Sequence
from typing import ClassVar

import pytest

from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from tests.integration.support import wait_until
from tests.interop.apache_kafka import ApacheKafka
from tests.interop.mixed_cluster import APACHE, OURS, PATIENCE_S, MixedCluster, Writer, merged, write
from tests.interop.raw import RawConnection, produce

pytestmark = pytest.mark.slow

ALL = [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
NOT_ENOUGH_REPLICAS, NOT_ENOUGH_REPLICAS_AFTER_APPEND = 19, 20
LAYOUTS = {
    "ours-apache-ours": ((OURS, APACHE, OURS), "embedded"),
    "apache-ours-apache": ((APACHE, OURS, APACHE), "real"),
}


@pytest.fixture(scope="class", params=LAYOUTS)
def cluster(
    request: pytest.FixtureRequest, apache: ApacheKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MixedCluster]:
    kinds, zookeeper = LAYOUTS[request.param]
    with MixedCluster(apache, tmp_path_factory.mktemp("mixed"), kinds, zookeeper=zookeeper) as made:
        yield made


@pytest.mark.zookeeper
class TestThreeBrokers:
    """The steps of one cluster's life, in this order; each leaves all brokers up."""

    CODECS: ClassVar[tuple[str, ...]] = ("none", "gzip", "snappy", "lz4")

    def test_every_codec_is_replicated_byte_for_byte(self, cluster: MixedCluster) -> None:
        assert cluster.controller() == 0
        for codec in self.CODECS:
            cluster.create(f"codec-{codec}", ALL)
            acked = write(cluster, f"codec-{codec}", compression_type=codec)
            cluster.check(f"codec-{codec}", acked)
            cluster.wait_until_equal(f"codec-{codec}")

    def test_kill_each_broker_in_turn(self, cluster: MixedCluster) -> None:
        cluster.create("kills", ALL, min_insync_replicas="2")
        with Writer(cluster, "kills") as writer:
            for id in (0, 1, 2):
                cluster.kill(id)
                cluster.wait_for_isr("kills", id)
                writer.wait_for_more()
                cluster.start(id)
                cluster.wait_for_isr("kills")
                writer.wait_for_more()
        cluster.check("kills", writer.acked)
        cluster.wait_until_equal("kills")

    def test_stop_each_broker_in_turn(self, cluster: MixedCluster) -> None:
        """A controlled shutdown hands leadership over before the broker is gone."""
        cluster.create("stops", ALL, min_insync_replicas="2")
        with Writer(cluster, "stops") as writer:
            for id in (0, 1, 2):
                cluster.stop(id)
                cluster.wait_for_isr("stops", id)
                writer.wait_for_more()
                cluster.start(id)
                cluster.wait_for_isr("stops")
        cluster.check("stops", writer.acked)
        cluster.wait_until_equal("stops")

    def test_preferred_replicas_are_elected(self, cluster: MixedCluster, tmp_path: pathlib.Path) -> None:
        assert any(cluster.leader("stops", p) != r[0] for p, r in cluster.replicas("stops").items())
        chosen = tmp_path / "election.json"
        chosen.write_text(json.dumps({"partitions": [{"topic": "stops", "partition": p} for p in range(3)]}))
        main = "kafka.admin.PreferredReplicaLeaderElectionCommand"
        cluster.apache.output_of(main, "--zookeeper", cluster.zookeeper, "--path-to-json-file", str(chosen))
        for partition, replicas in cluster.replicas("stops").items():
            wait_until(
                lambda p=partition, first=replicas[0]: cluster.leader("stops", p) == first,  # type: ignore[misc]
                PATIENCE_S,
                f"the preferred leader of stops-{partition}",
            )
        cluster.check("stops", write(cluster, "stops"), once=False)

    def test_too_small_an_isr_refuses_acks_all(self, cluster: MixedCluster) -> None:
        """Broker 1, of the rarer kind, is left alone as the leader."""
        cluster.create("alone", [[1, 0, 2]], min_insync_replicas="2")
        acked = write(cluster, "alone")
        cluster.kill(0)
        cluster.kill(2)
        cluster.wait_for_isr("alone", 0, 2)
        records = MemoryRecords.with_records(SimpleRecord(1, value=b"refused"))
        request = produce(3, "alone", 0, records)
        refused = (NOT_ENOUGH_REPLICAS, NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        with RawConnection(cluster.brokers[1].port) as connection:
            answer = connection.call(request)
        assert struct.unpack_from(">h", answer, 4 + 4 + 2 + len("alone") + 4 + 4)[0] in refused
        cluster.start(0)
        cluster.start(2)
        cluster.wait_for_isr("alone")
        cluster.check("alone", merged(acked, write(cluster, "alone")), once=False)

    @pytest.mark.parametrize(("first", "second"), [(0, 1), (1, 0)])
    def test_unclean_election(self, cluster: MixedCluster, first: int, second: int) -> None:
        """What only the dead leader had is lost, as allowed; afterwards the replicas are equal again."""
        topic = f"unclean-{first}"
        cluster.create(topic, [[first, second]], unclean_leader_election_enable="true")
        both = write(cluster, topic)
        cluster.kill(second)
        cluster.wait_for_isr(topic, second)
        write(cluster, topic)
        cluster.kill(first)
        cluster.start(second)
        cluster.wait_for_isr(topic, first)
        anew = write(cluster, topic)
        cluster.start(first)
        cluster.wait_for_isr(topic)
        cluster.check(topic, merged(both, anew), once=False)
        cluster.wait_until_equal(topic)

    def test_partitions_move_between_kinds(self, cluster: MixedCluster) -> None:
        cluster.create("moved", [[0, 2], [1, 0]])
        with Writer(cluster, "moved") as writer:
            writer.wait_for_more(1000)
            path = cluster.reassign("moved", {0: [1, 2], 1: [2, 1]}, 10_000_000)
            wait_until(lambda: cluster.is_reassigned(path), PATIENCE_S, "the reassignment")
            assert cluster.replicas("moved") == {0: [1, 2], 1: [2, 1]}
        cluster.wait_for_isr("moved")
        cluster.check("moved", writer.acked)
        cluster.wait_until_equal("moved")
        wait_until(
            lambda: not (cluster.brokers[0].log_dirs[0] / "moved-0").exists(), PATIENCE_S, "the old replica gone"
        )

    def test_a_move_outlives_its_controller(self, cluster: MixedCluster) -> None:
        controller = cluster.controller()
        others = [id for id in (0, 1, 2) if id != controller]
        cluster.create("carried", [others[:1]])
        acked = write(cluster, "carried", 3000)
        path = cluster.reassign("carried", {0: others[1:]}, 150_000)
        cluster.kill(controller)
        assert cluster.controller() != controller
        cluster.start(controller)
        wait_until(lambda: cluster.is_reassigned(path), PATIENCE_S, "the reassignment")
        cluster.wait_for_isr("carried")
        cluster.check("carried", acked)

    def test_both_kinds_compact(self, cluster: MixedCluster) -> None:
        config = {"cleanup_policy": "compact", "segment_bytes": "20000", "min_cleanable_dirty_ratio": "0.01"}
        cluster.create("compacted", [[0, 1, 2]], **config)
        newest: dict[object, object] = {}
        with RawConnection(cluster.brokers[0].port) as connection:

            def error_of(records: Sequence[SimpleRecord]) -> int:
                answer = connection.call(produce(3, "compacted", 0, MemoryRecords.with_records(*records)))
                code: int = struct.unpack_from(">h", answer, 4 + 4 + 2 + len("compacted") + 4 + 4)[0]
                return code

            # at first ZooKeeper knows who leads, and the leader may not
            wait_until(lambda: error_of([SimpleRecord(1, b"0", b"")]) == 0, PATIENCE_S, "the leader")
            for turn in range(40):
                records = [SimpleRecord(1, b"%d" % key, b"%d " % turn + b"v" * 90) for key in range(50)]
                assert error_of(records) == 0
                newest.update({record.key: record.value for record in records})
        for broker in cluster.brokers:
            checkpoint = broker.log_dirs[0] / "cleaner-offset-checkpoint"
            wait_until(
                lambda path=checkpoint: re.search(r"^compacted 0 [1-9]", path.read_text(), re.M),  # type: ignore[misc]
                PATIENCE_S,
                f"the cleaner of broker {broker.id}",
            )
        for leader in (0, 1, 2):  # what each of them serves once the others have handed leadership over
            rows = list(cluster.read("compacted")[0].values())
            assert len(rows) < 40 * 50
            assert rows[-50:] == list(newest.values())
            assert cluster.leader("compacted", 0) == leader
            if leader < 2:
                cluster.stop(leader)
                cluster.wait_for_isr("compacted", *range(leader + 1))
        for id in (0, 1):
            cluster.start(id)
        cluster.wait_for_isr("compacted")

    def test_topics_are_deleted_everywhere(self, cluster: MixedCluster) -> None:

        def topics() -> list[str]:
            return [topic for topic in cluster.children_of("/brokers/topics") if not topic.startswith("__")]

        def partitions(data: pathlib.Path) -> list[pathlib.Path]:
            return [path for path in data.iterdir() if path.is_dir() and not path.name.startswith("__")]

        assert all(partitions(broker.log_dirs[0]) for broker in cluster.brokers)
        cluster.apache.topics(cluster.zookeeper, "--delete", "--topic", ",".join(topics()))
        wait_until(lambda: not topics(), PATIENCE_S, "no topics in ZooKeeper")
        for broker in cluster.brokers:
            wait_until(
                lambda data=broker.log_dirs[0]: not partitions(data),  # type: ignore[misc]
                PATIENCE_S,
                f"no partitions on broker {broker.id}",
            )
        assert cluster.children_of("/admin/delete_topics") == []


VERSIONS = ["0.9.0", "0.10.2", "0.11.0", "1.0"]


@pytest.mark.parametrize(
    ("kinds", "version"), [*zip(itertools.cycle([(OURS, APACHE), (APACHE, OURS)]), VERSIONS, strict=False)]
)
def test_older_versions_between_brokers(
    apache: ApacheKafka, tmp_path: pathlib.Path, kinds: tuple[str, str], version: str
) -> None:
    """As in a rolling upgrade: between brokers, and on disk, it is an older release that is spoken."""
    properties = {"inter.broker.protocol.version": version, "log.message.format.version": version}
    with MixedCluster(apache, tmp_path, kinds, properties=properties) as cluster:
        cluster.create("old", [[0, 1], [1, 0]])
        plain = {"enable_idempotence": version in ("0.11.0", "1.0"), "max_in_flight": 1}
        acked = write(cluster, "old", compression_type="lz4", **plain)
        cluster.wait_until_equal("old")
        for id in (0, 1):
            cluster.kill(id)
            cluster.wait_for_isr("old", id)
            acked = merged(acked, write(cluster, "old", **plain))
            cluster.start(id)
            cluster.wait_for_isr("old")
        cluster.check("old", acked, once=False)
        cluster.wait_until_equal("old")


def test_a_cluster_moves_to_ours_and_back_under_load(apache: ApacheKafka, tmp_path: pathlib.Path) -> None:
    """Broker by broker, each with the files of its predecessor; the controller goes from kind to kind, too."""
    with MixedCluster(apache, tmp_path, (APACHE, APACHE, APACHE)) as cluster:
        cluster.create("rolled", ALL, min_insync_replicas="2")
        with Writer(cluster, "rolled", compression_type="lz4") as writer:
            for kind in (OURS, APACHE):
                for id in (0, 1, 2):
                    cluster.replace(id, kind)
                    cluster.wait_for_isr("rolled")
                    writer.wait_for_more()
                assert cluster.errors() == []
        cluster.check("rolled", writer.acked)
        cluster.wait_until_equal("rolled")

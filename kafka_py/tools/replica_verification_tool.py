"""kafka-replica-verification: reads all replicas of topics side by side, and tells where they differ.

A fetcher for every broker reads from all partitions that the broker has, and waits for the others; one of them then
compares what was read, up to the high watermark, and all go on from there.

Mirrors: core/src/main/scala/kafka/tools/ReplicaVerificationTool.scala @ 1.1.1
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from kafka_py.admin.admin_client import AdminClient
from kafka_py.admin.topic_command import select_topics
from kafka_py.common.errors import ApiException, RuntimeException
from kafka_py.common.node import Node
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.requests.fetch_request import FetchRequest
from kafka_py.common.requests.fetch_response import FetchResponse
from kafka_py.common.requests.isolation_level import IsolationLevel
from kafka_py.common.requests.list_offset_request import ListOffsetRequest
from kafka_py.common.requests.list_offset_response import ListOffsetResponse
from kafka_py.common.requests.metadata_request import MetadataRequest
from kafka_py.common.requests.metadata_response import MetadataResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.exit import Exit
from kafka_py.common.utils.time import Time
from kafka_py.common.utils.utils import get_port
from kafka_py.utils.command_line_utils import CommandLineUtils
from kafka_py.utils.concurrent import CountDownLatch
from kafka_py.utils.logging import Logging
from kafka_py.utils.option_parser import OptionParser
from kafka_py.utils.shutdownable_thread import ShutdownableThread

_FETCH_SIZE = 1024 * 1024
_MAX_WAIT_MS = 1000
_REPORT_INTERVAL_MS = 30_000
_MIN_FETCH_VERSION = 4  # below that batches are converted
_INTERRUPTED = 130


def _time_string(time_ms: int) -> str:
    return f"{datetime.fromtimestamp(time_ms // 1000):%Y-%m-%d %H:%M:%S},{time_ms % 1000:03}"


class MessageInfo(NamedTuple):
    """A batch of the first replica that was looked at.

    Mirrors: kafka.tools.MessageInfo
    """

    replica_id: int
    offset: int
    next_offset: int
    checksum: int


class ReplicaBuffer(Logging):
    """What the fetchers have read, and from where on they read next.

    Mirrors: kafka.tools.ReplicaBuffer
    Thread:  the fetchers put in, each its own replicas; between the two barriers one of them alone takes out.
    Differs: a time to begin at means the first record from then on, not a segment
    """

    def __init__(
        self,
        expected_replicas_per_topic_and_partition: Mapping[TopicPartition, int],
        leaders_per_broker: Mapping[int, Sequence[TopicPartition]],
        expected_num_fetchers: int,
        broker_map: Mapping[int, Node],
        initial_offset_time: int,
        report_interval: int,
        time: Time = Time.SYSTEM,
    ) -> None:
        """Ask the leaders where to begin."""
        self._expected_replicas = expected_replicas_per_topic_and_partition
        self._expected_num_fetchers = expected_num_fetchers
        self._initial_offset_time = initial_offset_time
        self._report_interval = report_interval
        self._time = time
        self._fetch_offset_map: dict[TopicPartition, int] = {}  # thread: the one that verifies
        self._message_set_cache: dict[TopicPartition, dict[int, FetchResponse.PartitionData]] = {}  # thread: any
        self._fetcher_barrier = CountDownLatch(expected_num_fetchers)  # volatile: the one that verifies
        self._verification_barrier = CountDownLatch(1)  # volatile: the one that verifies
        self._last_report_time = time.milliseconds()  # thread: the one that verifies
        self._initialize(leaders_per_broker, broker_map)

    def create_new_fetcher_barrier(self) -> None:
        self._fetcher_barrier = CountDownLatch(self._expected_num_fetchers)

    def get_fetcher_barrier(self) -> CountDownLatch:
        """Open when all have fetched."""
        return self._fetcher_barrier

    def create_new_verification_barrier(self) -> None:
        self._verification_barrier = CountDownLatch(1)

    def get_verification_barrier(self) -> CountDownLatch:
        """Open when all is compared."""
        return self._verification_barrier

    def _initialize(
        self, leaders_per_broker: Mapping[int, Sequence[TopicPartition]], broker_map: Mapping[int, Node]
    ) -> None:
        self._message_set_cache = {tp: {} for tp in self._expected_replicas}
        for broker_id, partitions in leaders_per_broker.items():
            self._set_initial_offsets(broker_map[broker_id], partitions)

    def _set_initial_offsets(self, broker: Node, partitions: Sequence[TopicPartition]) -> None:
        client = AdminClient([broker])
        try:
            found = self._offsets(client, broker, dict.fromkeys(partitions, self._initial_offset_time))
            later = [tp for tp, offset in found.items() if offset < 0]
            if later:  # no record is as new as that
                found |= self._offsets(client, broker, dict.fromkeys(later, ListOffsetRequest.LATEST_TIMESTAMP))
            self._fetch_offset_map |= found
        finally:
            client.close()

    @staticmethod
    def _offsets(client: AdminClient, broker: Node, times: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        request = ListOffsetRequest.Builder.for_consumer(True, IsolationLevel.READ_UNCOMMITTED).set_target_times(times)
        response = client.send(broker, request)
        assert isinstance(response, ListOffsetResponse)
        data = response.response_data()
        failed = {tp: found.error for tp, found in data.items() if found.error is not Errors.NONE}
        if failed:
            raise RuntimeException(f"assertion failed: {ReplicaBuffer._offset_response_string_with_error(failed)}")
        return {tp: found.offset for tp, found in data.items()}

    @staticmethod
    def _offset_response_string_with_error(failed: Mapping[TopicPartition, Errors]) -> str:
        return "".join(f"({tp},error: {error.exception_name()})" for tp, error in failed.items())

    def add_fetched_data(
        self, topic_and_partition: TopicPartition, replica_id: int, partition_data: FetchResponse.PartitionData
    ) -> None:
        self._message_set_cache[topic_and_partition][replica_id] = partition_data

    def get_offset(self, topic_and_partition: TopicPartition) -> int:
        """From where on to read next."""
        return self._fetch_offset_map.get(topic_and_partition, 0)

    def verify_check_sum(self, println: Callable[[str], object]) -> None:
        """Compare what was read, and report now and then; ends the process with 1 where offsets differ."""
        self.debug("Begin verification")
        max_lag, offset_with_max_lag, partition_with_max_lag = -1, -1, None
        for tp, response_per_replica in self._message_set_cache.items():
            self.debug("Verifying %s", tp)
            expected = self._expected_replicas[tp]
            if len(response_per_replica) != expected:
                raise RuntimeException(
                    f"assertion failed: fetched {len(response_per_replica)} replicas for {tp}, but expected "
                    f"{expected} replicas"
                )
            max_hw = max(data.high_watermark for data in response_per_replica.values())
            self._verify_partition(tp, response_per_replica, println)
            lag = max_hw - self.get_offset(tp)
            if lag > max_lag:
                max_lag, offset_with_max_lag, partition_with_max_lag = lag, self.get_offset(tp), tp
            response_per_replica.clear()
        now = self._time.milliseconds()
        if now - self._last_report_time > self._report_interval:
            println(
                f"{_time_string(now)}: max lag is {max_lag} for partition {partition_with_max_lag} at offset "
                f"{offset_with_max_lag} among {len(self._message_set_cache)} partitions"
            )
            self._last_report_time = now

    def _verify_partition(
        self,
        tp: TopicPartition,
        response_per_replica: Mapping[int, FetchResponse.PartitionData],
        println: Callable[[str], object],
    ) -> None:
        """Batch by batch from every replica, until one has no more below its high watermark."""
        iterators = {replica: iter(data.records.batches()) for replica, data in response_per_replica.items()}
        while True:
            in_all_replicas, first = True, None
            for replica_id, iterator in iterators.items():
                try:
                    batch = next(iterator, None)
                    if batch is None or batch.last_offset() >= response_per_replica[replica_id].high_watermark:
                        in_all_replicas = False
                    elif first is None:
                        first = MessageInfo(replica_id, batch.last_offset(), batch.next_offset(), batch.checksum())
                    else:
                        self._compare(tp, first, replica_id, batch, println)
                except Exception as e:
                    raise RuntimeException(
                        f"Error in processing replica {replica_id} in partition {tp} at offset {self.get_offset(tp)}.",
                        e,
                    ) from e
            if not in_all_replicas or first is None:
                return
            self._fetch_offset_map[tp] = first.next_offset
            self.debug("%s replicas match at offset %s for %s", self._expected_replicas[tp], first.next_offset, tp)

    def _compare(
        self, tp: TopicPartition, first: MessageInfo, replica_id: int, batch: Any, println: Callable[[str], object]
    ) -> None:
        now, last_offset, checksum = _time_string(self._time.milliseconds()), batch.last_offset(), batch.checksum()
        if first.offset != last_offset:
            println(
                f"{now}: partition {tp}: replica {first.replica_id}'s offset {first.offset} doesn't match replica "
                f"{replica_id}'s offset {last_offset}"
            )
            Exit.exit(1)
        if first.checksum != checksum:
            println(
                f"{now}: partition {tp} has unmatched checksum at offset {last_offset}; replica "
                f"{first.replica_id}'s checksum {first.checksum}; replica {replica_id}'s checksum {checksum}"
            )


class ReplicaFetcher(ShutdownableThread):
    """Reads what one broker has; one of the fetchers compares as well.

    Mirrors: kafka.tools.ReplicaFetcher
    Differs: that it has ended is told, so that the tool ends too; in Kafka the others wait for it for ever
    """

    def __init__(
        self,
        name: str,
        source_broker: Node,
        topic_and_partitions: Iterable[TopicPartition],
        replica_buffer: ReplicaBuffer,
        fetch_size: int,
        max_wait: int,
        min_bytes: int,
        do_verification: bool,
        ended: CountDownLatch,
    ) -> None:
        super().__init__(name)
        self._source_broker = source_broker
        self._topic_and_partitions = list(topic_and_partitions)
        self._replica_buffer = replica_buffer
        self._fetch_size = fetch_size
        self._max_wait = max_wait
        self._min_bytes = min_bytes
        self._do_verification = do_verification
        self._ended = ended
        self._client = AdminClient([source_broker])

    def run(self) -> None:
        """Until it is asked to stop, or something is wrong."""
        try:
            super().run()
        finally:
            self._client.close()
            self._ended.count_down()

    def do_work(self) -> None:
        """One round: fetch, wait for the others, compare or wait until it is compared."""
        buffer = self._replica_buffer
        fetcher_barrier, verification_barrier = buffer.get_fetcher_barrier(), buffer.get_verification_barrier()
        fetched = self._fetch()
        for tp in self._topic_and_partitions:
            buffer.add_fetched_data(tp, self._source_broker.id, fetched.get(tp, _NOTHING))
        fetcher_barrier.count_down()
        self.debug("Done fetching")
        fetcher_barrier.await_()
        self.debug("Ready for verification")
        if self._do_verification:
            self.debug("Do verification")
            buffer.verify_check_sum(lambda line: print(line, flush=True))
            buffer.create_new_fetcher_barrier()
            buffer.create_new_verification_barrier()
            self.debug("Created new barrier")
            verification_barrier.count_down()
        verification_barrier.await_()
        self.debug("Done verification")

    def _fetch(self) -> Mapping[TopicPartition, FetchResponse.PartitionData]:
        """What the broker has; nothing while it cannot be reached."""
        buffer, start = self._replica_buffer, FetchRequest.INVALID_LOG_START_OFFSET
        wanted = {
            tp: FetchRequest.PartitionData(buffer.get_offset(tp), start, self._fetch_size)
            for tp in self._topic_and_partitions
        }
        request = FetchRequest.Builder(
            _MIN_FETCH_VERSION,
            ApiKeys.FETCH.latest_version(),
            ListOffsetRequest.DEBUGGING_REPLICA_ID,
            self._max_wait,
            self._min_bytes,
            wanted,
        )
        self.debug("Issuing fetch request %s", request)
        try:
            response = self._client.send(self._source_broker, request)
        except (OSError, ApiException) as e:
            self.debug("Broker %s cannot be reached", self._source_broker, exc=e)
            self.pause(self._max_wait)
            return {}
        assert isinstance(response, FetchResponse)
        return response.response_data()


_NOTHING = FetchResponse.PartitionData(Errors.NONE, -1, -1, -1, None, MemoryRecords.EMPTY)


class ReplicaVerificationTool(Logging):
    """The tool.

    Mirrors: kafka.tools.ReplicaVerificationTool
    Left out: getCurrentTimeString -- a function of the module
    """

    logger_name = "kafka.tools.ReplicaVerificationTool$"

    @classmethod
    def main(cls, args: Sequence[str]) -> int:
        """Compare until it is interrupted (130): 1 if a fetcher has ended, or where there is nothing to compare."""
        return cls()._run(args)

    def _run(self, args: Sequence[str]) -> int:
        parser = OptionParser(allow_abbreviations=False)

        def with_value(name: str, argument: str, text: str, default: Any = None, kind: str = "") -> Any:
            spec = parser.accepts(name, text).with_required_arg().described_as(argument)
            spec = spec.of_type(int, kind) if kind else spec
            return spec if default is None else spec.defaults_to(default)

        broker_list_opt = with_value(
            "broker-list", "hostname:port,...,hostname:port", "REQUIRED: Brokers to ask where all the others are."
        )
        fetch_size_opt = with_value("fetch-size", "bytes", "How much to fetch at once.", _FETCH_SIZE, "Integer")
        max_wait_ms_opt = with_value("max-wait-ms", "ms", "How long a fetch may wait.", _MAX_WAIT_MS, "Integer")
        topic_white_list_opt = with_value(
            "topic-white-list", "Java regex (String)", "The topics to compare; all without this option.", ".*"
        )
        initial_offset_time_opt = with_value(
            "time", "timestamp/-1(latest)/-2(earliest)", "From what time on to compare.", -1, "Long"
        )
        report_interval_opt = with_value(
            "report-interval-ms", "ms", "How often to report.", _REPORT_INTERVAL_MS, "Long"
        )
        if not args:
            CommandLineUtils.print_usage_and_die(
                parser, "Validate that all replicas for a set of topics have the same data."
            )
        options = CommandLineUtils.parse(parser, list(args))
        CommandLineUtils.check_required_args(parser, options, broker_list_opt)
        broker_list = options.value_of(broker_list_opt)
        if not all(get_port(address) for address in broker_list.split(",")):
            CommandLineUtils.print_usage_and_die(parser, "Please provide valid host:port like host1:9091,host2:9092\n ")
        brokers, topics = self._metadata(broker_list)
        chosen = set(select_topics([topic.topic for topic in topics], options.value_of(topic_white_list_opt)))
        partitions = {
            TopicPartition(topic.topic, p.partition): p
            for topic in topics
            if topic.topic in chosen
            for p in topic.partition_metadata
        }
        if not chosen:
            self.error(
                "No topics found. %s, if specified, is either filtering out all topics or there is no topic.",
                topic_white_list_opt,
            )
            Exit.exit(1)
        per_broker: dict[int, list[TopicPartition]] = {}
        leaders: dict[int, list[TopicPartition]] = {}
        for tp, metadata in partitions.items():
            if metadata.leader is None or metadata.leader.id not in brokers:
                raise RuntimeException(f"Partition {tp} has no leader")
            leaders.setdefault(metadata.leader.id, []).append(tp)
            for replica in metadata.replicas:
                per_broker.setdefault(replica.id, []).append(tp)
        buffer = ReplicaBuffer(
            {tp: len(metadata.replicas) for tp, metadata in partitions.items()},
            leaders,
            len(per_broker),
            brokers,
            options.value_of(initial_offset_time_opt),
            options.value_of(report_interval_opt),
        )
        limits = options.value_of(fetch_size_opt), options.value_of(max_wait_ms_opt)
        return self._compare(brokers, per_broker, buffer, *limits)

    def _metadata(self, broker_list: str) -> tuple[dict[int, Node], list[MetadataResponse.TopicMetadata]]:
        self.info("Getting topic metadata...")
        client = AdminClient.create(broker_list)
        try:
            metadata = client._send_any_node(MetadataRequest.Builder.all_topics())
        finally:
            client.close()
        assert isinstance(metadata, MetadataResponse)
        return {broker.id: broker for broker in metadata.brokers()}, metadata.topic_metadata()

    @staticmethod
    def _compare(
        brokers: Mapping[int, Node],
        per_broker: Mapping[int, Sequence[TopicPartition]],
        buffer: ReplicaBuffer,
        fetch_size: int,
        max_wait_ms: int,
    ) -> int:
        """Until a fetcher ends, or somebody interrupts."""
        absent = [id for id in per_broker if id not in brokers]
        if absent:
            raise RuntimeException(f"Brokers that have replicas are not there: {','.join(map(str, absent))}")
        ended = CountDownLatch(1)
        verifying = next(iter(per_broker))
        fetchers = [
            ReplicaFetcher(
                f"ReplicaFetcher-{id}", brokers[id], partitions, buffer, fetch_size, max_wait_ms, 1, id == verifying,
                ended,
            )
            for id, partitions in per_broker.items()
        ]  # fmt: skip
        for fetcher in fetchers:
            fetcher.start()
        print(f"{_time_string(Time.SYSTEM.milliseconds())}: verification process is started.", flush=True)
        try:
            ended.await_()
        except KeyboardInterrupt:
            return _INTERRUPTED
        finally:
            for fetcher in fetchers:
                fetcher.shutdown()
        return 1


def main(args: list[str]) -> int:
    """Entry of bin/kafka-replica-verification.py."""
    logging.basicConfig(level=logging.WARNING, format="[%(asctime)s] %(levelname)s %(message)s (%(name)s)")
    return ReplicaVerificationTool.main(args)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

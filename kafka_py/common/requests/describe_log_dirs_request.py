"""What is in the log directories.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DescribeLogDirsRequest.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from collections.abc import Collection

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import INT32, STRING
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.request_message import RequestMessage
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.collection_utils import group_data_by_topic


class DescribeLogDirsRequest(RequestMessage, key=ApiKeys.DESCRIBE_LOG_DIRS, latest=1):
    """Partitions; None asks for all.

    Mirrors: org.apache.kafka.common.requests.DescribeLogDirsRequest
    """

    class Topic(Message):
        """Partitions of a topic."""

        topic: str = field(STRING)
        partitions: list[int] = field(ListOf(INT32))

    topics: list[Topic] | None = field(ListOf(Topic), nullable=0)

    class Builder(AbstractRequest.Builder):
        """Some partitions, or None for all.

        Mirrors: org.apache.kafka.common.requests.DescribeLogDirsRequest.Builder
        """

        def __init__(self, partitions: Collection[TopicPartition] | None) -> None:
            super().__init__(ApiKeys.DESCRIBE_LOG_DIRS)
            self._topic_partitions = partitions

        def build(self, version: int | None = None) -> DescribeLogDirsRequest:
            topics = None
            if self._topic_partitions is not None:
                by_topic = group_data_by_topic(dict.fromkeys(self._topic_partitions))
                topics = [DescribeLogDirsRequest.Topic(topic=t, partitions=list(ps)) for t, ps in by_topic.items()]
            return DescribeLogDirsRequest(version=self._version_or_latest(version), topics=topics)

        def __str__(self) -> str:
            return f"(type=DescribeLogDirsRequest, topicPartitions={self._topic_partitions})"

    def is_all_topic_partitions(self) -> bool:
        """Whether everything is asked for."""
        return self.topics is None

    def topic_partitions(self) -> Collection[TopicPartition] | None:
        """The partitions asked for, None for all."""
        if self.topics is None:
            return None
        # Java keeps a set; a dict forgets doubles as well and keeps the order.
        return dict.fromkeys(TopicPartition(t.topic, p) for t in self.topics for p in t.partitions).keys()

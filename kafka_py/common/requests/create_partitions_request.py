"""Add partitions to topics.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/CreatePartitionsRequest.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import BOOLEAN, INT32, STRING
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.new_partitions import NewPartitions
from kafka_py.common.requests.request_message import RequestMessage
from kafka_py.common.utils.collection_utils import named_twice


class CreatePartitionsRequest(RequestMessage, key=ApiKeys.CREATE_PARTITIONS, latest=2, flexible=2):
    """The new number of partitions by topic.

    Mirrors: org.apache.kafka.common.requests.CreatePartitionsRequest
    """

    ANSWERED: ClassVar[Mapping[str, str]] = {"topic_errors": "topic_partitions"}
    EACH_ONCE: ClassVar[bool] = True

    class Topic(Message):
        """What a topic is to have."""

        class NewPartitionsEntry(Message, bare=True):
            """The new number, and where the new ones are to be."""

            count: int = field(INT32, "How many partitions the topic is to have")
            assignment: list[list[int]] | None = field(
                ListOf(ListOf(INT32), boxed=True), "The brokers of each new partition", nullable=0
            )

        topic: str = field(STRING)
        new_partitions: NewPartitionsEntry = field(NewPartitionsEntry)

    topic_partitions: list[Topic] = field(ListOf(Topic))
    timeout: int = field(INT32, "How long to wait until all brokers know them, in ms")
    validate_only: bool = field(BOOLEAN, "Whether to check only")

    class Builder(AbstractRequest.Builder):
        """New numbers by topic.

        Mirrors: org.apache.kafka.common.requests.CreatePartitionsRequest.Builder
        """

        def __init__(self, new_partitions: dict[str, NewPartitions], timeout: int, validate_only: bool) -> None:
            super().__init__(ApiKeys.CREATE_PARTITIONS)
            self._new_partitions = new_partitions
            self._timeout = timeout
            self._validate_only = validate_only

        def build(self, version: int | None = None) -> CreatePartitionsRequest:
            topic_class = CreatePartitionsRequest.Topic
            topics = [
                topic_class(
                    topic=topic,
                    new_partitions=topic_class.NewPartitionsEntry(
                        count=new.total_count(), assignment=new.assignments()
                    ),
                )
                for topic, new in self._new_partitions.items()
            ]
            return CreatePartitionsRequest(
                version=self._version_or_latest(version),
                topic_partitions=topics,
                timeout=self._timeout,
                validate_only=self._validate_only,
            )

        def __str__(self) -> str:
            return (
                f"(type=CreatePartitionsRequest, newPartitions={self._new_partitions}, timeout={self._timeout}, "
                f"validateOnly={str(self._validate_only).lower()})"
            )

    def duplicates(self) -> set[str]:
        """Topics that the request names more than once."""
        return named_twice(topic.topic for topic in self.topic_partitions)

    def new_partitions(self) -> dict[str, NewPartitions]:
        """What each topic is to have."""
        return {
            topic.topic: NewPartitions.increase_to(topic.new_partitions.count, topic.new_partitions.assignment)
            for topic in self.topic_partitions
        }

"""The layout of a Fetch request.

Mirrors: clients/src/main/resources/common/message/FetchRequest.json @ 2.5.1, under 1.1.1's names
Read next: fetch_request.py, which reads it without these objects
"""

from __future__ import annotations

from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import INT8, INT32, INT64, STRING


class FetchRequestData(Message, latest=11):
    """What to read, by topic and partition, and how much.

    Version 1 brings a throttle time to the answer, 2 may hold message format 1, 4 message format 2. From 6 on a client
    knows KAFKA_STORAGE_ERROR, from 8 on it waits for the throttle time itself, from 10 on batches may use zstd.
    """

    class Topic(Message):
        """What to read of a topic."""

        class Partition(Message):
            """Where to read in a partition."""

            partition: int = field(INT32)
            # With it the leader refuses a reader whose leader epoch is not its own (KIP-320).
            current_leader_epoch: int = field(INT32, "-1 if it does not say", since=9, default=-1, stated=True)
            fetch_offset: int = field(INT64)
            # It tells the leader when all followers have moved on, for DeleteRecords.
            log_start_offset: int = field(INT64, "A follower's own, -1 from consumers", since=5, default=-1)
            max_bytes: int = field(INT32)

        topic: str = field(STRING)
        partitions: list[Partition] = field(ListOf(Partition))

    class ForgottenTopic(Message):
        """Partitions to take out of the session."""

        topic: str = field(STRING)
        partitions: list[int] = field(ListOf(INT32))

    replica_id: int = field(INT32, "The follower's broker id, -1 for consumers")
    max_wait_time: int = field(INT32, "How long to wait for the minimum, in ms")
    min_bytes: int = field(INT32)
    max_bytes: int = field(INT32, "One batch is sent even if it is larger", since=3, default=0x7FFFFFFF)
    isolation_level: int = field(INT8, "0 up to the high watermark, 1 to the last stable offset", since=4, default=0)
    session_id: int = field(INT32, since=7, default=0)
    epoch: int = field(INT32, "The number of the request within the session", since=7, default=-1)
    topics: list[Topic] = field(ListOf(Topic), "In the order in which they are read")
    forgotten_topics: list[ForgottenTopic] = field(
        ListOf(ForgottenTopic), since=7, wire="forgetten_topics_data", default_factory=list
    )
    rack_id: str = field(STRING, "The consumer's rack", since=11, default="")

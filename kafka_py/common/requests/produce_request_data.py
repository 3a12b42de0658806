"""The layout of a Produce request.

Mirrors: clients/src/main/resources/common/message/ProduceRequest.json @ 2.5.1, under 1.1.1's names
Read next: produce_request.py, which reads nearly every request without it
"""

from __future__ import annotations

from typing import Any

from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import INT16, INT32, NULLABLE_STRING, RECORDS, STRING


class ProduceRequestData(Message, latest=8):
    """Batches by topic and partition.

    Version 1 brings a throttle time to the answer, 2 timestamps (message format 1), 3 message format 2 and the
    transactional id. From 4 on a client knows KAFKA_STORAGE_ERROR, from 6 on it waits for the throttle time itself,
    from 7 on batches may use zstd, and the answer of 8 names the records that were refused.
    """

    class Topic(Message):
        """The batches of a topic."""

        class Partition(Message):
            """The batch of a partition."""

            partition: int = field(INT32)
            record_set: Any = field(RECORDS)

        topic: str = field(STRING)
        data: list[Partition] = field(ListOf(Partition))

    transactional_id: str | None = field(NULLABLE_STRING, "Appends are authorised against it", since=3, default=None)
    acks: int = field(INT16, "Who must have the batches before the answer: 0 nobody, 1 the leader, -1 the ISR")
    timeout: int = field(INT32, "How long to wait for them, in ms")
    topic_data: list[Topic] = field(ListOf(Topic))

"""The layout of the answer to Produce.

Mirrors: clients/src/main/resources/common/message/ProduceResponse.json @ 2.5.1, under 1.1.1's names
Read next: produce_response.py, which writes it without these objects
"""

from __future__ import annotations

from kafka_py.common.protocol.message import ErrorEntry, ListOf, Message, field
from kafka_py.common.protocol.types.type import INT16, INT32, INT64, NULLABLE_STRING, STRING


class ProduceResponseData(Message, latest=8):
    """What became of the batches, by topic and partition."""

    class Topic(Message):
        """The answers for a topic."""

        class Partition(ErrorEntry):
            """The answer for a partition."""

            class RecordError(Message):
                """A record for which the batch was refused."""

                batch_index: int = field(INT32)
                batch_index_error_message: str | None = field(NULLABLE_STRING, default=None)

            partition: int = field(INT32)
            error_code: int = field(INT16)
            base_offset: int = field(INT64, "The offset of the first record")
            log_append_time: int = field(INT64, "-1 if records keep their own timestamps", since=2, default=-1)
            log_start_offset: int = field(INT64, since=5, default=-1, stated=True)
            record_errors: list[RecordError] = field(ListOf(RecordError), since=8, default_factory=list)
            error_message: str | None = field(NULLABLE_STRING, since=8, default=None)

        topic: str = field(STRING)
        partition_responses: list[Partition] = field(ListOf(Partition))

    responses: list[Topic] = field(ListOf(Topic))
    throttle_time_ms: int = field(INT32, since=1, default=0)

"""Where records come from: files of log directories, or the Fetch responses of a running broker.

The sources (batch, streaming) plan and read through this seam only, so both transports have the same options, offsets
and rows. A transport plans in the driver; the pieces that it makes are pickled and read themselves in the executors.

``partitions`` can be asked for some partitions only: what a query does not read need not be looked up. Records that are
not there any more are reported by ``report_data_loss``, in the driver and in the executors alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kafka_py.utils.logging import get_logger

if TYPE_CHECKING:
    import pyarrow as pa

TopicPartitionName = tuple[str, int]
SOME_DATA_MAY_HAVE_BEEN_LOST = (
    "Some data may have been lost because they are not available in Kafka any more; either the data was aged out by "
    "Kafka or the topic may have been deleted before all the data in the topic was processed."
)
INSTRUCTION_FOR_FAIL_ON_DATA_LOSS_TRUE = (
    'If you don\'t want your query to fail on such cases, set the source option "failOnDataLoss" to "false".'
)
INSTRUCTION_FOR_FAIL_ON_DATA_LOSS_FALSE = (
    'If you want your query to fail on such cases, set the source option "failOnDataLoss" to "true".'
)
_log = get_logger(__name__)


class DataLossError(ValueError):
    """Records that a query was to read are gone, and option failOnDataLoss says that it shall fail then."""


def report_data_loss(message: str, fail_on_data_loss: bool) -> None:
    """Raise DataLossError, or log a warning and let the query go on."""
    if fail_on_data_loss:
        raise DataLossError(f"{message}. {SOME_DATA_MAY_HAVE_BEEN_LOST} {INSTRUCTION_FOR_FAIL_ON_DATA_LOSS_TRUE}")
    _log.warn("%s. %s %s", message, SOME_DATA_MAY_HAVE_BEEN_LOST, INSTRUCTION_FOR_FAIL_ON_DATA_LOSS_FALSE)


class PartitionOffsets(NamedTuple):
    """The offsets that bound what may be read of one partition.

    ``last_stable_offset`` is at most the high watermark; ``log_end_offset`` is what forensics may read up to.
    """

    log_start_offset: int
    high_watermark: int
    last_stable_offset: int
    log_end_offset: int


class ReadOptions(NamedTuple):
    """What every piece of one query needs to know, beside its offsets."""

    columns: tuple[str, ...]
    check_crcs: bool = True
    read_committed: bool = False
    fail_on_data_loss: bool = True


class Piece(Protocol):
    """The work of one task: records of one partition with from_offset <= offset < until_offset. Picklable."""

    topic: str
    partition: int
    from_offset: int
    until_offset: int

    def tables(self, options: ReadOptions) -> Iterator[pa.RecordBatch]:
        """Arrow batches of the wanted columns, in offset order; runs in an executor."""
        ...


class Transport(Protocol):
    """Plans the reading of partitions; lives in the driver."""

    def partitions(
        self, wanted: Callable[[str, int], bool] | None = None
    ) -> dict[TopicPartitionName, PartitionOffsets]:
        """Every partition that there is now, or those wanted, with its offsets as they are now."""
        ...

    def offset_for_timestamp(self, topic: str, partition: int, timestamp: int) -> int | None:
        """The first offset whose record is not older than this (milliseconds since the epoch), None without one."""
        ...

    def plan(
        self, topic: str, partition: int, from_offset: int, until_offset: int, max_bytes: int, read_committed: bool
    ) -> list[Piece]:
        """Pieces that cover the offsets between them, each of about max_bytes. Records above ``until_offset`` that
        share a batch with wanted ones are dropped by the piece itself."""
        ...

    def close(self) -> None:
        """Give back connections and files."""
        ...

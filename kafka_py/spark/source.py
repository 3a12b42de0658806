"""The source ``kafka_segments``: Spark's Kafka schema and options, read from segments (or from brokers).

    spark.read.format("kafka_segments").option("logDirs", "/var/kafka").option("subscribe", "t").load()

Class names are those of Spark's own connector (org.apache.spark.sql.kafka010), because its readers know them. Spark
gives a Python source no say in which columns a query needs; a schema of the user's with fewer columns does it, and is
worth it: what is not in it is not decoded.

Mirrors: connector/kafka-0-10-sql: KafkaSourceProvider, KafkaBatch, KafkaBatchPartitionReader of Spark 4
Read next: options.py, offsets.py, transport.py; stream.py
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    Filter,
    InputPartition,
)
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from kafka_py.spark.arrow_decoder import COLUMNS
from kafka_py.spark.offsets import UnsafeEndOffsetRangeLimit
from kafka_py.spark.options import KafkaSourceOptions
from kafka_py.spark.pushed_filters import PushedFilters
from kafka_py.spark.sink import KafkaBatchWrite, KafkaStreamingWrite
from kafka_py.spark.stream import KafkaBatchPartitionReader, KafkaMicroBatchStream

if TYPE_CHECKING:
    import pyarrow as pa

HEADERS = "headers"
_TYPES: dict[str, DataType] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
    HEADERS: ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())])),
}


class KafkaSourceProvider(DataSource):
    """Spark asks this class for the schema, and for who reads and writes.

    Mirrors: org.apache.spark.sql.kafka010.KafkaSourceProvider
    Thread: planning processes of the driver; nothing is kept between calls.
    """

    @classmethod
    def name(cls) -> str:
        """Return the format's name: ``kafka`` is taken, even where Spark's own connector is not installed."""
        return "kafka_segments"

    def schema(self) -> StructType:
        """Spark's seven columns, and the headers if option includeHeaders asks for them."""
        with_headers = str(self.options.get("includeHeaders", "false")).strip().lower() == "true"
        names = (*COLUMNS, HEADERS) if with_headers else COLUMNS
        return StructType([column_field(name) for name in names])

    def reader(self, schema: StructType) -> DataSourceReader:
        """Raises ValueError, with Spark's texts, for options that contradict each other or are missing.

        A schema of the user's with fewer columns is a projection: only those are decoded.
        """
        options = KafkaSourceOptions(dict(self.options))
        reader = PushdownKafkaBatch if options.pushdown else KafkaBatch
        return reader(options, columns_of(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  Spark's name
        """The source of ``spark.readStream``; raises as reader does."""
        return KafkaMicroBatchStream(KafkaSourceOptions(dict(self.options), streaming=True), columns_of(schema))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """The sink of ``df.write``. Raises ValueError, with Spark's texts, for what it cannot write."""
        return KafkaBatchWrite(dict(self.options), schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802  Spark's name
        """The sink of ``df.writeStream``; raises as writer, but takes mode complete."""
        return KafkaStreamingWrite(dict(self.options), schema)


def column_field(name: str) -> StructField:
    """One of the columns, as it stands in a schema. Raises ValueError for a name that records do not have."""
    if name not in _TYPES:
        raise ValueError(f"kafka_segments has no column {name}; it has {', '.join(_TYPES)}")
    return StructField(name, _TYPES[name])


def columns_of(schema: StructType) -> tuple[str, ...]:
    """The names of a schema's columns. Raises ValueError for columns that records do not have, or not so."""
    for field in schema.fields:
        known = column_field(field.name)
        if field.dataType != known.dataType or not field.nullable:
            raise ValueError(
                f"Column {field.name} of kafka_segments is a nullable {known.dataType.simpleString()}, not "
                f"{'' if field.nullable else 'not null '}{field.dataType.simpleString()}"
            )
    return tuple(schema.fieldNames())


class KafkaBatch(DataSourceReader):
    """Plans the tasks of one batch query, and reads them.

    Mirrors: org.apache.spark.sql.kafka010.KafkaBatch
    Thread: a planning process calls partitions, executors have copies for read
    """

    def __init__(self, options: KafkaSourceOptions, columns: tuple[str, ...]) -> None:
        self._options = options
        self._columns = columns
        self._filters = PushedFilters()

    def partitions(self) -> list[InputPartition]:
        """Return the tasks, none if there is nothing to read.

        Raises ValueError for offsets that do not fit what is there; data loss is such an error unless failOnDataLoss is
        false.
        """
        options = self._options
        transport = options.transport()
        try:
            unsafe = isinstance(options.ending_offsets, UnsafeEndOffsetRangeLimit)
            ranges = options.offset_reader(transport).get_offset_ranges_from_unresolved_offsets(
                options.starting_offsets,
                options.ending_offsets,
                lambda found: self._filters.narrow(found, transport, with_time=not unsafe),
            )
            return options.plan(transport, ranges)
        finally:
            transport.close()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Runs in an executor: Arrow batches of one task."""
        return KafkaBatchPartitionReader(partition, self._options.read_options(self._columns)).tables()


class PushdownKafkaBatch(KafkaBatch):
    """A KafkaBatch that takes conditions; Spark refuses it while spark.sql.python.filterPushdown.enabled is false."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  Spark's name
        """Return the conditions that Spark still has to apply."""
        return [condition for condition in filters if not self._filters.add(condition)]

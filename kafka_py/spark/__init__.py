"""Segments as tables: bulk reading without the broker.

The data pipeline of kafka_py is PySpark. ``register(spark)`` makes the format ``kafka_segments`` known; its rows come
straight from the files of one or several log directories, never from a running broker, and end below the high
watermark. The decoder (arrow_decoder) needs numpy and pyarrow only and can be used without Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Make ``spark.read.format("kafka_segments")`` known to the session."""
    from kafka_py.spark.source import KafkaSourceProvider

    spark.dataSource.register(KafkaSourceProvider)

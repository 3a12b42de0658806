"""Runs a list of tasks in the executors of a Spark session, for what they return or for the rows that they make.

A DataFrame of numbers with one partition per task goes through mapInArrow: that is the cheapest way into the Python
workers, and records that a task reads or writes itself never pass through the JVM.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")
_Batches = Iterator[pa.RecordBatch]
_SLOTS_PER_CORE = 2


class Task(Protocol, Generic[T_co]):
    """Something to do in an executor; picklable, and so must be what it returns."""

    def run(self) -> T_co:
        """Do it. May be called twice, at the same time as well: Spark tries again what failed or is slow."""
        ...


def run_in_spark(spark: SparkSession, tasks: Sequence[Task[T]]) -> list[T]:
    """What the tasks return, in their order. Raises PythonException with the text of the first failure."""
    if not tasks:
        return []
    frame = spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(_runner(tasks), "number long, result binary")
    results = {row["number"]: pickle.loads(row["result"]) for row in frame.collect()}
    return [results[number] for number in range(len(tasks))]


def frame_of(spark: SparkSession, tasks: Sequence[Task[pa.RecordBatch]], schema: pa.Schema) -> DataFrame:
    """The rows of all tasks, which run when the DataFrame is evaluated; some one after the other in a Spark task."""
    from pyspark.sql.pandas.types import from_arrow_schema

    slots = max(1, min(len(tasks), _SLOTS_PER_CORE * spark.sparkContext.defaultParallelism))

    def run(batches: _Batches) -> _Batches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield tasks[number].run()

    return spark.range(0, len(tasks), 1, slots).mapInArrow(run, from_arrow_schema(schema))


def _runner(tasks: Sequence[Task[T]]) -> Callable[[_Batches], _Batches]:
    def run(batches: _Batches) -> _Batches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                result = pickle.dumps(tasks[number].run())
                yield pa.RecordBatch.from_arrays(
                    [pa.array([number], pa.int64()), pa.array([result], pa.binary())], ["number", "result"]
                )

    return run

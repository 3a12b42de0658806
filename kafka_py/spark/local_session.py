"""A Spark session for a command of ours: on this machine, quiet, and with a Java that pip can bring."""

from __future__ import annotations

import logging
import os
import pathlib
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import kafka_py
from kafka_py import spark as kafka_spark
from kafka_py.tools.java_runtime import require_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Spark's JVM says nothing but errors.
_LOG4J = """rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
logger.python.name = org.apache.spark.api.python.PythonGatewayServer
logger.python.level = error
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c: %m%n%ex{short}
"""


def start_spark(
    app_name: str, home: pathlib.Path, master: str = "local[*]", conf: Mapping[str, str] | None = None
) -> SparkSession:
    """A session with the formats of this package that leaves nothing behind but what is in ``home``.

    Raises JavaNotFoundError where there is no Java.
    """
    require_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # The workers must find this package also when it runs from a clone.
    root = str(pathlib.Path(kafka_py.__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    # PySpark would print a failed query as a page of JSON beside the exception that it raises.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    log4j = home / "log4j2.properties"
    log4j.write_text(_LOG4J)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(max(2, os.cpu_count() or 2)),  # Spark's 200 are for clusters
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log4j}",
        **(conf or {}),
    }
    builder = kafka_spark.session_builder(app_name, master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    kafka_spark.register(spark)
    return spark

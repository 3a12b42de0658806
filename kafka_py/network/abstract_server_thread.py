"""What acceptors and processors have in common.

Mirrors: core/src/main/scala/kafka/network/SocketServer.scala (AbstractServerThread) @ 1.1.1
Posts:   socket-server (member by member)
"""

from __future__ import annotations

import abc
import socket
from typing import TYPE_CHECKING

from kafka_py.common.utils.kafka_thread import KafkaThread
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.utils.concurrent import AtomicBoolean, CountDownLatch

if TYPE_CHECKING:
    from kafka_py.common.network.listener_name import ListenerName
    from kafka_py.network.connection_quotas import ConnectionQuotas


class AbstractServerThread(KafkaMetricsGroup, abc.ABC):
    """A thread of the socket server that can be started once and stopped with a wake-up.

    Mirrors: kafka.network.AbstractServerThread
    Thread:  run: its own; the others: any.
    Differs: Kafka gave this class up in 3.3 for start, beginShutdown and close, which are here beside its members;
        `shutdown` is the two of them. `should_run` is 3.7's name of `alive`.
    Left out: close -- its two forms are close_channel here and Processor.close_connection
    """

    def __init__(self, connection_quotas: ConnectionQuotas, thread_name: str) -> None:
        self.connection_quotas = connection_quotas
        self._alive = AtomicBoolean(True)  # atomic
        self._startup_latch = CountDownLatch(1)  # atomic
        # Open at first: shutdown() of a thread that was never started must not wait. startup_complete() closes it.
        self._shutdown_latch = CountDownLatch(0)  # volatile: the thread itself
        self.thread = KafkaThread.non_daemon(thread_name, self.run)

    @property
    def should_run(self) -> AtomicBoolean:
        """Cleared to end the loop."""
        return self._alive

    @property
    def alive(self) -> AtomicBoolean:
        """The name of `should_run` up to 3.2."""
        return self._alive

    @property
    def startup_latch(self) -> CountDownLatch:
        """Opened when the loop begins."""
        return self._startup_latch

    @property
    def shutdown_latch(self) -> CountDownLatch:
        """Opened when the loop has ended and all is closed."""
        return self._shutdown_latch

    @abc.abstractmethod
    def wakeup(self) -> None:
        """Make the thread look at `should_run`."""

    @abc.abstractmethod
    def run(self) -> None:
        """The loop."""

    @abc.abstractmethod
    def begin_shutdown(self) -> None:
        """Tell the loop to end, without waiting."""

    def shutdown(self) -> None:
        """Tell the loop to end, and wait until it has."""
        self.begin_shutdown()
        self._shutdown_latch.await_()

    def await_startup(self) -> None:
        """Wait until the loop has begun."""
        self._startup_latch.await_()

    def startup_complete(self) -> None:
        """The loop begins."""
        self._shutdown_latch = CountDownLatch(1)
        self._startup_latch.count_down()

    def shutdown_complete(self) -> None:
        """The loop has ended."""
        self._shutdown_latch.count_down()

    @property
    def is_running(self) -> bool:
        """Whether nobody has asked the thread to end."""
        return self._alive.get()

    def close_channel(self, listener_name: ListenerName, channel: socket.socket, address: str) -> None:
        """Close a connection that no selector owns and give back its quota; ``address`` is its peer's."""
        self.connection_quotas.close_channel(self, listener_name, channel, address)

    def join(self) -> None:
        """Wait for the thread, if it was ever started."""
        if self.thread.ident is not None:
            self.thread.join()

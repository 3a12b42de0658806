"""Threads that handle requests, their pool, and the meters of topics.

Mirrors: core/src/main/scala/kafka/server/KafkaRequestHandler.scala @ 3.7.1
Posts:   why-fast-and-available (1.1), start-up-network-threads (3.6), the-produce-path (the meters)
Read next: ../network/request_channel.py, kafka_apis.py
"""

from __future__ import annotations

import abc
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, TypeVar

from kafka_py.common.errors import IllegalStateException
from kafka_py.common.internals.fatal_exit_error import FatalExitError
from kafka_py.common.utils.exit import Exit
from kafka_py.common.utils.kafka_thread import KafkaThread
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.network.request_channel import CallbackRequest, Request, RequestChannel, ShutdownRequest, WakeupRequest
from kafka_py.server.broker_topic_stats import AggregatedMetric, BrokerTopicMetrics, BrokerTopicStats
from kafka_py.server.request_local import RequestLocal
from kafka_py.utils.concurrent import AtomicInteger, CountDownLatch, ReentrantLock
from kafka_py.utils.logging import Logging
from kafka_py.utils.threads import runs_on

if TYPE_CHECKING:
    from kafka_py.common.utils.time import Time
    from kafka_py.metrics.yammer import Meter

__all__ = [
    "AggregatedMetric",
    "ApiRequestHandler",
    "BrokerTopicMetrics",
    "BrokerTopicStats",
    "KafkaRequestHandler",
    "KafkaRequestHandlerPool",
]

T = TypeVar("T")
_RECEIVE_TIMEOUT_MS = 300
_LEAST_IDLE_NS = 100_000  # less is marked together with what follows


class ApiRequestHandler(abc.ABC):
    """What handles requests: KafkaApis.

    Mirrors: kafka.server.ApiRequestHandler @ 3.7.1
    """

    @abc.abstractmethod
    def handle(self, request: Request, request_local: RequestLocal) -> None:
        """Handle a request: answer it, now or later."""

    def try_complete_actions(self) -> None:
        """Do what handling has left to be done after it; nothing, unless overridden."""
        return


class KafkaRequestHandler(Logging):
    """A thread that answers requests.

    Mirrors: kafka.server.KafkaRequestHandler @ 3.7.1
    Thread:  run: "{plane}-kafka-request-handler-{n}"; stop, initiate_shutdown, await_shutdown: any.
    Differs: one that was stopped, because the pool shrank, leaves a shutdown request to the others. In Kafka it takes
        it, and the shutdown waits for ever for the handler that finds none.
    """

    thread_request_channel: ClassVar[threading.local] = threading.local()
    thread_current_request: ClassVar[threading.local] = threading.local()
    _bypass_thread_check: ClassVar[bool] = False

    def __init__(
        self,
        id: int,
        broker_id: int,
        aggregate_idle_meter: Meter,
        total_handler_threads: AtomicInteger,
        request_channel: RequestChannel,
        apis: ApiRequestHandler,
        time: Time,
        node_name: str = "broker",
    ) -> None:
        self.id = id
        self._broker_id = broker_id
        self.aggregate_idle_meter = aggregate_idle_meter
        self.total_handler_threads = total_handler_threads  # atomic
        self.request_channel = request_channel
        self._apis = apis
        self._time = time
        self.log_ident = f"[Kafka Request Handler {id} on {node_name.capitalize()} {broker_id}], "
        self.shutdown_complete = CountDownLatch(1)  # atomic
        self.request_local = RequestLocal.with_thread_confined_caching()  # thread: handler
        self.stopped = False  # volatile: any

    @classmethod
    def set_bypass_thread_check(cls, bypass_check: bool) -> None:
        """Let tests wrap callbacks on threads of their own."""
        KafkaRequestHandler._bypass_thread_check = bypass_check

    @staticmethod
    def wrap_async_callback(
        async_completion_callback: Callable[[RequestLocal, T], None], request_local: RequestLocal
    ) -> Callable[[T], None]:
        """A callback that runs on a handler's thread, wherever it is called.

        Called while the same request is handled by the same thread, it runs at once with ``request_local``; else it
        is queued and runs with that of the handler that takes it. Raises IllegalStateException when this method is
        called on a thread that handles no request.

        Called by TransactionVerification: whether a partition belongs to a transaction is asked of its coordinator, and
        the append goes on when the answer is there.
        """
        local = KafkaRequestHandler
        channel: RequestChannel | None = getattr(local.thread_request_channel, "value", None)
        current: Request | None = getattr(local.thread_current_request, "value", None)
        if channel is None or current is None:
            if not local._bypass_thread_check:
                raise IllegalStateException(
                    "Attempted to reschedule to request handler thread from non-request handler thread."
                )
            return lambda t: async_completion_callback(request_local, t)

        def callback(t: T) -> None:
            if getattr(local.thread_current_request, "value", None) is current:
                async_completion_callback(request_local, t)
            else:
                channel.send_callback_request(
                    CallbackRequest(lambda new_local: async_completion_callback(new_local, t), current)
                )

        return callback

    @runs_on("handler")
    def run(self) -> None:
        """Take requests and handle them until told to end; no error of a request ends the loop."""
        self.thread_request_channel.value = self.request_channel
        channel, logger = self.request_channel, self.logger
        current = self.thread_current_request.__dict__  # this thread's own part of it
        handle, request_local = self._apis.handle, self.request_local
        nanoseconds = self._time.nanoseconds
        idle = 0
        while not self.stopped:
            start_select_time = nanoseconds()
            req = channel.receive_request(_RECEIVE_TIMEOUT_MS)
            end_time = nanoseconds()
            idle += end_time - start_select_time
            if idle >= _LEAST_IDLE_NS:
                # One meter for all: its rate is over time, not over threads, so each counts for its part only.
                self.aggregate_idle_meter.mark(idle // self.total_handler_threads.get())
                idle = 0
            if isinstance(req, Request):
                try:
                    req.request_dequeue_time_nanos = end_time
                    if logger.trace_enabled:
                        self.trace(
                            "Kafka request handler %d on broker %d handling request %s", self.id, self._broker_id, req
                        )
                    current["value"] = req
                    handle(req, request_local)
                except FatalExitError as e:
                    self.complete_shutdown()
                    Exit.exit(e.status_code)
                except Exception as e:  # noqa: BLE001  a handler that ends would leave fewer for all
                    self.error("Exception when handling request", exc=e)
                finally:
                    current["value"] = None
                    if req.buffer is not None:
                        req.release_buffer()
            elif req is None:
                continue
            elif req is ShutdownRequest:
                if self.stopped:
                    channel.send_shutdown_request()  # type: ignore[unreachable]  # another thread sets it meanwhile
                self.debug("Kafka request handler %d on broker %d received shut down command", self.id, self._broker_id)
                self.complete_shutdown()
                return
            elif isinstance(req, CallbackRequest):
                self._run_callback(req)
            elif req is WakeupRequest:
                # receive_request looks at the callbacks itself when it meets one
                self.warn("Received a wakeup request outside of typical usage.")
        self.complete_shutdown()

    def _run_callback(self, callback: CallbackRequest) -> None:
        original = callback.original_request
        try:
            now = self._time.nanoseconds()
            if original.callback_request_dequeue_time_nanos is not None:
                # a further callback of the request: begin so much earlier as the ones before have taken
                previous = (original.callback_request_complete_time_nanos or 0) - (
                    original.callback_request_dequeue_time_nanos
                )
                original.callback_request_complete_time_nanos = None
                original.callback_request_dequeue_time_nanos = now - previous
            else:
                original.callback_request_dequeue_time_nanos = now
            self.thread_current_request.value = original
            callback.fun(self.request_local)
        except FatalExitError as e:
            self.complete_shutdown()
            Exit.exit(e.status_code)
        except Exception as e:  # noqa: BLE001  as for a request
            self.error("Exception when handling request", exc=e)
        finally:
            self._apis.try_complete_actions()
            if original.callback_request_complete_time_nanos is None:
                original.callback_request_complete_time_nanos = self._time.nanoseconds()
            self.thread_current_request.value = None

    def complete_shutdown(self) -> None:
        """The thread is at its end."""
        self.request_local.close()
        self.thread_request_channel.value = None
        self.shutdown_complete.count_down()

    def stop(self) -> None:
        """End after the request in hand, or the present wait."""
        self.stopped = True

    def initiate_shutdown(self) -> None:
        """Queue the request that ends one handler."""
        self.request_channel.send_shutdown_request()

    def await_shutdown(self) -> None:
        """Wait until the thread is at its end."""
        self.shutdown_complete.await_()

    def __repr__(self) -> str:
        return f"KafkaRequestHandler(id={self.id}, broker={self._broker_id}, stopped={self.stopped})"


class KafkaRequestHandlerPool(KafkaMetricsGroup):
    """The handlers of one request channel; their number may change while they work.

    Mirrors: kafka.server.KafkaRequestHandlerPool @ 3.7.1
    Thread:  start-up, shutdown, and whoever changes num.io.threads.
    Locks:   _lock.
    """

    def __init__(
        self,
        broker_id: int,
        request_channel: RequestChannel,
        apis: ApiRequestHandler,
        time: Time,
        num_threads: int,
        request_handler_avg_idle_metric_name: str,
        log_and_thread_name_prefix: str,
        node_name: str = "broker",
    ) -> None:
        """Start ``num_threads`` handlers."""
        self.broker_id = broker_id
        self.request_channel = request_channel
        self.apis = apis
        self._time = time
        self.request_handler_avg_idle_metric_name = request_handler_avg_idle_metric_name
        self.log_and_thread_name_prefix = log_and_thread_name_prefix
        self._node_name = node_name
        self.thread_pool_size = AtomicInteger(num_threads)  # atomic
        self.aggregate_idle_meter = self.new_meter(
            request_handler_avg_idle_metric_name, "percent", rate_unit="NANOSECONDS"
        )
        self.log_ident = f"[{log_and_thread_name_prefix} Kafka Request Handler on Broker {broker_id}], "
        self._lock = ReentrantLock()
        self.runnables: list[KafkaRequestHandler] = []  # volatile: whoever holds _lock
        for i in range(num_threads):
            self.create_handler(i)

    def create_handler(self, id: int) -> None:
        """Start one more handler."""
        with self._lock:
            handler = KafkaRequestHandler(
                id,
                self.broker_id,
                self.aggregate_idle_meter,
                self.thread_pool_size,
                self.request_channel,
                self.apis,
                self._time,
                self._node_name,
            )
            name = f"{self.log_and_thread_name_prefix}-kafka-request-handler-{id}"
            KafkaThread.daemon_thread(name, handler.run).start()
            self.runnables.append(handler)  # now that it has a thread: shutdown waits for each of them

    def resize_thread_pool(self, new_size: int) -> None:
        """Start handlers, or stop the last ones, until there are ``new_size``."""
        with self._lock:
            current_size = self.thread_pool_size.get()
            self.info("Resizing request handler thread pool size from %d to %d", current_size, new_size)
            for i in range(current_size, new_size):
                self.create_handler(i)
            for _ in range(new_size, current_size):
                self.runnables.pop().stop()
            self.thread_pool_size.set(new_size)

    def shutdown(self) -> None:
        """End all handlers, after the requests queued so far; they have ended when this returns."""
        with self._lock:
            self.info("shutting down")
            for handler in self.runnables:
                handler.initiate_shutdown()
            for handler in self.runnables:
                handler.await_shutdown()
            self.info("shut down completely")

    def __repr__(self) -> str:
        return f"KafkaRequestHandlerPool({self.log_and_thread_name_prefix}, size={self.thread_pool_size.get()})"

"""The queue between network threads and handlers, and what goes through it.

Mirrors: core/src/main/scala/kafka/network/RequestChannel.scala @ 3.7.1
Posts:   why-fast-and-available (1.1), start-up-network-threads (3.6), socket-server (0.11),
         reading-writing-configuring (0.8)
Read next: request_metrics.py, processor.py, ../server/kafka_request_handler.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias, TypeVar, overload

from kafka_py.common.memory.buffer_recycler import SMALLEST_RECYCLED
from kafka_py.common.memory.memory_pool import MemoryPool
from kafka_py.common.network.client_information import ClientInformation
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.utils.sanitizer import Sanitizer
from kafka_py.common.utils.time import Time
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.network.request_metrics import RequestMetrics
from kafka_py.utils.concurrent import ArrayBlockingQueue, ConcurrentHashMap
from kafka_py.utils.logging import get_logger
from kafka_py.utils.yield_gil import yield_core

if TYPE_CHECKING:
    from kafka_py.common.network.send import Send
    from kafka_py.common.protocol.errors import Errors
    from kafka_py.common.requests.abstract_request import AbstractRequest
    from kafka_py.common.requests.abstract_response import AbstractResponse
    from kafka_py.common.requests.request_context import RequestContext
    from kafka_py.common.requests.request_header import RequestHeader
    from kafka_py.common.security.auth.kafka_principal import KafkaPrincipal
    from kafka_py.network.processor import Processor
    from kafka_py.server.request_local import RequestLocal

R = TypeVar("R", bound="AbstractRequest")
_NO_POOL: Final = MemoryPool.NONE
_request_logger = get_logger("kafka.request.logger")
_channel_logger = get_logger("kafka.network.RequestChannel")
_nanoseconds = Time.SYSTEM.nanoseconds
_FETCH: Final = ApiKeys.FETCH
_ALTER_CONFIGS: Final = ApiKeys.ALTER_CONFIGS


def use_clock(nanoseconds: Callable[[], int]) -> None:
    """Stamp requests by another clock than the system's."""
    global _nanoseconds
    _nanoseconds = nanoseconds


class BaseRequest:
    """What a handler may take from the channel.

    Mirrors: kafka.network.RequestChannel.BaseRequest @ 3.7.1
    """

    __slots__ = ()


class _Marker(BaseRequest):
    """A request that is a command to the handler."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


ShutdownRequest = _Marker("ShutdownRequest")  # ends the one handler that takes it
WakeupRequest = _Marker("WakeupRequest")  # sends the handler that takes it to the callback queue


class Session:
    """Who sent a request, and from where.

    Mirrors: kafka.network.RequestChannel.Session @ 3.7.1
    """

    __slots__ = ("_sanitized_user", "client_address", "client_information", "principal")

    def __init__(self, principal: KafkaPrincipal, client_address: str) -> None:
        self.principal = principal
        self.client_address = client_address
        self.client_information = ClientInformation.EMPTY  # volatile: network
        self._sanitized_user: str | None = None  # volatile: any; always the same text

    @property
    def sanitized_user(self) -> str:
        """The user's name as quotas and metrics write it."""
        if self._sanitized_user is None:
            self._sanitized_user = Sanitizer.sanitize(self.principal.get_name())
        return self._sanitized_user

    def __repr__(self) -> str:
        return f"Session({self.principal},/{self.client_address})"


class Metrics:
    """The request metrics of all APIs of a listener type.

    Mirrors: kafka.network.RequestChannel.Metrics @ 3.7.1
    Differs: no series for AddPartitionsToTxn requests that only verify; 1.1.1 has none.
    """

    def __init__(self, enabled_apis: Iterable[ApiKeys]) -> None:
        names = [
            *(api.name for api in enabled_apis),
            RequestMetrics.CONSUMER_FETCH_METRIC_NAME,
            RequestMetrics.FOLLOW_FETCH_METRIC_NAME,
        ]
        self._metrics_map = {name: RequestMetrics(name) for name in names}
        self.apply = self._metrics_map.__getitem__
        """The metrics of an API, by name. Raises KeyError."""

    def __getitem__(self, metric_name: str) -> RequestMetrics:
        return self._metrics_map[metric_name]

    __call__ = __getitem__

    def close(self) -> None:
        """Take them out of the registry."""
        for metrics in self._metrics_map.values():
            metrics.remove_metrics()


class Request(BaseRequest):
    """One request on its way: parsed body, who sent it, and the times at which it passed each station.

    Mirrors: kafka.network.RequestChannel.Request @ 3.7.1
    Thread:  made by the network thread, handled by a handler, ended by the network thread.
    Differs: the request log's line is 1.1.1's text; the JSON of 3.7 is left out. Times are ints, -1 or 0 until known;
        Scala's Options are None. They are class attributes until set: most requests never set half of them.
    Left out: shouldReturnNotController, toString -- envelopes belong to KRaft; it is __repr__
    """

    request_dequeue_time_nanos: int = -1
    api_local_complete_time_nanos: int = -1
    response_complete_time_nanos: int = -1
    response_dequeue_time_nanos: int = -1
    message_conversions_time_nanos: int = 0
    api_throttle_time_ms: int = 0
    temporary_memory_bytes: int = 0
    record_network_thread_time_callback: Callable[[int], None] | None = None
    callback_request_dequeue_time_nanos: int | None = None
    callback_request_complete_time_nanos: int | None = None
    request_log: str | None = None
    # the thread that handled it, written only while a journal watches; and that journal
    handled_by: str | None = None
    completed_tap: ClassVar[Callable[[Request, int], None] | None] = None
    _session: Session | None = None

    def __init__(
        self,
        processor: int,
        context: RequestContext,
        start_time_nanos: int,
        memory_pool: MemoryPool,
        buffer: memoryview,
        metrics: Metrics,
        envelope: Request | None = None,
        session: Session | None = None,
    ) -> None:
        """Parse the body of ``buffer``, behind its header. Raises InvalidRequestException, SchemaException.

        ``session`` spares the making of one, where the connection's is known.
        """
        self.processor = processor
        self.context = context
        self.header = context.header
        self.start_time_nanos = start_time_nanos
        self.memory_pool = memory_pool
        self.buffer: memoryview | None = buffer  # handoff: network -> handler
        self.metrics = metrics
        self.envelope = envelope
        if session is not None:
            self._session = session  # handoff: network -> handler
        self._body_and_size = context.parse_request(buffer[self.header.size :])  # handoff: network -> handler
        if _request_logger.debug_enabled:
            # now, for a Produce in purgatory has lost its records
            self.request_log = self.request_desc(_request_logger.trace_enabled)
        # requests without byte fields are wholly in objects by now; the others let go when they are handled
        if not context.header.api_key.requires_delayed_allocation:
            self.release_buffer()
        if _channel_logger.trace_enabled:
            _channel_logger.trace("Processor %d received request: %s", processor, self.request_desc(True))

    @property
    def session(self) -> Session:
        """Principal and address, made when first asked for."""
        session = self._session
        if session is None:
            session = self._session = Session(self.context.principal, self.context.client_address)
        return session

    @property
    def size_of_body_in_bytes(self) -> int:
        """Bytes of the request without its header."""
        return self._body_and_size.size

    @property
    def size_in_bytes(self) -> int:
        """Bytes of header and body."""
        return self.header.size + self._body_and_size.size

    @property
    def is_forwarded(self) -> bool:
        """Whether it came inside an envelope."""
        return self.envelope is not None

    def build_response_send(self, abstract_response: AbstractResponse) -> Send:
        """The answer as it goes on the wire."""
        return self.context.build_response_send(abstract_response)

    def response_node(self, response: AbstractResponse) -> str | None:
        """The answer as text, if the request log wants it."""
        return str(response) if RequestChannel.is_request_logging_enabled() else None

    def header_for_logging_or_throttling(self) -> RequestHeader:
        """The header of the client's request, not of an envelope's content."""
        return self.envelope.header if self.envelope is not None else self.header

    def request_desc(self, details: bool) -> str:
        """Header and body as one line of text."""
        return f"{self.header} -- {self.loggable_request(details)}"

    @overload
    def body(self) -> AbstractRequest: ...
    @overload
    def body(self, expected: type[R]) -> R: ...
    def body(self, expected: type[R] | None = None) -> AbstractRequest | R:
        """The parsed body. Raises TypeError when it is not of the class ``expected``."""
        request = self._body_and_size.request
        if expected is not None and not isinstance(request, expected):
            raise TypeError(f"Expected request with type {expected}, but found {type(request)}")
        return request

    def loggable_request(self, details: bool = True) -> str:
        """The body as text, without the values that AlterConfigs carries: they may be passwords."""
        request = self._body_and_size.request
        if self.header.api_key is _ALTER_CONFIGS:
            return f"{type(request).__name__}(configs=[hidden])"
        return str(request) if details else f"{type(request).__name__}({self._body_and_size.size} bytes)"

    @property
    def request_thread_time_nanos(self) -> int:
        """How long the handler worked on it, up to now if it still does."""
        if self.api_local_complete_time_nanos == -1:
            self.api_local_complete_time_nanos = _nanoseconds()
        return max(self.api_local_complete_time_nanos - self.request_dequeue_time_nanos, 0)

    def update_request_metrics(self, network_thread_time_nanos: int, response: Response) -> None:
        """The end of every request: its times go into the histograms, and into the request log if that is on."""
        end_time = _nanoseconds()
        header = self.header
        api_key = header.api_key
        callback = 0
        if self.callback_request_dequeue_time_nanos is not None:
            callback = (self.callback_request_complete_time_nanos or 0) - self.callback_request_dequeue_time_nanos
        # the order of RequestRows.columns_of, which works the times out
        row = (
            self.start_time_nanos,
            self.request_dequeue_time_nanos,
            self.api_local_complete_time_nanos,
            callback,
            self.response_complete_time_nanos,
            self.response_dequeue_time_nanos,
            end_time,
            self.api_throttle_time_ms,
            self._body_and_size[1],
            self.message_conversions_time_nanos,
            self.temporary_memory_bytes,
        )
        metrics = self.metrics.apply(api_key.name)
        metrics.record(row)
        if api_key is _FETCH:
            body: Any = self._body_and_size.request
            follower = body.is_from_follower()
            metrics = self.metrics.apply(
                RequestMetrics.FOLLOW_FETCH_METRIC_NAME if follower else RequestMetrics.CONSUMER_FETCH_METRIC_NAME
            )
            metrics.record(row)
        # the network thread's time counts towards the client's request quota, with the handler's
        if self.record_network_thread_time_callback is not None:
            self.record_network_thread_time_callback(network_thread_time_nanos)
        if _request_logger.debug_enabled:
            self._log_completed(response, row)
        tap = Request.completed_tap
        if tap is not None:
            tap(self, end_time)

    def _log_completed(self, response: Response, row: Sequence[int]) -> None:
        start, dequeue, local_complete, callback, complete, response_dequeue, end = row[:7]
        local_end = local_complete + callback
        queue, local, remote, response_queue, send, total = [
            max(later - earlier, 0) // 1000 / 1000
            for earlier, later in (
                (start, dequeue),
                (dequeue, local_end),
                (local_end, complete),
                (complete, response_dequeue),
                (response_dequeue, end),
                (start, end),
            )
        ]
        context = self.context
        line = (
            f"Completed request:{self.request_log},response:{response.response_log} from connection "
            f"{context.connection_id};totalTime:{total},requestQueueTime:{queue},localTime:{local},"
            f"remoteTime:{remote},throttleTime:{self.api_throttle_time_ms},responseQueueTime:{response_queue},"
            f"sendTime:{send},securityProtocol:{context.security_protocol},principal:{self.session.principal},"
            f"listener:{context.listener_name.value()}"
        )
        if self.temporary_memory_bytes > 0:
            line += f",temporaryMemoryBytes:{self.temporary_memory_bytes}"
        if self.message_conversions_time_nanos > 0:
            line += f",messageConversionsTime:{self.message_conversions_time_nanos // 1000 / 1000}"
        _request_logger.debug("%s", line)

    def release_buffer(self) -> None:
        """Give the memory back; nothing happens the second time."""
        if self.envelope is not None:
            self.envelope.release_buffer()
            return
        buffer = self.buffer
        if buffer is not None:
            self.buffer = None
            if self.memory_pool is not _NO_POOL or len(buffer) >= SMALLEST_RECYCLED:
                self.memory_pool.release(buffer)

    def __repr__(self) -> str:
        return (
            f"Request(processor={self.processor}, connectionId={self.context.connection_id}, "
            f"session={self.session}, listenerName={self.context.listener_name}, "
            f"securityProtocol={self.context.security_protocol}, buffer={self.buffer}, envelope={self.envelope})"
        )


class CallbackRequest(BaseRequest):
    """Work that a handler is to do for a request that another thread has made ready.

    Mirrors: kafka.network.RequestChannel.CallbackRequest @ 3.7.1
    """

    __slots__ = ("fun", "original_request")

    def __init__(self, fun: Callable[[RequestLocal], None], original_request: Request) -> None:
        self.fun = fun
        self.original_request = original_request


class Response:
    """What is to happen on a request's connection.

    Mirrors: kafka.network.RequestChannel.Response @ 3.7.1
    """

    __slots__ = ("request",)

    ends_request: ClassVar[bool] = True  # each request gets exactly one response that ends it

    def __init__(self, request: Request) -> None:
        self.request = request

    @property
    def processor(self) -> int:
        """Id of the processor that owns the connection."""
        return self.request.processor

    @property
    def response_log(self) -> str | None:
        """The answer for the request log."""
        return None

    @property
    def on_complete(self) -> Callable[[Send], None] | None:
        """What to call when the answer is sent."""
        return None

    def describe(self, header: RequestHeader) -> str:
        """The trace line of sending it."""
        return f"Sending {type(self).__name__} for {header.api_key.name} to client {header.client_id}"

    def __repr__(self) -> str:
        return f"Response(type={type(self).__name__.removesuffix('Response')}, request={self.request})"


class SendResponse(Response):
    """Write an answer, then read on.

    Mirrors: kafka.network.RequestChannel.SendResponse @ 3.7.1
    Left out: toString -- it is __repr__
    """

    __slots__ = ("on_complete_callback", "response_log_value", "response_send")

    def __init__(
        self,
        request: Request,
        response_send: Send,
        response_log_value: str | None = None,
        on_complete_callback: Callable[[Send], None] | None = None,
    ) -> None:
        """``response_log_value`` is given only when the request log is on."""
        self.request = request
        self.response_send = response_send
        self.response_log_value = response_log_value
        self.on_complete_callback = on_complete_callback

    @property
    def response_log(self) -> str | None:
        """The answer for the request log."""
        return self.response_log_value

    @property
    def on_complete(self) -> Callable[[Send], None] | None:
        """What to call when the answer is sent."""
        return self.on_complete_callback

    def describe(self, header: RequestHeader) -> str:
        """The trace line of sending it."""
        size = self.response_send.size()
        return f"Sending {header.api_key.name} response to client {header.client_id} of {size} bytes."

    def __repr__(self) -> str:
        return (
            f"Response(type=Send, request={self.request}, send={self.response_send}, "
            f"asString={self.response_log_value})"
        )


class NoOpResponse(Response):
    """Write nothing (acks=0), read on.

    Mirrors: kafka.network.RequestChannel.NoOpResponse @ 3.7.1
    Left out: toString -- it is __repr__
    """

    __slots__ = ()

    def describe(self, header: RequestHeader) -> str:
        """The trace line of not sending."""
        return f"Not sending {header.api_key.name} response to client {header.client_id} as it's not required."


class CloseConnectionResponse(Response):
    """Close the connection: the only way to tell a client of an error that expects no answer.

    Mirrors: kafka.network.RequestChannel.CloseConnectionResponse @ 3.7.1
    Left out: toString -- it is __repr__
    """

    __slots__ = ()

    def describe(self, header: RequestHeader) -> str:
        """The trace line of closing."""
        return f"Closing connection for client {header.client_id} due to error during {header.api_key.name}."


class StartThrottlingResponse(Response):
    """Do not read on before the throttle ends.

    Mirrors: kafka.network.RequestChannel.StartThrottlingResponse @ 3.7.1
    Left out: toString -- it is __repr__
    """

    __slots__ = ()
    ends_request: ClassVar[bool] = False

    def describe(self, header: RequestHeader) -> str:
        """The trace line of throttling."""
        return f"Notifying channel throttling has started for client {header.client_id} for {header.api_key.name}"


class EndThrottlingResponse(Response):
    """The throttle is over.

    Mirrors: kafka.network.RequestChannel.EndThrottlingResponse @ 3.7.1
    Left out: toString -- it is __repr__
    """

    __slots__ = ()
    ends_request: ClassVar[bool] = False

    def describe(self, header: RequestHeader) -> str:
        """The trace line of its end."""
        return f"Notifying channel throttling has ended for client {header.client_id} for {header.api_key.name}"


# a class body cannot say Request = Request to a type checker
_BaseRequest = BaseRequest
_ShutdownRequest = ShutdownRequest
_WakeupRequest = WakeupRequest
_Session = Session
_Metrics = Metrics
_Request = Request
_CallbackRequest = CallbackRequest
_Response = Response
_SendResponse = SendResponse
_NoOpResponse = NoOpResponse
_CloseConnectionResponse = CloseConnectionResponse
_StartThrottlingResponse = StartThrottlingResponse
_EndThrottlingResponse = EndThrottlingResponse


class RequestChannel(KafkaMetricsGroup):
    """Requests go to the handlers through one bounded queue, responses back to the processor they came from.

    Mirrors: kafka.network.RequestChannel @ 3.7.1
    Thread:  network threads put requests; handlers and others send responses.
    Locks:   those of the queues.
    Differs: `send_requests` puts all requests of one poll together.
    """

    REQUEST_QUEUE_SIZE_METRIC: ClassVar[str] = "RequestQueueSize"
    RESPONSE_QUEUE_SIZE_METRIC: ClassVar[str] = "ResponseQueueSize"
    PROCESSOR_METRIC_TAG: ClassVar[str] = "processor"

    BaseRequest: TypeAlias = _BaseRequest
    ShutdownRequest: ClassVar[BaseRequest] = _ShutdownRequest
    WakeupRequest: ClassVar[BaseRequest] = _WakeupRequest
    Session: TypeAlias = _Session
    Metrics: TypeAlias = _Metrics
    Request: TypeAlias = _Request
    CallbackRequest: TypeAlias = _CallbackRequest
    Response: TypeAlias = _Response
    SendResponse: TypeAlias = _SendResponse
    NoOpResponse: TypeAlias = _NoOpResponse
    CloseConnectionResponse: TypeAlias = _CloseConnectionResponse
    StartThrottlingResponse: TypeAlias = _StartThrottlingResponse
    EndThrottlingResponse: TypeAlias = _EndThrottlingResponse

    def __init__(self, queue_size: int, metric_name_prefix: str, time: Time, metrics: Metrics) -> None:
        """``queue_size`` is queued.max.requests, ``metric_name_prefix`` the plane's."""
        self.queue_size = queue_size
        self.metric_name_prefix = metric_name_prefix
        self._time = time
        self._nanoseconds = time.nanoseconds
        self.metrics = metrics
        self.request_queue: ArrayBlockingQueue[BaseRequest] = ArrayBlockingQueue(
            queue_size
        )  # handoff: network -> handler
        self.processors: ConcurrentHashMap[int, Processor] = ConcurrentHashMap()  # atomic
        self.callback_queue: ArrayBlockingQueue[BaseRequest] = ArrayBlockingQueue(queue_size)  # handoff: any -> handler
        self.request_queue_size_metric_name = metric_name_prefix + self.REQUEST_QUEUE_SIZE_METRIC
        self.response_queue_size_metric_name = metric_name_prefix + self.RESPONSE_QUEUE_SIZE_METRIC
        self.new_gauge(self.request_queue_size_metric_name, self.request_queue.size)
        self.new_gauge(
            self.response_queue_size_metric_name,
            lambda: sum(processor.response_queue_size for processor in self.processors.values()),
        )

    @staticmethod
    def is_request_logging_enabled() -> bool:
        """Whether kafka.request.logger writes DEBUG lines."""
        return _request_logger.debug_enabled

    def add_processor(self, processor: Processor) -> None:
        """Let responses find their way to ``processor``."""
        if self.processors.put_if_absent(processor.id, processor) is not None:
            self.warn("Unexpected processor with processorId %d", processor.id)
        self.new_gauge(
            self.response_queue_size_metric_name,
            lambda: processor.response_queue_size,
            {self.PROCESSOR_METRIC_TAG: str(processor.id)},
        )

    def remove_processor(self, processor_id: int) -> None:
        """Drop responses to this processor from now on: its connections are closed."""
        self.processors.remove(processor_id)
        self.remove_metric(self.response_queue_size_metric_name, {self.PROCESSOR_METRIC_TAG: str(processor_id)})

    def send_request(self, request: BaseRequest) -> None:
        """Queue a request for the handlers, waiting for a free place."""
        self.request_queue.put(request)

    def send_requests(self, requests: Sequence[BaseRequest]) -> None:
        """Queue the requests of one poll, waiting for free places."""
        self.request_queue.put_all(requests)

    def close_connection(self, request: Request, error_counts: Mapping[Errors, int]) -> None:
        """End a request whose client expects no answer but must learn of an error: acks=0."""
        self.update_error_metrics(request.header.api_key, error_counts)
        self._send(CloseConnectionResponse(request))

    def send_response(
        self,
        request: Request | Response,
        response: AbstractResponse | None = None,
        on_complete: Callable[[Send], None] | None = None,
    ) -> None:
        """Answer ``request`` with ``response``; or, given a Response alone, pass that to its processor."""
        if response is None:
            assert isinstance(request, Response), "a request needs an answer"
            self._send(request)
            return
        assert isinstance(request, Request), "a Response is complete"
        self.update_error_metrics(request.header.api_key, response.error_counts())
        log_value = request.response_node(response) if _request_logger.debug_enabled else None
        self._send(SendResponse(request, request.build_response_send(response), log_value, on_complete))

    def send_no_op_response(self, request: Request) -> None:
        """End a request that has no answer."""
        self._send(NoOpResponse(request))

    def start_throttling(self, request: Request) -> None:
        """Keep the request's connection muted until end_throttling; called once client quotas are enforced."""
        self._send(StartThrottlingResponse(request))

    def end_throttling(self, request: Request) -> None:
        """Let the request's connection be read again, once its answer is sent."""
        self._send(EndThrottlingResponse(request))

    def _send(self, response: Response) -> None:
        request = response.request
        if self.logger.trace_enabled:
            self.trace("%s", response.describe(request.header_for_logging_or_throttling()))
        if response.ends_request:
            now = self._nanoseconds()
            request.response_complete_time_nanos = now
            if request.api_local_complete_time_nanos == -1:
                request.api_local_complete_time_nanos = now
            # a callback that answers after the API has returned ends here
            if (
                request.callback_request_dequeue_time_nanos is not None
                and request.callback_request_complete_time_nanos is None
            ):
                request.callback_request_complete_time_nanos = now
        # a processor that was shut down has closed its connections: nobody waits for the answer
        processor = self.processors.get(request.processor)
        if processor is not None and processor.enqueue_response(response) and self.request_queue.is_empty():
            # nobody waits for us: let the network thread send, for it cannot while we go on
            yield_core()

    def receive_request(self, timeout: int | None = None) -> BaseRequest | None:
        """The next request; callbacks, which have waited in line once, go first.

        Waits up to ``timeout`` ms and then returns None; without a timeout waits until there is one.
        """
        if timeout is None:
            return self.request_queue.take()
        if not self.callback_queue.is_empty():
            callback = self.callback_queue.poll()
            if callback is not None:
                return callback
        request = self.request_queue.poll(timeout)
        return self.callback_queue.poll() if request is WakeupRequest else request

    def update_error_metrics(self, api_key: ApiKeys, errors: Mapping[Errors, int]) -> None:
        """Count the errors an answer tells of."""
        mark = self.metrics.apply(api_key.name).mark_error_meter
        for error in errors:
            mark(error, errors[error])

    def clear(self) -> None:
        """Throw queued requests away."""
        self.request_queue.clear()
        self.callback_queue.clear()

    def shutdown(self) -> None:
        """Throw queued requests and the metrics away."""
        self.clear()
        self.metrics.close()

    def send_shutdown_request(self) -> None:
        """End one handler, after the requests queued so far."""
        self.request_queue.put(ShutdownRequest)

    def send_callback_request(self, request: CallbackRequest) -> None:
        """Queue a callback, and wake a handler for it."""
        self.callback_queue.put(request)
        if not self.request_queue.offer(WakeupRequest):
            self.trace(
                "Wakeup request could not be added to queue. This means queue is full, "
                "so we will still process callback."
            )

    def __repr__(self) -> str:
        return (
            f"RequestChannel(queued={self.request_queue.size()}/{self.queue_size}, "
            f"callbacks={self.callback_queue.size()}, processors={sorted(self.processors)})"
        )

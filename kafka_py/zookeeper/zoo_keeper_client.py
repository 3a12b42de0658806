"""A ZooKeeper client that pipelines requests and brings a lost session back the way Kafka does.

Mirrors: core/src/main/scala/kafka/zookeeper/ZooKeeperClient.scala @ 1.1.1
Read next: zookeeper/zoo_keeper.py (the handle below it), zk/kafka_zk_client.py (what is built on it)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.metrics.yammer import MetricName
from kafka_py.utils.concurrent import (
    ConcurrentHashMap,
    CountDownLatch,
    ReentrantLock,
    ReentrantReadWriteLock,
    Semaphore,
)
from kafka_py.utils.kafka_scheduler import KafkaScheduler
from kafka_py.zookeeper.keeper_exception import Code
from kafka_py.zookeeper.op import OpResult, ZkOpResult
from kafka_py.zookeeper.requests import (
    AsyncRequest,
    AsyncResponse,
    CreateRequest,
    CreateResponse,
    DeleteRequest,
    DeleteResponse,
    ExistsRequest,
    ExistsResponse,
    GetAclRequest,
    GetAclResponse,
    GetChildrenRequest,
    GetChildrenResponse,
    GetDataRequest,
    GetDataResponse,
    MultiRequest,
    MultiResponse,
    ResponseMetadata,
    SetAclRequest,
    SetAclResponse,
    SetDataRequest,
    SetDataResponse,
)
from kafka_py.zookeeper.zoo_keeper import States, ZooKeeper
from kafka_py.zookeeper.zoo_keeper_events import EventType, KeeperState, WatchedEvent

__all__ = [
    "AsyncRequest",
    "AsyncResponse",
    "Code",
    "CreateRequest",
    "CreateResponse",
    "DeleteRequest",
    "DeleteResponse",
    "ExistsRequest",
    "ExistsResponse",
    "GetAclRequest",
    "GetAclResponse",
    "GetChildrenRequest",
    "GetChildrenResponse",
    "GetDataRequest",
    "GetDataResponse",
    "MultiRequest",
    "MultiResponse",
    "ResponseMetadata",
    "SetAclRequest",
    "SetAclResponse",
    "SetDataRequest",
    "SetDataResponse",
    "StateChangeHandler",
    "ZNodeChangeHandler",
    "ZNodeChildChangeHandler",
    "ZooKeeperClient",
    "ZooKeeperClientAuthFailedException",
    "ZooKeeperClientException",
    "ZooKeeperClientExpiredException",
    "ZooKeeperClientTimeoutException",
]

_NO_TAGS: Mapping[str, str] = {}
R = TypeVar("R", bound=AsyncResponse)


class StateChangeHandler:
    """Told when the session ends and when a new one has begun; override what is of interest.

    Mirrors: kafka.zookeeper.StateChangeHandler
    """

    name: str = ""

    def before_initializing_session(self) -> None:
        """The session is gone; runs before a new one is opened, on the expiry thread."""
        return

    def after_initializing_session(self) -> None:
        """A new session has been opened (it may not be connected yet), on the expiry thread."""
        return

    def on_auth_failure(self) -> None:
        """The server refused the credentials."""
        return


class ZNodeChangeHandler:
    """Told of changes of one node; override what is of interest.

    Mirrors: kafka.zookeeper.ZNodeChangeHandler
    """

    path: str = ""

    def handle_creation(self) -> None:
        """The node came into being."""
        return

    def handle_deletion(self) -> None:
        """The node went away."""
        return

    def handle_data_change(self) -> None:
        """The node's data was written."""
        return


class ZNodeChildChangeHandler:
    """Told that children of one node came or went.

    Mirrors: kafka.zookeeper.ZNodeChildChangeHandler
    """

    path: str = ""

    def handle_child_change(self) -> None:
        """The list of children is another one now."""
        return


class ZooKeeperClientException(RuntimeError):
    """The client cannot reach, or may not use, ZooKeeper.

    Mirrors: kafka.zookeeper.ZooKeeperClientException
    """


class ZooKeeperClientExpiredException(ZooKeeperClientException):
    """The session ended before or while waiting for the connection.

    Mirrors: kafka.zookeeper.ZooKeeperClientExpiredException
    """


class ZooKeeperClientAuthFailedException(ZooKeeperClientException):
    """The credentials were refused before or while waiting for the connection.

    Mirrors: kafka.zookeeper.ZooKeeperClientAuthFailedException
    """


class ZooKeeperClientTimeoutException(ZooKeeperClientException):
    """The connection did not come in time.

    Mirrors: kafka.zookeeper.ZooKeeperClientTimeoutException
    """


class ZooKeeperClient(KafkaMetricsGroup):
    """Sends requests many at a time, calls the handlers of changed nodes, and opens a new session after an expiry.

    Mirrors: kafka.zookeeper.ZooKeeperClient
    Thread: any; handlers run on the handle's event thread, session handlers on zk-session-expiry-handler0.
    Locks: initialization_lock (shared by requests, held alone while the handle is replaced)
    Differs: responses stand in the order of their requests, also when a connection breaks in between (the original
        takes the order of arrival for it); the watcher object is the method zoo_keeper_client_watcher; an expiry
        that is handled while close() runs opens no session that nobody would close; who waits for a connection when
        the client is closed hears of it (ZooKeeperClientExpiredException) instead of waiting for ever; a broker that
        stops sets a limit to all waits for a connection, which have none in any Kafka.
    """

    logger_name = "kafka.zookeeper.ZooKeeperClient"

    def __init__(
        self,
        connect_string: str,
        session_timeout_ms: int,
        connection_timeout_ms: int,
        max_in_flight_requests: int,
        time: Any,
        metric_group: str = "kafka.server",
        metric_type: str = "SessionExpireListener",
    ) -> None:
        """Open a session and wait for it; raises ZooKeeperClientTimeoutException after connection_timeout_ms."""
        self.log_ident = "[ZooKeeperClient] "
        self._connect_string = connect_string
        self._session_timeout_ms = session_timeout_ms
        self._time = time
        self._metric_group = metric_group
        self._metric_type = metric_type
        self._initialization_lock = ReentrantReadWriteLock()
        self._is_connected_or_expired_lock = ReentrantLock()
        self._is_connected_or_expired_condition = self._is_connected_or_expired_lock.new_condition()
        self._znode_change_handlers: Any = ConcurrentHashMap()  # atomic
        self._znode_child_change_handlers: Any = ConcurrentHashMap()  # atomic
        self._state_change_handlers: Any = ConcurrentHashMap()  # atomic
        self._in_flight_requests = Semaphore(max_in_flight_requests)  # atomic
        self.expiry_scheduler = KafkaScheduler(threads=1, thread_name_prefix="zk-session-expiry-handler")
        self._metric_names: set[str] = set()  # thread: constructor
        self._closed = False  # volatile: writer under initialization_lock
        self._limit_ms: int | None = None  # volatile: writer under _is_connected_or_expired_lock
        self._waits_end_at = 0.0  # guarded by: _is_connected_or_expired_lock
        self._senders = self._make_senders()
        # The meters must be there before the handle, whose thread marks them.
        self._state_to_meter_map = self._make_meters()
        self.info("Initializing a new session to %s.", connect_string)
        # A handle that cannot even be made fails the constructor; only reinitialize() retries for ever.
        self._zoo_keeper = self._new_zoo_keeper()  # volatile: writer under initialization_lock
        self.new_gauge("SessionState", lambda: str(self.connection_state))
        self._metric_names.add("SessionState")
        self.expiry_scheduler.startup()
        try:
            self._wait_until_connected(connection_timeout_ms)
        except ZooKeeperClientException:
            # The caller gets no object to close: leave no thread behind.
            self.close()
            raise

    def _make_meters(self) -> dict[KeeperState, Any]:
        event_types = {
            KeeperState.DISCONNECTED: "Disconnects",
            KeeperState.SYNC_CONNECTED: "SyncConnects",
            KeeperState.AUTH_FAILED: "AuthFailures",
            KeeperState.CONNECTED_READ_ONLY: "ReadOnlyConnects",
            KeeperState.SASL_AUTHENTICATED: "SaslAuthentications",
            KeeperState.EXPIRED: "Expires",
        }
        meters = {}
        for state, event_type in event_types.items():
            name = f"ZooKeeper{event_type}PerSec"
            self._metric_names.add(name)
            meters[state] = self.new_meter(name, event_type.lower())
        return meters

    def _new_zoo_keeper(self) -> ZooKeeper:
        return ZooKeeper(self._connect_string, self._session_timeout_ms, self.zoo_keeper_client_watcher)

    def metric_name(self, name: str, tags: Mapping[str, str] = _NO_TAGS) -> MetricName:
        """Metrics stand under the group and type that the constructor was given."""
        return self.explicit_metric_name(self._metric_group, self._metric_type, name, tags)

    @property
    def connection_state(self) -> States:
        """State of the connection to ZooKeeper."""
        return self._zoo_keeper.get_state()

    def handle_request(self, request: AsyncRequest[R]) -> R:
        """Send one request and wait for its response."""
        return self.handle_requests([request])[0]

    def handle_requests(self, requests: Sequence[AsyncRequest[R]]) -> list[R]:
        """Send all the requests, then wait for all the responses, which come in the same order.

        A request for data, existence or children sets a watch when a handler for its path is registered. Errors are
        in the responses' result codes.
        """
        if not requests:
            return []
        latch = CountDownLatch(len(requests))
        responses: list[R | None] = [None] * len(requests)
        release = self._in_flight_requests.release

        def receiver(index: int) -> Callable[[AsyncResponse], None]:
            def process_response(response: AsyncResponse) -> None:
                responses[index] = cast("R", response)
                release()
                latch.count_down()

            return process_response

        for index, request in enumerate(requests):
            self._in_flight_requests.acquire()
            try:
                with self._initialization_lock.read_lock():
                    self.send(request, receiver(index))
            except BaseException:
                release()
                raise
        latch.await_()
        return cast("list[R]", responses)

    def send(self, request: AsyncRequest[Any], process_response: Callable[[Any], None]) -> None:
        """Hand one request to the handle; process_response is called once, on the connection's thread."""
        send_time_ms = self._time.hi_res_clock_ms()

        def metadata() -> ResponseMetadata:
            return ResponseMetadata(send_time_ms, self._time.hi_res_clock_ms())

        self._senders[type(request)](request, process_response, metadata)

    def _make_senders(self) -> dict[type, Callable[[Any, Callable[[Any], None], Callable[[], ResponseMetadata]], None]]:
        return {
            ExistsRequest: self._send_exists,
            GetDataRequest: self._send_get_data,
            GetChildrenRequest: self._send_get_children,
            CreateRequest: self._send_create,
            SetDataRequest: self._send_set_data,
            DeleteRequest: self._send_delete,
            GetAclRequest: self._send_get_acl,
            SetAclRequest: self._send_set_acl,
            MultiRequest: self._send_multi,
        }

    def _send_exists(self, r: ExistsRequest, done: Callable[[Any], None], meta: Callable[[], Any]) -> None:
        self._zoo_keeper.exists(
            r.path,
            self._should_watch(r),
            lambda code, stat: done(ExistsResponse(code, r.path, r.ctx, meta(), stat)),
        )

    def _send_get_data(self, r: GetDataRequest, done: Callable[[Any], None], meta: Callable[[], Any]) -> None:
        def callback(code: Code, result: Any) -> None:
            answer: Any = result or (None, None)
            data, stat = answer
            done(GetDataResponse(code, r.path, r.ctx, meta(), data, stat))

        self._zoo_keeper.get_data(r.path, self._should_watch(r), callback)

    def _send_get_children(self, r: GetChildrenRequest, done: Callable[[Any], None], meta: Callable[[], Any]) -> None:
        def callback(code: Code, result: Any) -> None:
            answer: Any = result or ([], None)
            children, stat = answer
            done(GetChildrenResponse(code, r.path, r.ctx, meta(), children, stat))

        self._zoo_keeper.get_children(r.path, self._should_watch(r), callback)

    def _send_create(self, r: CreateRequest, done: Callable[[Any], None], meta: Callable[[], Any]) -> None:
        self._zoo_keeper.create(
            r.path,
            r.data,
            r.acl,
            r.create_mode,
            lambda code, name: done(CreateResponse(code, r.path, r.ctx, meta(), name)),
        )

    def _send_set_data(self, r: SetDataRequest, done: Callable[[Any], None], meta: Callable[[], Any]) -> None:
        self._zoo_keeper.set_data(
            r.path, r.data, r.version, lambda code, stat: done(SetDataResponse(code, r.path, r.ctx, meta(), stat))
        )

    def _send_delete(self, r: DeleteRequest, done: Callable[[Any], None], meta: Callable[[], Any]) -> None:
        self._zoo_keeper.delete(r.path, r.version, lambda code, _: done(DeleteResponse(code, r.path, r.ctx, meta())))

    def _send_get_acl(self, r: GetAclRequest, done: Callable[[Any], None], meta: Callable[[], Any]) -> None:
        def callback(code: Code, result: Any) -> None:
            answer: Any = result or ([], None)
            acl, stat = answer
            done(GetAclResponse(code, r.path, r.ctx, meta(), acl, stat))

        self._zoo_keeper.get_acl(r.path, callback)

    def _send_set_acl(self, r: SetAclRequest, done: Callable[[Any], None], meta: Callable[[], Any]) -> None:
        self._zoo_keeper.set_acl(
            r.path, r.acl, r.version, lambda code, stat: done(SetAclResponse(code, r.path, r.ctx, meta(), stat))
        )

    def _send_multi(self, r: MultiRequest, done: Callable[[Any], None], meta: Callable[[], Any]) -> None:
        def callback(code: Code, results: Sequence[OpResult] | None) -> None:
            pairs = None if results is None else [ZkOpResult(*pair) for pair in zip(r.zk_ops, results, strict=True)]
            done(MultiResponse(code, r.path, r.ctx, meta(), pairs))

        self._zoo_keeper.multi(r.zk_ops, callback)

    def wait_until_connected(self) -> None:
        """Wait for the connection, without limit unless limit_waits() has set one.

        Raises ZooKeeperClientAuthFailedException or ZooKeeperClientExpiredException when it cannot come any more,
        ZooKeeperClientTimeoutException when the limit is reached.
        """
        self._wait_until_connected(None)

    def limit_waits(self, limit_ms: int) -> None:
        """From now on wait no longer than this, from now or from the loss of the connection, whichever is later.

        Who waits already is held to it too: a broker that stops must not wait for a ZooKeeper that never comes back.
        """
        with self._is_connected_or_expired_lock:
            self._limit_ms = limit_ms
            self._waits_end_at = self._time.hi_res_clock_ms() + limit_ms
            self._is_connected_or_expired_condition.signal_all()

    @property
    def must_wait_first(self) -> bool:
        """Whether requests wait for the connection before they are queued: under a limit, which a queue has not."""
        return self._limit_ms is not None and self.connection_state is States.CONNECTING

    def _remaining_ms(self, deadline: float | None) -> float | None:
        """How long to wait for the connection, None for ever. Caller holds _is_connected_or_expired_lock."""
        ends = [end for end in (deadline, None if self._limit_ms is None else self._waits_end_at) if end is not None]
        return min(ends) - self._time.hi_res_clock_ms() if ends else None

    def _wait_until_connected(self, timeout_ms: int | None) -> None:
        self.info("Waiting until connected.")
        deadline = None if timeout_ms is None else self._time.hi_res_clock_ms() + timeout_ms
        with self._is_connected_or_expired_lock:
            remaining = self._remaining_ms(deadline)
            state = self.connection_state
            while not state.is_connected() and state.is_alive():
                if remaining is not None and remaining <= 0:
                    raise ZooKeeperClientTimeoutException(f"Timed out waiting for connection while in state: {state}")
                signalled = self._is_connected_or_expired_condition.await_(remaining)
                remaining = self._remaining_ms(deadline) if signalled else 0
                state = self.connection_state
        if state is States.AUTH_FAILED:
            raise ZooKeeperClientAuthFailedException("Auth failed either before or while waiting for connection")
        if state is States.CLOSED:
            raise ZooKeeperClientExpiredException("Session expired either before or while waiting for connection")
        self.info("Connected.")

    def _should_watch(self, request: AsyncRequest[Any]) -> bool:
        if isinstance(request, GetChildrenRequest):
            return request.path in self._znode_child_change_handlers
        if isinstance(request, ExistsRequest | GetDataRequest):
            return request.path in self._znode_change_handlers
        raise ValueError(f"Request {request} is not watchable")

    def register_znode_change_handler(self, znode_change_handler: ZNodeChangeHandler) -> None:
        """Remember the handler; the watch is set by the next GetDataRequest or ExistsRequest for its path.

        Only an ExistsRequest can watch a node that is not there.
        """
        self._znode_change_handlers.put(znode_change_handler.path, znode_change_handler)

    def unregister_znode_change_handler(self, path: str) -> None:
        """Forget the handler of that path; a watch already set fires into nothing."""
        self._znode_change_handlers.remove(path)

    def register_znode_child_change_handler(self, znode_child_change_handler: ZNodeChildChangeHandler) -> None:
        """Remember the handler; the watch is set by the next GetChildrenRequest for its path."""
        self._znode_child_change_handlers.put(znode_child_change_handler.path, znode_child_change_handler)

    def unregister_znode_child_change_handler(self, path: str) -> None:
        """Forget the handler of that path."""
        self._znode_child_change_handlers.remove(path)

    # The same four under the names that readers of the blogs look for.
    register_znode_change_handler = register_znode_change_handler
    unregister_znode_change_handler = unregister_znode_change_handler
    register_znode_child_change_handler = register_znode_child_change_handler
    unregister_znode_child_change_handler = unregister_znode_child_change_handler

    def register_state_change_handler(self, state_change_handler: StateChangeHandler | None) -> None:
        """Call the handler around each new session; one of the same name is replaced."""
        with self._initialization_lock.read_lock():
            if state_change_handler is not None:
                self._state_change_handlers.put(state_change_handler.name, state_change_handler)

    def unregister_state_change_handler(self, name: str) -> None:
        """Forget the handler of that name."""
        with self._initialization_lock.read_lock():
            self._state_change_handlers.remove(name)

    def close(self) -> None:
        """End the session and stop the threads."""
        self.info("Closing.")
        with self._initialization_lock.write_lock():
            self._znode_change_handlers.clear()
            self._znode_child_change_handlers.clear()
            self._state_change_handlers.clear()
            self._closed = True
            self._zoo_keeper.close()
            for name in self._metric_names:
                self.remove_metric(name)
        with self._is_connected_or_expired_lock:
            self._is_connected_or_expired_condition.signal_all()  # no event tells a waiter of a handle that was closed
        # Outside of the lock: the scheduler's task and a running handler may be waiting for it.
        self.expiry_scheduler.shutdown()
        self._zoo_keeper.join()
        self.info("Closed.")

    @property
    def session_id(self) -> int:
        """Number of the current session."""
        with self._initialization_lock.read_lock():
            return self._zoo_keeper.get_session_id()

    @property
    def current_zoo_keeper(self) -> ZooKeeper:
        """The handle of the current session; for tests."""
        with self._initialization_lock.read_lock():
            return self._zoo_keeper

    def _reinitialize(self) -> None:
        # The handlers run without the lock: what they do may need requests, which take it.
        for handler in self._state_change_handlers.values():
            self._call_before_initializing_session(handler)
        with self._initialization_lock.write_lock():
            if not self.connection_state.is_alive() and not self._closed:
                self._zoo_keeper.close()
                self.info("Initializing a new session to %s.", self._connect_string)
                self._zoo_keeper = self._retry_new_zoo_keeper()
        for handler in self._state_change_handlers.values():
            self._call_after_initializing_session(handler)

    def _retry_new_zoo_keeper(self) -> ZooKeeper:
        while True:
            try:
                return self._new_zoo_keeper()
            except Exception as e:  # noqa: BLE001  # a broker without a session has nothing better to do than to retry
                self.info("Error when recreating ZooKeeper, retrying after a short sleep", exc=e)
                self._time.sleep(1000)

    def force_reinitialize(self) -> None:
        """End the session and open a new one; for tests."""
        self._zoo_keeper.close()
        self._reinitialize()

    def _call_before_initializing_session(self, handler: StateChangeHandler) -> None:
        try:
            handler.before_initializing_session()
        except Exception as e:  # noqa: BLE001  # one handler's failure must not keep the session from coming back
            self.error("Uncaught error in handler %s", handler.name, exc=e)

    def _call_after_initializing_session(self, handler: StateChangeHandler) -> None:
        try:
            handler.after_initializing_session()
        except Exception as e:  # noqa: BLE001  # the other handlers must still be called
            self.error("Uncaught error in handler %s", handler.name, exc=e)

    def schedule_session_expiry_handler(self) -> None:
        """Have the expiry thread open a new session."""
        self.expiry_scheduler.schedule_once("zk-session-expired", self._on_session_expired)

    def _on_session_expired(self) -> None:
        self.info("Session expired.")
        self._reinitialize()

    def zoo_keeper_client_watcher(self, event: WatchedEvent) -> None:
        """Take one event of the handle, on its event thread: a state of the connection, or a change of a node."""
        self.debug("Received event: %s", event)
        if event.path is None:
            self._process_state(event.state)
        elif event.type is EventType.NODE_CHILDREN_CHANGED:
            self._notify(self._znode_child_change_handlers, event.path, "handle_child_change")
        elif event.type is EventType.NODE_CREATED:
            self._notify(self._znode_change_handlers, event.path, "handle_creation")
        elif event.type is EventType.NODE_DELETED:
            self._notify(self._znode_change_handlers, event.path, "handle_deletion")
        elif event.type is EventType.NODE_DATA_CHANGED:
            self._notify(self._znode_change_handlers, event.path, "handle_data_change")

    def _process_state(self, state: KeeperState) -> None:
        self._state_to_meter_map[state].mark()
        with self._is_connected_or_expired_lock:
            if state is KeeperState.DISCONNECTED and self._limit_ms is not None:
                self._waits_end_at = self._time.hi_res_clock_ms() + self._limit_ms
            self._is_connected_or_expired_condition.signal_all()
        if state is KeeperState.AUTH_FAILED:
            self.error("Auth failed.")
            for handler in self._state_change_handlers.values():
                handler.on_auth_failure()
        elif state is KeeperState.EXPIRED:
            self.schedule_session_expiry_handler()

    def _notify(self, handlers: Any, path: str, method: str) -> None:
        handler = handlers.get(path)
        if handler is None:
            return
        try:
            getattr(handler, method)()
        except Exception as e:  # noqa: BLE001  # ZooKeeper's event thread logs what a watcher throws and goes on
            self.error("Error while calling watcher of %s", path, exc=e)

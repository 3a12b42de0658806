"""ZooKeeperClient against both servers; ported from Kafka's ZooKeeperClientTest."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kazoo.protocol.serialization import GetChildren2
from kazoo.protocol.states import KeeperState as KazooKeeperState

from kafka_py.common.utils.time import Time
from kafka_py.embedded.data_tree import TreeException
from kafka_py.embedded.request_processor import OpCode
from kafka_py.embedded.zookeeper_server import ZooKeeperServer
from kafka_py.testing.mock_time import MockTime
from kafka_py.utils.concurrent import CountDownLatch
from kafka_py.zookeeper.keeper_exception import NoNodeException
from kafka_py.zookeeper.op import (
    CheckOp,
    CheckResult,
    CreateOp,
    CreateResult,
    DeleteOp,
    DeleteResult,
    ErrorResult,
    SetDataOp,
    SetDataResult,
    ZkOp,
)
from kafka_py.zookeeper.zoo_defs import ACL, CreateMode, Id, Ids
from kafka_py.zookeeper.zoo_keeper import States, ZooKeeper
from kafka_py.zookeeper.zoo_keeper_client import (
    AsyncRequest,
    Code,
    CreateRequest,
    DeleteRequest,
    ExistsRequest,
    GetAclRequest,
    GetChildrenRequest,
    GetDataRequest,
    MultiRequest,
    SetAclRequest,
    SetDataRequest,
    StateChangeHandler,
    ZNodeChangeHandler,
    ZNodeChildChangeHandler,
    ZooKeeperClient,
    ZooKeeperClientExpiredException,
    ZooKeeperClientTimeoutException,
)
from kafka_py.zookeeper.zoo_keeper_events import EventType, KeeperState, WatchedEvent

WAIT_MS = 10_000
Connect = Callable[..., ZooKeeperClient]


@pytest.fixture
def connect(zk_connect: str) -> Iterator[Connect]:
    """Makes clients and closes them."""
    clients = []

    def make(cls: type[ZooKeeperClient] = ZooKeeperClient, max_in_flight: int = 100) -> ZooKeeperClient:
        client = cls(zk_connect, 6000, 6000, max_in_flight, Time.SYSTEM)
        clients.append(client)
        return client

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def client(connect: Connect) -> ZooKeeperClient:
    return connect()


def create(path: str, data: bytes | None = b"", mode: CreateMode = CreateMode.PERSISTENT) -> CreateRequest:
    return CreateRequest(path, data, Ids.OPEN_ACL_UNSAFE, mode)


def codes(client: ZooKeeperClient, *requests: AsyncRequest[Any]) -> list[Code]:
    return [response.result_code for response in client.handle_requests(requests)]


def take_session_away(client: ZooKeeperClient, zk_connect: str) -> None:
    """End the client's session from another connection, which is what an expiry looks like to it."""
    handle = client.current_zoo_keeper
    connected = CountDownLatch(1)

    def watcher(event: WatchedEvent) -> None:
        if event.state is KeeperState.SYNC_CONNECTED:
            connected.count_down()

    thief = ZooKeeper(zk_connect, 6000, watcher, client_id=(handle.get_session_id(), handle.get_session_passwd()))
    assert connected.await_(WAIT_MS)
    thief.close()
    thief.join()


class Recorder(StateChangeHandler):
    """Notes the calls around a new session, and the threads they came on."""

    def __init__(self, name: str = "recorder") -> None:
        self.name = name
        self.calls: list[str] = []
        self.threads: set[str] = set()
        self.after = CountDownLatch(1)

    def before_initializing_session(self) -> None:
        self.calls.append("before")
        self.threads.add(threading.current_thread().name)

    def after_initializing_session(self) -> None:
        self.calls.append("after")
        self.after.count_down()

    def on_auth_failure(self) -> None:
        self.calls.append("auth failure")


class NodeHandler(ZNodeChangeHandler):
    """Notes what happens to a node."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.events: list[str] = []
        self.called = CountDownLatch(1)

    def _note(self, event: str) -> None:
        self.events.append(event)
        self.called.count_down()

    def handle_creation(self) -> None:
        self._note("creation")

    def handle_deletion(self) -> None:
        self._note("deletion")

    def handle_data_change(self) -> None:
        self._note("data change")


class ChildHandler(ZNodeChildChangeHandler):
    def __init__(self, path: str) -> None:
        self.path = path
        self.called = CountDownLatch(1)

    def handle_child_change(self) -> None:
        self.called.count_down()


@pytest.mark.slow
@pytest.mark.ported("ZooKeeperClientTest.testConnectionTimeout")
def test_a_server_that_is_not_there_is_a_timeout() -> None:
    threads = threading.active_count()
    with pytest.raises(ZooKeeperClientTimeoutException, match="Timed out waiting for connection while in state"):
        ZooKeeperClient("127.0.0.1:1", 1000, 100, 10, Time.SYSTEM)
    assert threading.active_count() == threads


@pytest.mark.ported("ZooKeeperClientTest.testUnresolvableConnectString", changes="a timeout, as kazoo looks names up")
@pytest.mark.slow
def test_a_name_that_does_not_resolve_is_a_timeout() -> None:
    with pytest.raises(ZooKeeperClientTimeoutException):
        ZooKeeperClient("some.invalid.hostname.foo.bar.invalid", 1000, 100, 10, Time.SYSTEM)


@pytest.mark.ported("ZooKeeperClientTest.testConnection")
def test_a_new_client_is_connected(client: ZooKeeperClient) -> None:
    assert client.connection_state is States.CONNECTED
    assert client.session_id != 0


@pytest.mark.ported(
    "ZooKeeperClientTest.testDeleteNonExistentZNode",
    "ZooKeeperClientTest.testExistsNonExistentZNode",
    "ZooKeeperClientTest.testGetDataNonExistentZNode",
    "ZooKeeperClientTest.testSetDataNonExistentZNode",
    "ZooKeeperClientTest.testGetAclNonExistentZNode",
    "ZooKeeperClientTest.testSetAclNonExistentZNode",
    "ZooKeeperClientTest.testGetChildrenNonExistentZNode",
)
def test_absent_nodes_answer_nonode(client: ZooKeeperClient) -> None:
    requests: list[AsyncRequest[Any]] = [
        DeleteRequest("/absent", -1),
        ExistsRequest("/absent"),
        GetDataRequest("/absent"),
        SetDataRequest("/absent", b"", -1),
        GetAclRequest("/absent"),
        SetAclRequest("/absent", Ids.OPEN_ACL_UNSAFE, -1),
        GetChildrenRequest("/absent"),
        create("/absent/child"),
    ]
    assert codes(client, *requests) == [Code.NONODE] * len(requests)
    response = client.handle_request(DeleteRequest("/absent", -1))
    with pytest.raises(NoNodeException, match="KeeperErrorCode = NoNode for /absent"):
        response.maybe_throw()
    assert isinstance(response.result_exception, NoNodeException)


@pytest.mark.ported(
    "ZooKeeperClientTest.testSetDataExistingZNode",
    "ZooKeeperClientTest.testDeleteExistingZNode",
    "ZooKeeperClientTest.testExistsExistingZNode",
    "ZooKeeperClientTest.testGetDataExistingZNode",
)
def test_create_write_read_and_delete(client: ZooKeeperClient) -> None:
    created = client.handle_request(create("/node", None))
    assert (created.result_code, created.name) == (Code.OK, "/node")
    assert client.handle_request(GetDataRequest("/node")).data in (None, b"")
    written = client.handle_request(SetDataRequest("/node", b"data", 0))
    assert written.stat.version == 1
    read = client.handle_request(GetDataRequest("/node", ctx="context"))
    assert (read.data, read.stat.version, read.stat.data_length, read.ctx) == (b"data", 1, 4, "context")
    assert read.metadata.response_time_ms >= 0
    assert client.handle_request(ExistsRequest("/node")).stat == read.stat
    assert codes(client, SetDataRequest("/node", b"x", 7), create("/node")) == [Code.BADVERSION, Code.NODEEXISTS]
    assert codes(client, DeleteRequest("/node", 7), DeleteRequest("/node", 1)) == [Code.BADVERSION, Code.OK]


@pytest.mark.ported("ZooKeeperClientTest.testGetAclExistingZNode")
def test_access_lists(client: ZooKeeperClient) -> None:
    assert codes(client, create("/node")) == [Code.OK]
    assert client.handle_request(GetAclRequest("/node")).acl == Ids.OPEN_ACL_UNSAFE
    written = client.handle_request(SetAclRequest("/node", Ids.READ_ACL_UNSAFE, -1))
    assert written.stat.aversion == 1
    assert client.handle_request(GetAclRequest("/node")).acl == Ids.READ_ACL_UNSAFE
    assert codes(client, SetDataRequest("/node", b"", -1)) == [Code.NOAUTH]


@pytest.mark.ported(
    "ZooKeeperClientTest.testGetChildrenExistingZNodeWithChildren",
    "ZooKeeperClientTest.testGetChildrenExistingZNode",
)
def test_children(client: ZooKeeperClient) -> None:
    assert codes(client, create("/node"), create("/node/a"), create("/node/b")) == [Code.OK] * 3
    response = client.handle_request(GetChildrenRequest("/node"))
    assert sorted(response.children) == ["a", "b"]
    assert (response.stat.num_children, response.stat.cversion) == (2, 2)
    assert client.handle_request(GetChildrenRequest("/node/a")).children == []
    assert codes(client, DeleteRequest("/node", -1)) == [Code.NOTEMPTY]


def test_sequential_nodes_are_numbered_by_their_parent(client: ZooKeeperClient) -> None:
    requests = [create("/s"), *(create("/s/n-", mode=CreateMode.PERSISTENT_SEQUENTIAL) for _ in range(2))]
    assert [response.name for response in client.handle_requests(requests)] == [
        "/s",
        "/s/n-0000000000",
        "/s/n-0000000001",
    ]
    assert codes(client, DeleteRequest("/s/n-0000000001", -1)) == [Code.OK]
    response = client.handle_request(create("/s/other", mode=CreateMode.EPHEMERAL_SEQUENTIAL))
    assert response.name == "/s/other0000000002"


@pytest.mark.ported("ZooKeeperClientTest.testPipelinedGetData")
def test_pipelined_requests_are_answered_in_order(client: ZooKeeperClient) -> None:
    creates = client.handle_requests([create(f"/{i}", b"%d" % (i * 2)) for i in range(1, 4)])
    assert [response.result_code for response in creates] == [Code.OK] * 3
    reads = client.handle_requests([GetDataRequest(f"/{i}") for i in range(1, 4)])
    assert [response.data for response in reads] == [b"2", b"4", b"6"]
    assert client.handle_requests([]) == []


@pytest.mark.ported("ZooKeeperClientTest.testMixedPipeline")
def test_requests_of_several_kinds_in_one_pipeline(client: ZooKeeperClient) -> None:
    assert codes(client, create("/node"), GetDataRequest("/node"), SetDataRequest("/absent", b"", -1)) == [
        Code.OK,
        Code.OK,
        Code.NONODE,
    ]


def test_more_requests_than_may_be_in_flight(connect: Connect) -> None:
    client = connect(max_in_flight=2)
    assert codes(client, *(create(f"/{i}") for i in range(20))) == [Code.OK] * 20


@pytest.mark.ported("ZooKeeperClientTest.testZNodeChangeHandlerForCreation")
def test_handler_of_a_node_hears_of_its_creation(client: ZooKeeperClient) -> None:
    handler = NodeHandler("/node")
    client.register_znode_change_handler(handler)
    assert codes(client, ExistsRequest("/node"), create("/node")) == [Code.NONODE, Code.OK]
    assert handler.called.await_(WAIT_MS)
    assert handler.events == ["creation"]


@pytest.mark.ported("ZooKeeperClientTest.testZNodeChangeHandlerForDeletion")
def test_handler_of_a_node_hears_of_its_deletion(client: ZooKeeperClient) -> None:
    handler = NodeHandler("/node")
    client.register_znode_change_handler(handler)
    assert codes(client, create("/node"), ExistsRequest("/node"), DeleteRequest("/node", -1)) == [Code.OK] * 3
    assert handler.called.await_(WAIT_MS)
    assert handler.events == ["deletion"]


@pytest.mark.ported("ZooKeeperClientTest.testZNodeChangeHandlerForDataChange")
def test_handler_of_a_node_hears_of_writes_once_for_each_watch(client: ZooKeeperClient) -> None:
    handler = NodeHandler("/node")
    client.register_znode_change_handler(handler)
    assert codes(client, create("/node"), GetDataRequest("/node")) == [Code.OK] * 2
    assert codes(client, SetDataRequest("/node", b"1", -1), SetDataRequest("/node", b"2", -1)) == [Code.OK] * 2
    assert handler.called.await_(WAIT_MS)
    barrier = NodeHandler("/barrier")
    client.register_znode_change_handler(barrier)
    assert codes(client, ExistsRequest("/barrier"), create("/barrier")) == [Code.NONODE, Code.OK]
    assert barrier.called.await_(WAIT_MS)
    assert handler.events == ["data change"]


@pytest.mark.ported("ZooKeeperClientTest.testZNodeChildChangeHandlerForChildChange")
def test_handler_of_children_hears_of_a_new_one(client: ZooKeeperClient) -> None:
    handler = ChildHandler("/node")
    client.register_znode_child_change_handler(handler)
    assert codes(client, create("/node"), GetChildrenRequest("/node"), create("/node/child")) == [Code.OK] * 3
    assert handler.called.await_(WAIT_MS)


def test_an_unregistered_handler_sets_no_watch(client: ZooKeeperClient) -> None:
    handler, other = NodeHandler("/node"), NodeHandler("/other")
    client.register_znode_change_handler(handler)
    client.register_znode_change_handler(other)
    client.unregister_znode_change_handler("/node")
    assert codes(client, ExistsRequest("/node"), ExistsRequest("/other")) == [Code.NONODE] * 2
    assert codes(client, create("/node"), create("/other")) == [Code.OK] * 2
    assert other.called.await_(WAIT_MS)
    assert handler.events == []


def test_a_handler_that_raises_does_not_silence_the_others(client: ZooKeeperClient) -> None:
    class Faulty(NodeHandler):
        def handle_creation(self) -> None:
            raise RuntimeError("faulty")

    handler = NodeHandler("/b")
    client.register_znode_change_handler(Faulty("/a"))
    client.register_znode_change_handler(handler)
    assert codes(client, ExistsRequest("/a"), ExistsRequest("/b"), create("/a"), create("/b"))[2:] == [Code.OK] * 2
    assert handler.called.await_(WAIT_MS)


@pytest.mark.ported("ZooKeeperClientTest.testBlockOnRequestCompletionFromStateChangeHandler")
def test_a_state_change_handler_may_wait_for_another_threads_request(client: ZooKeeperClient) -> None:
    waiting, done = CountDownLatch(1), CountDownLatch(1)

    class Waiter(StateChangeHandler):
        name = "waiter"

        def before_initializing_session(self) -> None:
            waiting.count_down()
            assert done.await_(WAIT_MS)

    client.register_state_change_handler(Waiter())
    reinitialize = threading.Thread(target=client.force_reinitialize)
    reinitialize.start()
    assert waiting.await_(WAIT_MS)
    assert codes(client, create("/node")) == [Code.SESSIONEXPIRED]
    done.count_down()
    reinitialize.join()
    client.wait_until_connected()
    assert codes(client, create("/node")) == [Code.OK]


@pytest.mark.ported("ZooKeeperClientTest.testExceptionInBeforeInitializingSession")
def test_a_faulty_state_change_handler_does_not_keep_the_session_away(client: ZooKeeperClient) -> None:
    class Faulty(StateChangeHandler):
        name = "faulty"

        def before_initializing_session(self) -> None:
            raise RuntimeError("faulty")

    good = Recorder()
    client.register_state_change_handler(Faulty())
    client.register_state_change_handler(good)
    client.force_reinitialize()
    assert good.calls == ["before", "after"]
    assert codes(client, create("/node")) == [Code.OK]


def test_requests_right_after_a_new_session_wait_for_its_connection(client: ZooKeeperClient) -> None:
    for i in range(20):
        client.force_reinitialize()
        assert codes(client, create(f"/{i}")) == [Code.OK]


@pytest.mark.ported("ZooKeeperClientTest.testStateChangeHandlerForAuthFailure", changes="the event is given by hand")
def test_state_change_handlers_hear_of_refused_credentials(client: ZooKeeperClient) -> None:
    recorder = Recorder()
    client.register_state_change_handler(recorder)
    client.zoo_keeper_client_watcher(WatchedEvent(EventType.NONE, KeeperState.AUTH_FAILED, None))
    assert recorder.calls == ["auth failure"]


@pytest.mark.ported("ZooKeeperClientTest.testSessionExpiry")
def test_an_expired_session_is_replaced_by_kafkas_own_way(connect: Connect, zk_connect: str) -> None:
    client = connect()
    recorder = Recorder()
    client.register_state_change_handler(recorder)
    old_handle, old_session = client.current_zoo_keeper, client.session_id
    assert codes(client, create("/eph", mode=CreateMode.EPHEMERAL)) == [Code.OK]
    take_session_away(client, zk_connect)
    assert recorder.after.await_(WAIT_MS)
    client.wait_until_connected()
    assert recorder.calls == ["before", "after"]
    assert all(name.startswith("zk-session-expiry-handler") for name in recorder.threads)
    assert client.session_id not in (0, old_session)
    assert client.current_zoo_keeper is not old_handle
    assert old_handle.get_state() is States.CLOSED
    assert codes(client, ExistsRequest("/eph"), create("/eph", mode=CreateMode.EPHEMERAL)) == [Code.NONODE, Code.OK]


def test_between_expiry_and_new_session_requests_fail(connect: Connect, zk_connect: str) -> None:
    client = connect()
    expired, go_on = CountDownLatch(1), CountDownLatch(1)

    class Holder(StateChangeHandler):
        name = "holder"

        def before_initializing_session(self) -> None:
            expired.count_down()
            assert go_on.await_(WAIT_MS)

    client.register_state_change_handler(Holder())
    take_session_away(client, zk_connect)
    assert expired.await_(WAIT_MS)
    assert client.connection_state is States.CLOSED
    assert codes(client, create("/node")) == [Code.SESSIONEXPIRED]
    with pytest.raises(ZooKeeperClientExpiredException):
        client.wait_until_connected()
    go_on.count_down()


@pytest.mark.ported("ZooKeeperClientTest.testSessionExpiryDuringClose")
def test_close_while_the_expiry_handler_waits_for_the_lock(connect: Connect) -> None:
    client = connect()
    client.schedule_session_expiry_handler()
    client.close()
    assert not client.expiry_scheduler.is_started
    assert client.connection_state is States.CLOSED


@pytest.mark.ported("ZooKeeperClientTest.testZooKeeperStateChangeRateMetrics")
def test_each_change_of_state_is_counted(client: ZooKeeperClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "schedule_session_expiry_handler", lambda: None)
    states = (KeeperState.EXPIRED, KeeperState.DISCONNECTED)
    meters = [client.new_meter(f"ZooKeeper{name}PerSec", name.lower()) for name in ("Expires", "Disconnects")]
    before = [meter.count for meter in meters]
    counts = []
    for state in states:
        client.zoo_keeper_client_watcher(WatchedEvent(EventType.NONE, state, None))
        counts.append([meter.count - was for meter, was in zip(meters, before, strict=True)])
    assert counts == [[1, 0], [1, 1]]


@pytest.mark.ported("ZooKeeperClientTest.testZooKeeperSessionStateMetric")
def test_session_state_is_a_metric_until_close(connect: Connect) -> None:
    client = connect()
    name = client.metric_name("SessionState")
    assert str(name.m_bean_name if hasattr(name, "m_bean_name") else name).count("SessionState") >= 1
    assert str(client.connection_state) == "CONNECTED"
    client.close()
    assert str(client.connection_state) == "CLOSED"


class TestReconnect:
    """What happens within one session when only the connection breaks; the server has a hook for it."""

    @pytest.fixture
    def client(self, embedded_server: ZooKeeperServer) -> Iterator[ZooKeeperClient]:
        client = ZooKeeperClient(embedded_server.connect_string, 6000, 6000, 100, Time.SYSTEM)
        yield client
        client.close()

    def _prepare(self, client: ZooKeeperClient, name: str) -> str:
        path = f"/reconnect-{name}"
        assert codes(client, create(path)) == [Code.OK]
        return path

    def test_the_session_and_its_watches_survive(
        self, client: ZooKeeperClient, embedded_server: ZooKeeperServer
    ) -> None:
        path = self._prepare(client, "survive")
        session = client.session_id
        data, absent, children = NodeHandler(path), NodeHandler(f"{path}/absent"), ChildHandler(path)
        client.register_znode_change_handler(data)
        client.register_znode_change_handler(absent)
        client.register_znode_child_change_handler(children)
        codes(client, GetDataRequest(path), ExistsRequest(absent.path), GetChildrenRequest(path))
        reconnected = CountDownLatch(1)
        watcher = client.zoo_keeper_client_watcher

        def spy(event: WatchedEvent) -> None:
            watcher(event)
            if event.state is KeeperState.SYNC_CONNECTED and event.path is None:
                reconnected.count_down()

        client.current_zoo_keeper._watcher = spy
        embedded_server.drop_connections()
        assert reconnected.await_(WAIT_MS)
        client.wait_until_connected()
        assert client.session_id == session
        assert codes(client, SetDataRequest(path, b"x", -1), create(absent.path)) == [Code.OK] * 2
        assert data.called.await_(WAIT_MS)
        assert absent.called.await_(WAIT_MS)
        assert children.called.await_(WAIT_MS)
        assert (data.events, absent.events) == (["data change"], ["creation"])

    def test_what_changed_while_disconnected_is_told_afterwards(
        self, client: ZooKeeperClient, embedded_server: ZooKeeperServer
    ) -> None:
        path = self._prepare(client, "missed")
        data = NodeHandler(path)
        client.register_znode_change_handler(data)
        codes(client, GetDataRequest(path))

        def change_unseen() -> None:
            for connection in list(embedded_server.connections):
                connection.close()
            processor = embedded_server.processor
            processor._commit([processor.tree.prepare_set_data(path, b"unseen", -1)])

        embedded_server.run_on_server_thread(change_unseen)
        assert data.called.await_(WAIT_MS)
        assert data.events == ["data change"]

    @pytest.mark.parametrize(
        "message",
        [
            b"\0",
            struct.pack(">iqi", 12345, 0, 0),
            struct.pack(">iqi", -4, 0, 0),
            struct.pack(">iqiiii", -1, -1, 0, 99, 3, 0),
        ],
        ids=["shorter than a header", "not asked for", "credentials not sent", "event of an unknown type"],
    )
    def test_an_answer_without_sense_costs_the_connection_not_the_session(
        self, client: ZooKeeperClient, embedded_server: ZooKeeperServer, monkeypatch: pytest.MonkeyPatch, message: bytes
    ) -> None:
        session = client.session_id
        serve = embedded_server.processor._operations[OpCode.GET_DATA]

        def unasked() -> None:
            for connection in embedded_server.connections:
                if connection.session_id == session:
                    connection._send(message)

        def instead_of_an_answer(connection: Any, reader: Any) -> Any:
            monkeypatch.setitem(embedded_server.processor._operations, OpCode.GET_DATA, serve)
            connection._send(message)
            return serve(connection, reader)

        embedded_server.run_on_server_thread(unasked)
        while (code := codes(client, GetDataRequest("/"))[0]) is Code.CONNECTIONLOSS:
            client.wait_until_connected()
        assert (code, client.session_id) == (Code.OK, session)
        monkeypatch.setitem(embedded_server.processor._operations, OpCode.GET_DATA, instead_of_an_answer)
        assert codes(client, GetDataRequest("/")) == [Code.CONNECTIONLOSS]
        client.wait_until_connected()
        assert codes(client, GetDataRequest("/")) == [Code.OK]
        assert client.session_id == session

    def test_credentials_are_sent_with_every_connection(self, embedded_server: ZooKeeperServer) -> None:
        connections = CountDownLatch(2)

        def watcher(event: WatchedEvent) -> None:
            if event.state is KeeperState.SYNC_CONNECTED:
                connections.count_down()
                if connections.get_count():
                    embedded_server.drop_connections()

        handle = ZooKeeper(embedded_server.connect_string, 6000, watcher, auth_data=[("digest", "joe:secret")])
        try:
            assert connections.await_(WAIT_MS)
            answered = CountDownLatch(1)
            own = [ACL(31, Id("auth", ""))]
            heard: list[Code] = []

            def callback(code: Code, result: Any) -> None:
                heard.append(code)
                answered.count_down()

            handle.create("/of-joe", b"", own, CreateMode.PERSISTENT, callback)
            assert answered.await_(WAIT_MS)
            assert heard == [Code.OK]
        finally:
            handle.close()
            handle.join()

    def test_a_value_of_the_wrong_shape_is_an_error_and_not_silence(
        self, client: ZooKeeperClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(GetChildren2, "deserialize", staticmethod(lambda data, offset: True))
        assert codes(client, GetChildrenRequest("/")) == [Code.SYSTEMERROR]
        while (code := codes(client, GetDataRequest("/"))[0]) is Code.CONNECTIONLOSS:
            client.wait_until_connected()
        assert code is Code.OK

    def test_an_error_number_that_nobody_knows_is_an_answer(
        self, client: ZooKeeperClient, embedded_server: ZooKeeperServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        session = client.session_id
        handle = client.current_zoo_keeper
        throttled: Any = -127

        def refuse(connection: Any, reader: Any) -> Any:
            raise TreeException(throttled)

        monkeypatch.setitem(embedded_server.processor._operations, OpCode.GET_ACL, refuse)
        assert codes(client, GetAclRequest("/"), GetDataRequest("/")) == [Code.APIERROR, Code.OK]
        assert (client.session_id, client.current_zoo_keeper) == (session, handle)

    def test_more_watches_than_fit_into_one_request_survive(
        self, client: ZooKeeperClient, embedded_server: ZooKeeperServer
    ) -> None:
        session = client.session_id
        paths = [f"/{'x' * 400}{number}" for number in range(3_000)]
        handler = NodeHandler(max(paths))
        client.register_znode_change_handler(handler)
        client.current_zoo_keeper._exist_watches.update(paths)
        embedded_server.drop_connections()
        while codes(client, create(handler.path)) == [Code.CONNECTIONLOSS]:
            client.wait_until_connected()
        assert handler.called.await_(WAIT_MS)
        assert (handler.events, client.session_id) == (["creation"], session)
        assert codes(client, DeleteRequest(handler.path, -1)) == [Code.OK]

    def test_a_request_that_is_queued_just_after_the_end_of_the_session_is_answered(
        self, embedded_server: ZooKeeperServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        connected, ended, answered = CountDownLatch(1), CountDownLatch(1), CountDownLatch(1)

        def watcher(event: WatchedEvent) -> None:
            (ended if event.state is KeeperState.EXPIRED else connected).count_down()

        handle = ZooKeeper(embedded_server.connect_string, 6000, watcher)
        assert connected.await_(WAIT_MS)
        kazoo = handle._client

        def look_and_queue_too_late(request: Any, reply: Any) -> None:
            embedded_server.expire_session(handle.get_session_id())
            assert ended.await_(WAIT_MS)
            kazoo._queue.append((request, reply))

        monkeypatch.setattr(kazoo, "_call", look_and_queue_too_late)
        found: list[Code] = []

        def callback(code: Code, result: Any) -> None:
            found.append(code)
            answered.count_down()

        handle.get_data("/", False, callback)
        assert answered.await_(1000)
        assert found == [Code.SESSIONEXPIRED]
        handle.close()

    def test_a_request_to_a_handle_that_is_being_closed_is_answered_once(
        self, embedded_server: ZooKeeperServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        handle = ZooKeeper(embedded_server.connect_string, 6000, lambda event: None)
        handle.close()
        # As its caller saw it a moment before the end.
        monkeypatch.setattr(handle._client, "_state", KazooKeeperState.CONNECTED)
        found: list[Code] = []
        handle.get_data("/", False, lambda code, result: found.append(code))
        assert found == [Code.SESSIONEXPIRED]

    def test_who_waits_for_a_connection_hears_that_there_is_a_limit_now(
        self, client: ZooKeeperClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        waiting, heard, condition = CountDownLatch(1), CountDownLatch(1), client._is_connected_or_expired_condition
        wait = condition.await_

        def tell_and_wait(timeout_ms: float | None) -> bool:
            waiting.count_down()
            return wait(timeout_ms)

        def wait_for_it() -> None:
            with pytest.raises(ZooKeeperClientTimeoutException, match="while in state: CONNECTING"):
                client.wait_until_connected()
            heard.count_down()

        monkeypatch.setattr(condition, "await_", tell_and_wait)
        monkeypatch.setattr(ZooKeeperClient, "connection_state", States.CONNECTING)
        waiter = threading.Thread(target=wait_for_it, daemon=True)
        waiter.start()
        assert waiting.await_(WAIT_MS)
        client.limit_waits(0)
        assert heard.await_(WAIT_MS)
        waiter.join()
        monkeypatch.undo()
        client.wait_until_connected()  # which needs no wait
        assert codes(client, GetDataRequest("/")) == [Code.OK]

    def test_a_limit_counts_from_the_loss_of_the_connection(
        self, client: ZooKeeperClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        time = MockTime()
        monkeypatch.setattr(client, "_time", time)
        with client._is_connected_or_expired_lock:
            assert client._remaining_ms(None) is None
            assert client._remaining_ms(time.hi_res_clock_ms() + 5) == 5
            client.limit_waits(1000)
            time.sleep(400)
            assert client._remaining_ms(None) == 600
            assert client._remaining_ms(time.hi_res_clock_ms() + 5) == 5
            client._process_state(KeeperState.SYNC_CONNECTED)
            assert client._remaining_ms(None) == 600
            client._process_state(KeeperState.DISCONNECTED)
            assert client._remaining_ms(None) == 1000

    @pytest.mark.slow
    def test_who_waits_for_a_connection_hears_that_the_client_was_closed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server = ZooKeeperServer(tmp_path, force_sync=False).startup()
        client = ZooKeeperClient(server.connect_string, 6000, 6000, 2, Time.SYSTEM)
        waiting, condition = CountDownLatch(1), client._is_connected_or_expired_condition
        wait = condition.await_

        def tell_and_wait(timeout_ms: float | None) -> bool:
            waiting.count_down()
            return wait(timeout_ms)

        monkeypatch.setattr(condition, "await_", tell_and_wait)
        server.shutdown()
        while codes(client, GetDataRequest("/")) != [Code.CONNECTIONLOSS]:
            pass
        heard = CountDownLatch(1)

        def wait_for_it() -> None:
            with pytest.raises(ZooKeeperClientExpiredException):
                client.wait_until_connected()
            heard.count_down()

        waiter = threading.Thread(target=wait_for_it, daemon=True)
        waiter.start()
        assert waiting.await_(WAIT_MS)
        client.close()
        assert heard.await_(WAIT_MS)
        waiter.join()

    @pytest.mark.slow
    @pytest.mark.ported("ZooKeeperClientTest.testConnectionLossRequestTermination")
    def test_requests_end_with_connectionloss_when_the_server_is_gone(
        self, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        server = ZooKeeperServer(tmp_path_factory.mktemp("gone"), force_sync=False).startup()
        client = ZooKeeperClient(server.connect_string, 6000, 6000, 2, Time.SYSTEM)
        try:
            server.shutdown()
            found: list[Code] = []
            while Code.CONNECTIONLOSS not in found:
                found = codes(client, *(GetDataRequest(f"/{i}") for i in range(10)))
            first = found.index(Code.CONNECTIONLOSS)
            assert set(found[first:]) == {Code.CONNECTIONLOSS}
            server = ZooKeeperServer(server.data_dir, port=server.port, force_sync=False).startup()
            client.wait_until_connected()
            assert codes(client, create("/back")) == [Code.OK]
        finally:
            client.close()
            server.shutdown()


class TestPipeline:
    """Requests that wait for the connection are written together, and answers are read together."""

    def test_many_requests_take_few_system_calls(
        self, client: ZooKeeperClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        connection = client.current_zoo_keeper._client._connection
        written: list[bytes] = []
        write = connection._write

        def slow(packets: bytes, timeout: float) -> None:
            written.append(bytes(packets))
            write(packets, timeout)

        hold, held = CountDownLatch(1), CountDownLatch(1)

        def waiting(code: Code, result: Any) -> None:  # on the connection's thread: nothing is sent meanwhile
            held.count_down()
            hold.await_(5000)

        monkeypatch.setattr(connection, "_write", slow)
        client.current_zoo_keeper.exists("/", False, waiting)
        assert held.await_(5000)
        written.clear()
        done = CountDownLatch(40)
        order: list[int] = []

        def answered(n: int) -> Callable[[Code, Any], None]:
            def note(code: Code, result: Any) -> None:
                order.append(n)
                done.count_down()

            return note

        for n in range(40):
            client.current_zoo_keeper.exists(f"/nosuch{n}", False, answered(n))
        hold.count_down()
        assert done.await_(5000)
        assert order == list(range(40))
        assert len([packets for packets in written if b"/nosuch" in packets]) == 1

    def test_answers_are_read_in_whole_whatever_their_pieces(
        self, client: ZooKeeperClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("kafka_py.zookeeper.zoo_keeper._RECEIVE_BYTES", 7)
        data = bytes(range(256)) * 4
        assert codes(client, create("/pieces", data)) == [Code.OK]
        requests = [GetDataRequest("/pieces") for _ in range(20)]
        assert [response.data for response in client.handle_requests(requests)] == [data] * 20


class TestMulti:
    """Transactions: all of the operations or none."""

    def multi(self, client: ZooKeeperClient, *ops: ZkOp) -> tuple[Code, list[Any]]:
        response = client.handle_request(MultiRequest(ops, "context"))
        assert response.ctx == "context"
        assert response.zk_op_results is not None
        assert [result.zk_op for result in response.zk_op_results] == list(ops)
        return response.result_code, [result.raw_op_result for result in response.zk_op_results]

    def test_all_are_carried_out_and_each_has_its_result(self, client: ZooKeeperClient) -> None:
        assert codes(client, create("/node", b"old"), create("/gone")) == [Code.OK, Code.OK]
        code, (checked, written, made, numbered, deleted) = self.multi(
            client,
            CheckOp("/node", 0),
            SetDataOp("/node", b"new", 0),
            CreateOp("/node/child", b"x", Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT),
            CreateOp("/node/n_", b"", Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT_SEQUENTIAL),
            DeleteOp("/gone", -1),
        )
        assert code is Code.OK
        assert checked == CheckResult()
        assert isinstance(written, SetDataResult)
        assert (written.stat.version, written.stat.data_length) == (1, 3)
        assert made == CreateResult("/node/child")
        assert numbered == CreateResult("/node/n_0000000001"), "without the chroot"
        assert deleted == DeleteResult()
        node = client.handle_request(GetDataRequest("/node"))
        assert (node.data, node.stat.mzxid) == (b"new", written.stat.mzxid)
        assert client.handle_request(ExistsRequest("/gone")).result_code is Code.NONODE

    def test_the_first_that_fails_takes_all_back(self, client: ZooKeeperClient) -> None:
        assert codes(client, create("/node", b"old")) == [Code.OK]
        code, results = self.multi(
            client,
            SetDataOp("/node", b"new", 0),
            CreateOp("/other", b"x", Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL),
            CheckOp("/node", 7),
            DeleteOp("/node", -1),
        )
        assert code is Code.BADVERSION
        assert results == [
            ErrorResult(Code.OK),
            ErrorResult(Code.OK),
            ErrorResult(Code.BADVERSION),
            ErrorResult(Code.RUNTIMEINCONSISTENCY),
        ]
        assert client.handle_request(GetDataRequest("/node")).data == b"old"
        assert client.handle_request(ExistsRequest("/other")).result_code is Code.NONODE

    @pytest.mark.parametrize(
        ("op", "expected"),
        [
            (CheckOp("/absent", 0), Code.NONODE),
            (CheckOp("/node", -1), Code.OK),
            (DeleteOp("/absent", -1), Code.NONODE),
            (DeleteOp("/node", 3), Code.BADVERSION),
            (DeleteOp("/full", -1), Code.NOTEMPTY),
            (SetDataOp("/absent", b"", -1), Code.NONODE),
            (CreateOp("/node", b"", Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT), Code.NODEEXISTS),
            (CreateOp("/absent/child", b"", Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT), Code.NONODE),
        ],
        ids=lambda value: f"{type(value).__name__} {value.path}" if isinstance(value, ZkOp) else str(value),
    )
    def test_both_servers_give_the_same_codes(self, client: ZooKeeperClient, op: ZkOp, expected: Code) -> None:
        codes(client, create("/node"), create("/full"), create("/full/child"))
        code, (first, second) = self.multi(client, CheckOp("/node", 0), op)
        assert code is expected
        assert first == (CheckResult() if expected is Code.OK else ErrorResult(Code.OK))
        assert second == (CheckResult() if expected is Code.OK else ErrorResult(expected))

    def test_a_node_that_is_created_and_written_at_once_has_version_one(self, client: ZooKeeperClient) -> None:
        path = "/ephemeral"
        code, (_, written) = self.multi(
            client,
            CreateOp(path, None, Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL),
            SetDataOp(path, b"data", 0),
        )
        assert code is Code.OK
        assert isinstance(written, SetDataResult)
        assert written.stat == client.handle_request(GetDataRequest(path)).stat
        assert (written.stat.version, written.stat.czxid) == (1, written.stat.mzxid)

    def test_without_a_session_nothing_is_known_of_the_operations(self, client: ZooKeeperClient) -> None:
        client.current_zoo_keeper.close()
        response = client.handle_request(MultiRequest([CheckOp("/node", 0)]))
        assert response.result_code is Code.SESSIONEXPIRED
        assert response.zk_op_results is None

    def test_what_is_no_operation_is_refused(self, client: ZooKeeperClient) -> None:
        with pytest.raises(ValueError, match="Unexpected zkOp"):
            client.handle_request(MultiRequest([ZkOp("/node")]))

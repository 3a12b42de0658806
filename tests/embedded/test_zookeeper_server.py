"""The embedded ZooKeeper as its clients see it; what Apache's does as well runs against both."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import (
    BadArgumentsError,
    BadVersionError,
    InvalidACLError,
    NoAuthError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
    RuntimeInconsistency,
)
from kazoo.security import ACL, Id, make_digest_acl

from kafka_py.embedded import sync_request_processor
from kafka_py.embedded.zookeeper_server import ZooKeeperServer, password_of
from kafka_py.testing.mock_time import MockTime
from kafka_py.xray.held_time import HeldTime
from tests.embedded.servers import Server

WAIT_S = 10
CONNECT = struct.pack(">iiqiqi16s", 44, 0, 0, 5000, 0, 16, bytes(16))


@contextlib.contextmanager
def connected(connect_string: str, **options: Any) -> Iterator[Any]:
    client = KazooClient(connect_string, timeout=options.pop("timeout", 5.0), **options)
    client.start()
    try:
        yield client
    finally:
        client.stop()
        client._safe_close()  # for the clients that a test has told to let their session be
        client.close()


@pytest.fixture
def client(zk_connect: str) -> Iterator[Any]:
    with connected(zk_connect) as client:
        yield client


def raw(server: Server, sent: bytes) -> bytes:
    with socket.create_connection((server.host, server.port), timeout=WAIT_S) as sock:
        sock.sendall(sent)
        answer = b""
        while part := sock.recv(65536):
            answer += part
        return answer


class Talk:
    """A client that says exactly what it is told to."""

    def __init__(self, server: Server) -> None:
        self.sock = socket.create_connection((server.host, server.port), timeout=WAIT_S)
        self.session = 0
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._in = self.sock.makefile("rb")

    def send(self, request: bytes) -> None:
        self.sock.sendall(struct.pack(">i", len(request)) + request)

    def read_frame(self) -> bytes:
        return self._in.read(struct.unpack(">i", self._in.read(4))[0])

    def answer(self) -> tuple[int, int, int]:
        """(xid, error, zxid) of the next one."""
        xid, zxid, error = struct.unpack_from(">iqi", self.read_frame())
        return xid, error, zxid

    def ping(self) -> None:
        """Say that we are there; the next answer is that to it."""
        self.send(struct.pack(">ii", -2, 11))
        assert self.answer()[:2] == (-2, 0)

    def close(self) -> None:
        self._in.close()
        self.sock.close()


@contextlib.contextmanager
def talking(server: Server) -> Iterator[Talk]:
    """A client with a session of 5 s that it leaves behind."""
    with contextlib.closing(Talk(server)) as talk:
        talk.sock.sendall(CONNECT)
        talk.session = struct.unpack_from(">iiq", talk.read_frame())[2]
        yield talk


def create_request(xid: int, path: str) -> bytes:
    name = path.encode()
    head = struct.pack(">iii", xid, 1, len(name)) + name + struct.pack(">i", -1)
    return head + struct.pack(">iii5si6si", 1, 31, 5, b"world", 6, b"anyone", 0)


def exists_request(xid: int, path: str) -> bytes:
    return struct.pack(">iii", xid, 3, len(path)) + path.encode() + b"\0"


class SlowDisk:
    """An fsync that waits until it may go on, and then fails if told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered, self.go_on = threading.Event(), threading.Event()
        self.fails = False
        self.calls = 0
        self._real = os.fdatasync
        monkeypatch.setattr(os, "fdatasync", self.sync)

    def sync(self, fd: int) -> None:
        self.calls += 1
        self.entered.set()
        assert self.go_on.wait(WAIT_S)
        if self.fails:
            raise OSError(errno.EIO, "the disk is gone")
        self._real(fd)


class TestBothServers:
    """What a client can tell of a server: ours must be as Apache's."""

    def test_nodes_and_their_state(self, client: Any) -> None:
        assert client.create("/a", b"one") == "/a"
        path, stat = client.create("/a/b", b"", include_data=True)
        assert (path, stat.version, stat.dataLength) == ("/a/b", 0, 0)
        stat = client.set("/a", b"three")
        assert (stat.version, stat.dataLength, stat.numChildren, stat.cversion) == (1, 5, 1, 1)
        assert stat.mzxid > stat.czxid
        assert stat.pzxid > stat.czxid
        client.delete("/a/b")
        stat = client.exists("/a")
        assert (stat.numChildren, stat.cversion, stat.version) == (0, 2, 1)
        children, stat = client.get_children("/a", include_data=True)
        assert (children, stat.cversion) == ([], 2)

    def test_what_is_refused(self, client: Any) -> None:
        client.create("/a", b"")
        client.create("/a/e", b"", ephemeral=True)
        refused: list[tuple[Callable[[], object], type[Exception]]] = [
            (lambda: client.create("/a", b""), NodeExistsError),
            (lambda: client.create("/x/y", b""), NoNodeError),
            (lambda: client.create("/a/e/c", b""), NoChildrenForEphemeralsError),
            (lambda: client.delete("/a"), NotEmptyError),
            (lambda: client.delete("/a/e", version=3), BadVersionError),
            (lambda: client.set("/a", b"", version=3), BadVersionError),
            (lambda: client.get("/x"), NoNodeError),
            (lambda: client.create("/a/\x01", b""), BadArgumentsError),
            (lambda: client.create("/acl", b"", acl=[ACL(31, Id("nonsense", "x"))]), InvalidACLError),
        ]
        for action, error in refused:
            with pytest.raises(error):
                action()

    def test_sequential_numbers_count_creations(self, client: Any) -> None:
        client.create("/s", b"")
        assert client.create("/s/x", b"", sequence=True) == "/s/x0000000000"
        client.create("/s/plain", b"")
        client.delete("/s/x0000000000")
        assert client.create("/s/x", b"", sequence=True) == "/s/x0000000002"

    def test_a_multi_is_all_or_nothing(self, client: Any) -> None:
        client.create("/m", b"0")
        transaction = client.transaction()
        transaction.create("/m/a", b"1")
        transaction.set_data("/m", b"1")
        transaction.check("/m", 1)
        transaction.delete("/m/a")
        results = transaction.commit()
        assert results[0] == "/m/a"
        assert results[1].version == 1
        assert results[2:] == [True, True]
        before = client.exists("/m")
        transaction = client.transaction()
        transaction.create("/m/b", b"")
        transaction.create("/m/e", b"", ephemeral=True)
        transaction.set_data("/m", b"2")
        transaction.delete("/absent")
        transaction.create("/m/never", b"")
        kinds = [type(result) for result in transaction.commit()]
        assert kinds == [RolledBackError] * 3 + [NoNodeError, RuntimeInconsistency]
        assert client.exists("/m") == before
        assert client.get_children("/m") == []
        assert client.get("/m")[0] == b"1"

    def test_access_lists_keep_others_out(self, client: Any, zk_connect: str) -> None:
        acl = make_digest_acl("joe", "secret", all=True)
        client.create("/mine", b"x", acl=[acl])
        kept_out: list[Callable[[], object]] = [
            lambda: client.get("/mine"),
            lambda: client.set("/mine", b""),
            lambda: client.create("/mine/c"),
        ]
        for action in kept_out:
            with pytest.raises(NoAuthError):
                action()
        with connected(zk_connect, auth_data=[("digest", "joe:secret")]) as joe:
            assert joe.get("/mine")[0] == b"x"
            joe.create("/mine/c", b"")
        check = client.transaction()
        check.check("/mine", version=0)
        assert [type(error) for error in check.commit()] == [NoAuthError]
        client.add_auth("digest", "joe:secret")
        assert client.get("/mine")[0] == b"x"
        assert client.get_acls("/mine")[0] == [acl]

    @pytest.mark.parametrize("who", [("world", "joe"), ("digest", "joe"), ("nosuch", "anyone")], ids=str)
    def test_access_lists_that_name_nobody_are_refused(self, client: Any, who: tuple[str, str]) -> None:
        with pytest.raises(InvalidACLError):
            client.create("/refused", b"", acl=[ACL(31, Id(*who))])
        assert client.exists("/refused") is None

    def test_watches_fire_once_and_in_order(self, client: Any) -> None:
        events: list[tuple[str, str]] = []
        done = threading.Event()

        def note(event: Any) -> None:
            events.append((event.type, event.path))

        client.exists("/w", watch=note)
        client.create("/w", b"")
        client.get("/w", watch=note)
        client.set("/w", b"1")
        client.set("/w", b"2")
        client.get_children("/w", watch=note)
        client.create("/w/c", b"")
        client.exists("/w/c", watch=note)
        client.delete("/w/c")
        client.exists("/end", watch=lambda event: done.set())
        client.create("/end", b"")
        assert done.wait(WAIT_S)
        assert events == [("CREATED", "/w"), ("CHANGED", "/w"), ("CHILD", "/w"), ("DELETED", "/w/c")]

    def test_ephemeral_nodes_end_with_their_session(self, client: Any, zk_connect: str) -> None:
        gone = threading.Event()
        with connected(zk_connect) as other:
            other.create("/e", b"", ephemeral=True)
            assert client.exists("/e", watch=lambda event: gone.set()).ephemeralOwner == other.client_id[0]
        assert gone.wait(WAIT_S)
        assert client.exists("/e") is None

    def test_a_session_can_be_taken_over(self, zk_connect: str) -> None:
        with connected(zk_connect) as first:
            first.create("/e", b"", ephemeral=True)
            session = first.client_id
            lost = threading.Event()
            first.add_listener(lambda state: lost.set())
            first._stopped.set()  # or it would take the session back
            with connected(zk_connect, client_id=session) as second:
                assert second.client_id == session
                assert second.exists("/e").ephemeralOwner == session[0]
                assert lost.wait(WAIT_S)

    @pytest.mark.slow
    def test_a_silent_client_expires(self, server: Server, client: Any) -> None:
        chroot = client.chroot
        gone = threading.Event()
        request = struct.pack(">iqiqi", 0, 0, 1000, 0, 16) + bytes(16)
        with socket.create_connection((server.host, server.port), timeout=WAIT_S) as sock:
            sock.sendall(struct.pack(">i", len(request)) + request)
            answer = sock.recv(4096)
            assert struct.unpack_from(">i", answer, 8)[0] == 1000
            path = f"{chroot}/silent".encode()
            create = struct.pack(">iii", 1, 1, len(path)) + path + struct.pack(">i", -1)
            create += struct.pack(">iii5si6si", 1, 31, 5, b"world", 6, b"anyone", 1)
            sock.sendall(struct.pack(">i", len(create)) + create)
            sock.recv(4096)
            assert client.exists("/silent", watch=lambda event: gone.set())
            assert gone.wait(WAIT_S)

    def test_four_letter_words(self, server: Server) -> None:
        assert raw(server, b"ruok") == b"imok"
        assert raw(server, b"isro") == b"rw"
        assert b"Mode: standalone" in raw(server, b"srvr")
        stat = raw(server, b"stat").decode()
        assert "Clients:" in stat
        assert "Node count: " in stat
        assert "zk_znode_count\t" in raw(server, b"mntr").decode()
        assert f"clientPort={server.port}" in raw(server, b"conf").decode()


class TestEmbedded:
    """What only ours promises, or what only ours can be asked."""

    @pytest.fixture
    def data_dir(self, tmp_path: Path) -> Path:
        return tmp_path / "zk"

    def test_the_tree_and_the_sessions_outlive_a_restart(self, data_dir: Path) -> None:
        with ZooKeeperServer(data_dir, force_sync=False) as server, connected(server.connect_string) as client:
            client.create("/a", b"kept")
            client.create("/e", b"", ephemeral=True)
            client.set("/a", b"kept too")
            before, session = client.get("/a"), client.client_id
            client._stopped.set()  # it goes without closing its session
            server.shutdown()
            with ZooKeeperServer(data_dir, force_sync=False) as again:
                with connected(again.connect_string, client_id=session) as back:
                    assert back.client_id == session
                    assert back.get("/a") == before
                    assert back.exists("/e").ephemeralOwner == session[0]
                with connected(again.connect_string) as other:
                    assert other.exists("/e") is None

    def test_an_unknown_session_and_a_wrong_password_are_refused(self, embedded_server: ZooKeeperServer) -> None:
        with connected(embedded_server.connect_string) as client:
            for session_id in (12345, client.client_id[0]):
                request = struct.pack(">iqiqi", 0, 0, 5000, session_id, 16) + b"x" * 16
                answer = raw(embedded_server, struct.pack(">i", len(request)) + request)
                assert struct.unpack_from(">iiiq", answer) == (36, 0, 0, 0)

    def test_a_client_that_has_seen_more_is_refused(self, embedded_server: ZooKeeperServer) -> None:
        request = struct.pack(">iqiqi", 0, 1 << 60, 5000, 0, 16) + bytes(16)
        assert raw(embedded_server, struct.pack(">i", len(request)) + request) == b""

    @pytest.mark.parametrize("junk", [b"GET / HTTP/1.1\r\n\r\n", struct.pack(">i", -1), struct.pack(">i", 3) + b"abc"])
    def test_junk_ends_only_its_own_connection(self, embedded_server: ZooKeeperServer, junk: bytes) -> None:
        assert raw(embedded_server, junk) == b""
        assert raw(embedded_server, b"ruok") == b"imok"

    def test_a_torn_request_after_connecting_ends_the_connection(self, embedded_server: ZooKeeperServer) -> None:
        request = struct.pack(">iqiqi", 0, 0, 5000, 0, 16) + bytes(16)
        create = struct.pack(">iii", 1, 1, 1 << 20)
        message = struct.pack(">i", len(request)) + request + struct.pack(">i", len(create)) + create
        assert len(raw(embedded_server, message)) == 4 + 36

    def test_an_unknown_operation_is_answered(self, embedded_server: ZooKeeperServer) -> None:
        with socket.create_connection((embedded_server.host, embedded_server.port), timeout=WAIT_S) as sock:
            request = struct.pack(">iqiqi", 0, 0, 5000, 0, 16) + bytes(16)
            sock.sendall(struct.pack(">i", len(request)) + request)
            assert len(sock.recv(4096)) == 40
            sock.sendall(struct.pack(">iii", 8, 7, 99))
            length, xid, _, error = struct.unpack(">iiqi", sock.recv(4096))
            assert (length, xid, error) == (16, 7, -6)

    def test_requests_that_arrive_byte_by_byte(self, embedded_server: ZooKeeperServer) -> None:
        request = struct.pack(">iqiqi", 0, 0, 5000, 0, 16) + bytes(16)
        with socket.create_connection((embedded_server.host, embedded_server.port), timeout=WAIT_S) as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in struct.pack(">i", len(request)) + request:
                sock.send(bytes([byte]))
            assert len(sock.recv(4096)) == 40

    def test_too_many_connections_from_one_address(self, data_dir: Path) -> None:
        with ZooKeeperServer(data_dir, max_client_cnxns=1, force_sync=False) as server:
            with connected(server.connect_string):
                assert raw(server, b"") == b""
            assert raw(server, b"ruok") == b"imok"

    def test_its_clock_stands_where_the_lab_asks_for_it(self, data_dir: Path) -> None:
        time = MockTime()
        clock = HeldTime(time)
        with ZooKeeperServer(data_dir, force_sync=False, time=clock) as server:
            assert raw(server, b"hold") == b"held"
            before = clock.milliseconds()
            time.sleep(600_000)
            assert clock.milliseconds() == before
            assert raw(server, b"goon") == b"on"
            time.sleep(5)
            assert clock.milliseconds() == before + 5

    def test_any_other_clock_cannot_be_held(self, embedded_server: ZooKeeperServer) -> None:
        assert (
            raw(embedded_server, b"hold") == raw(embedded_server, b"goon") == b"This ZooKeeper's clock cannot be held."
        )

    def test_session_timeouts_stay_within_the_ticks(self, data_dir: Path) -> None:
        with ZooKeeperServer(data_dir, tick_time=1000, force_sync=False) as server:
            for asked, given in ((1, 2000), (5000, 5000), (10**6, 20000)):
                with connected(server.connect_string, timeout=asked / 1000) as client:
                    assert server.tree.sessions[client.client_id[0]] == given

    def test_an_expired_session_loses_its_ephemeral_nodes(self, embedded_server: ZooKeeperServer) -> None:
        with connected(embedded_server.connect_string) as watcher, connected(embedded_server.connect_string) as client:
            gone = threading.Event()
            client.create("/expired", b"", ephemeral=True)
            watcher.exists("/expired", watch=lambda event: gone.set())
            embedded_server.expire_session(client.client_id[0])
            assert gone.wait(WAIT_S)

    def test_one_fsync_serves_all_requests_of_a_turn(
        self, embedded_server: ZooKeeperServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls: list[int] = []
        real = os.fdatasync

        def counted(fd: int) -> None:
            calls.append(fd)
            real(fd)

        monkeypatch.setattr(os, "fdatasync", counted)
        with connected(embedded_server.connect_string) as client:
            client.create("/group", b"")
            calls.clear()
            for result in [client.set_async("/group", b"%d" % i) for i in range(500)]:
                result.get()
            assert 0 < len(calls) < 500

    def test_no_answer_leaves_before_the_log_is_on_disk(self, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with ZooKeeperServer(data_dir) as server:
            with socket.create_connection((server.host, server.port), timeout=WAIT_S) as sock:
                request = struct.pack(">iqiqi", 0, 0, 5000, 0, 16) + bytes(16)

                def broken(fd: int) -> None:
                    raise OSError(5, "the disk is gone")

                monkeypatch.setattr(os, "fdatasync", broken)
                sock.sendall(struct.pack(">i", len(request)) + request)
                assert sock.recv(4096) == b""
            server.await_shutdown()

    def test_an_fsync_that_fails_later_ends_the_server_without_an_answer(
        self, data_dir: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with ZooKeeperServer(data_dir) as server, talking(server) as client:
            disk = SlowDisk(monkeypatch)
            client.send(create_request(1, "/before"))
            assert disk.entered.wait(WAIT_S)
            client.send(create_request(2, "/behind"))
            client.ping()
            disk.fails = True
            disk.go_on.set()
            assert client.sock.recv(4096) == b""
            server.await_shutdown()
            assert server.has_failed
        assert disk.calls == 1, "what was not answered is not written either"

    def test_sessions_live_while_the_disk_is_slow_and_answers_wait_for_it(
        self, data_dir: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        time = MockTime()
        with ZooKeeperServer(data_dir, time=time) as server, talking(server) as writer, talking(server) as reader:
            disk = SlowDisk(monkeypatch)
            writer.send(create_request(1, "/a"))
            assert disk.entered.wait(WAIT_S)
            writer.send(create_request(2, "/b"))
            reader.send(exists_request(1, "/a"))
            for _ in range(5):
                time.sleep(4000)
                writer.ping()  # its answer comes before those of the requests that wait
                reader.ping()
            assert len(server.tree.sessions) == 2
            disk.go_on.set()
            assert [writer.answer()[:2], writer.answer()[:2]] == [(1, 0), (2, 0)]
            assert reader.answer()[:2] == (1, 0)

    def test_writes_that_come_during_an_fsync_share_the_next(
        self, data_dir: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with ZooKeeperServer(data_dir) as server, talking(server) as client:
            disk = SlowDisk(monkeypatch)
            client.send(create_request(1, "/n1"))
            assert disk.entered.wait(WAIT_S)
            for i in range(2, 50):
                client.send(create_request(i, f"/n{i}"))
                client.ping()  # each in a turn of its own
            disk.go_on.set()
            assert [client.answer()[:2] for _ in range(1, 50)] == [(i, 0) for i in range(1, 50)]
        assert disk.calls == 2

    def test_a_client_whose_requests_wait_unread_for_the_disk_is_alive(
        self, data_dir: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        time = MockTime()
        monkeypatch.setattr(sync_request_processor, "_MAX_BACKLOG", 1)
        with ZooKeeperServer(data_dir, time=time) as server, talking(server) as client:
            disk = SlowDisk(monkeypatch)
            client.send(create_request(1, "/a"))
            assert disk.entered.wait(WAIT_S)
            client.send(create_request(2, "/b"))
            while not any(connection._held_back for connection in server.connections):
                server.run_on_server_thread(lambda: None)
            for _ in range(5):
                time.sleep(4000)
                server.run_on_server_thread(lambda: None)
            assert len(server.tree.sessions) == 1
            disk.go_on.set()
            assert [client.answer()[:2], client.answer()[:2]] == [(1, 0), (2, 0)]

    def test_snapshots_are_written_while_clients_go_on(self, data_dir: Path, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level("INFO", "kafka_py.embedded")
        with ZooKeeperServer(data_dir, force_sync=False, snap_count=20) as server, talking(server) as client:
            for i in range(100):
                client.send(create_request(i, f"/n{i}"))
            assert {client.answer()[:2] for _ in range(100)} == {(i, 0) for i in range(100)}
        assert any("Snapshotted the tree at zxid" in message for message in caplog.messages)
        assert list((data_dir / "kafka_py-1").glob("snapshot.*"))
        with ZooKeeperServer(data_dir, force_sync=False) as again:
            assert {f"/n{i}" for i in range(100)} <= set(again.tree.nodes)

    def test_what_has_arrived_is_read_before_a_session_is_given_up(self, data_dir: Path) -> None:
        time = MockTime()
        with ZooKeeperServer(data_dir, force_sync=False, time=time) as server, contextlib.ExitStack() as stack:
            sessions = [stack.enter_context(talking(server)).session for _ in range(4)]
            server.drop_connections()
            back = []

            def stall() -> None:
                time.sleep(6000)
                for session_id in sessions:  # as clients that have noticed how silent we are
                    back.append(stack.enter_context(contextlib.closing(Talk(server))))
                    request = struct.pack(">iqiqi", 0, 0, 5000, session_id, 16) + password_of(session_id)
                    back[-1].send(request)

            server.run_on_server_thread(stall)
            resumed = [struct.unpack_from(">iiq", client.read_frame())[2] for client in back]
            assert resumed == sessions

    def test_a_client_that_does_not_take_its_answers_is_not_read_any_further(self, data_dir: Path) -> None:
        large, count = b"x" * 900_000, 30
        with ZooKeeperServer(data_dir, force_sync=False) as server, connected(server.connect_string) as client:
            client.create("/large", large)
            held = [0]

            def look() -> None:
                held[0] = max(held[0], *(len(connection._out) for connection in server.connections))

            with socket.create_connection((server.host, server.port), timeout=WAIT_S) as sock:
                sock.sendall(CONNECT)
                assert len(sock.recv(4096)) == 40
                get = struct.pack(">iii6sb", 4, 4, 6, b"/large", 0)
                sock.sendall((struct.pack(">i", len(get)) + get) * count)
                while held[0] < 1 << 22:
                    server.run_on_server_thread(look)
                server.run_on_server_thread(look)
                answer = bytearray()
                frame = 4 + 16 + 4 + len(large) + 68
                while len(answer) < count * frame:
                    answer += sock.recv(1 << 20)
            assert len(answer) == count * frame
            assert held[0] < (1 << 22) + 2 * frame

    def test_a_connection_without_a_session_is_closed_after_a_while(self, data_dir: Path) -> None:
        time = MockTime()
        with (
            ZooKeeperServer(data_dir, force_sync=False, tick_time=20, time=time, max_session_timeout=60_000) as server,
            connected(server.connect_string, timeout=60.0) as client,
            socket.create_connection((server.host, server.port), timeout=WAIT_S) as sock,
        ):
            sock.sendall(b"\0\0")
            while len(server.connections) < 2:
                server.run_on_server_thread(lambda: None)
            time.sleep(10_001)
            assert sock.recv(1) == b""
            assert client.exists("/zookeeper")

    def test_an_accept_that_fails_is_tried_again_after_a_pause(self, data_dir: Path) -> None:
        class NoDescriptorsLeft:
            """A listener that is ready, and cannot accept."""

            def __init__(self, listener: socket.socket) -> None:
                self.listener, self.calls = listener, 0

            def fileno(self) -> int:
                return self.listener.fileno()

            def accept(self) -> tuple[socket.socket, Any]:
                self.calls += 1
                if self.calls < 3:
                    raise OSError(errno.EMFILE, "Too many open files")
                return self.listener.accept()

            def close(self) -> None:
                self.listener.close()

        time = MockTime()
        with ZooKeeperServer(data_dir, force_sync=False, tick_time=20, time=time) as server:
            listener: Any = NoDescriptorsLeft(server._listener)  # type: ignore[arg-type]
            server.run_on_server_thread(lambda: setattr(server, "_listener", listener))
            with socket.create_connection((server.host, server.port), timeout=WAIT_S) as sock:
                for calls in (1, 2):
                    while listener.calls < calls:
                        server.run_on_server_thread(lambda: None)
                    for _ in range(50):
                        server.run_on_server_thread(lambda: None)
                    assert listener.calls == calls
                    time.sleep(1000)
                sock.sendall(b"ruok")
                assert sock.recv(4) == b"imok"

    def test_a_watch_that_has_fired_leaves_nothing(self, embedded_server: ZooKeeperServer) -> None:
        watches = embedded_server.processor.watches
        with connected(embedded_server.connect_string) as client:
            before = {path for paths in watches._paths.values() for path in paths}
            for i in range(5):
                client.exists(f"/fired{i}", watch=lambda event: None)
                client.create(f"/fired{i}", b"")
                client.get_children(f"/fired{i}", watch=lambda event: None)
                client.get(f"/fired{i}", watch=lambda event: None)
                client.delete(f"/fired{i}")
            assert {path for paths in watches._paths.values() for path in paths} == before

    @pytest.mark.slow
    def test_what_was_acknowledged_survives_kill_9(self, data_dir: Path) -> None:
        code = (
            "import sys; from kafka_py.embedded.zookeeper_server import ZooKeeperServer; "
            "server = ZooKeeperServer(sys.argv[1]).startup(); print(server.port, flush=True); server.await_shutdown()"
        )
        with subprocess.Popen([sys.executable, "-c", code, str(data_dir)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            client = KazooClient(f"127.0.0.1:{port}", timeout=5.0)
            client.start()
            acknowledged = []
            pending = [(i, client.create_async(f"/n{i}", b"%d" % i)) for i in range(300)]
            for i, result in pending[:150]:
                result.get()
                acknowledged.append(i)
            process.send_signal(signal.SIGKILL)
            process.wait()
            client.stop()
            client.close()
        with ZooKeeperServer(data_dir, force_sync=False) as server:
            for i in acknowledged:
                assert server.tree.nodes[f"/n{i}"].data == b"%d" % i

"""ZkNodeChangeNotificationListener against both servers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_py.common.utils.time import Time
from kafka_py.common.zk_node_change_notification_listener import NotificationHandler, ZkNodeChangeNotificationListener
from kafka_py.utils.concurrent import LinkedBlockingQueue
from kafka_py.zk.kafka_zk_client import KafkaZkClient

ROOT, PREFIX = "/changes", "change_"
WAIT_MS = 10_000


class Handler(NotificationHandler):
    def __init__(self) -> None:
        self.messages: LinkedBlockingQueue[bytes] = LinkedBlockingQueue()

    def process_notification(self, notification_message: bytes) -> None:
        self.messages.put(notification_message)
        if notification_message == b"faulty":
            raise RuntimeError("faulty")


@pytest.fixture
def zk(zk_connect: str) -> Iterator[KafkaZkClient]:
    client = KafkaZkClient.create(zk_connect, False, 6000, 6000, 100, Time.SYSTEM)
    client.make_sure_persistent_path_exists(ROOT)
    yield client
    client.close()


@pytest.mark.ported("ZkNodeChangeNotificationListenerTest.testProcessNotification")
def test_each_notification_is_processed_once_and_in_order(zk: KafkaZkClient) -> None:
    handler = Handler()
    zk.create_sequential_persistent_path(f"{ROOT}/{PREFIX}", b"before")
    listener = ZkNodeChangeNotificationListener(zk, ROOT, PREFIX, handler)
    listener.init()
    assert handler.messages.poll(WAIT_MS) == b"before"
    for message in (b"1", b"2", b"3"):
        zk.create_sequential_persistent_path(f"{ROOT}/{PREFIX}", message)
        assert handler.messages.poll(WAIT_MS) == message
    listener.close()
    zk.create_sequential_persistent_path(f"{ROOT}/{PREFIX}", b"after")
    assert handler.messages.poll(50) is None
    assert len(zk.get_children(ROOT)) == 5


def test_old_notifications_are_removed(zk: KafkaZkClient) -> None:
    handler = Handler()
    for message in (b"1", b"2"):
        zk.create_sequential_persistent_path(f"{ROOT}/{PREFIX}", message)
    listener = ZkNodeChangeNotificationListener(zk, ROOT, PREFIX, handler, change_expiration_ms=-1000)
    listener._process_notifications()
    assert handler.messages.size() == 2
    assert zk.get_children(ROOT) == []


def test_a_handler_that_raises_gets_the_notification_again(zk: KafkaZkClient) -> None:
    handler = Handler()
    listener = ZkNodeChangeNotificationListener(zk, ROOT, PREFIX, handler)
    zk.create_sequential_persistent_path(f"{ROOT}/{PREFIX}", b"faulty")
    listener._process_notifications()
    listener._process_notifications()
    assert handler.messages.size() == 2
    assert listener._last_executed_change == -1


def test_a_new_session_looks_for_what_was_missed(zk: KafkaZkClient) -> None:
    handler = Handler()
    listener = ZkNodeChangeNotificationListener(zk, ROOT, PREFIX, handler)
    listener.init()
    zk._zoo_keeper_client.force_reinitialize()
    zk._zoo_keeper_client.wait_until_connected()
    zk.create_sequential_persistent_path(f"{ROOT}/{PREFIX}", b"after expiry")
    assert handler.messages.poll(WAIT_MS) == b"after expiry"
    listener.close()

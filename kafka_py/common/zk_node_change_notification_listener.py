"""Hears of sequential nodes below one node, and has each processed once.

Mirrors: core/src/main/scala/kafka/common/ZkNodeChangeNotificationListener.scala @ 1.1.1
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from kafka_py.common.utils.time import Time
from kafka_py.utils.concurrent import AtomicBoolean, LinkedBlockingQueue
from kafka_py.utils.logging import Logging
from kafka_py.utils.shutdownable_thread import ShutdownableThread

if TYPE_CHECKING:
    from kafka_py.zk.kafka_zk_client import KafkaZkClient
    from kafka_py.zookeeper.zoo_keeper_client import StateChangeHandler, ZNodeChildChangeHandler
else:
    # Kafka's two packages called common are one folder here, and below zk: the traits serve the type checker alone.
    StateChangeHandler = ZNodeChildChangeHandler = object


class NotificationHandler(ABC):
    """What is done with a notification.

    Mirrors: kafka.common.NotificationHandler
    """

    @abstractmethod
    def process_notification(self, notification_message: bytes) -> None:
        """Take the node's data; what this raises is logged, and ends that round of notifications."""


class ZkNodeChangeNotificationListener(Logging):
    """Watches a node's children; a thread reads the new ones in the order of their numbers and removes old ones.

    Mirrors: kafka.common.ZkNodeChangeNotificationListener
    Thread: PATH-event-process-thread; init and close are called from outside.
    """

    logger_name = "kafka.common.ZkNodeChangeNotificationListener"

    def __init__(
        self,
        zk_client: KafkaZkClient,
        seq_node_root: str,
        seq_node_prefix: str,
        notification_handler: NotificationHandler,
        change_expiration_ms: int = 15 * 60 * 1000,
        time: Time = Time.SYSTEM,
    ) -> None:
        """Listen to the children of seq_node_root whose names are seq_node_prefix and a number."""
        self._zk_client = zk_client
        self._seq_node_root = seq_node_root
        self._seq_node_prefix = seq_node_prefix
        self._notification_handler = notification_handler
        self._change_expiration_ms = change_expiration_ms
        self._time = time
        self._last_executed_change = -1  # thread: event-process
        self._queue: LinkedBlockingQueue[ZkNodeChangeNotificationListener.ChangeNotification] = (
            LinkedBlockingQueue()
        )  # handoff: event thread -> event-process
        self._thread = self.ChangeEventProcessThread(self, f"{seq_node_root}-event-process-thread")
        self._is_closed = AtomicBoolean(False)  # atomic
        self._change_notification_handler = self.ChangeNotificationHandler(self)
        self._zk_state_change_handler = self.ZkStateChangeHandler(self)

    def init(self) -> None:
        """Begin to listen, and process what is there already."""
        self._zk_client.register_state_change_handler(self._zk_state_change_handler)
        self._zk_client.register_znode_child_change_handler(self._change_notification_handler)
        self._add_change_notification()
        self._thread.start()

    def close(self) -> None:
        """Stop listening, and end the thread."""
        self._is_closed.set(True)
        self._zk_client.unregister_state_change_handler(self._zk_state_change_handler.name)
        self._zk_client.unregister_znode_child_change_handler(self._change_notification_handler.path)
        self._queue.clear()
        self._thread.shutdown()

    def _process_notifications(self) -> None:
        """Read the nodes that have a higher number than the last one that was processed."""
        try:
            notifications = sorted(self._zk_client.get_children(self._seq_node_root))
            if not notifications:
                return
            self.info("Processing notification(s) to %s", self._seq_node_root)
            now = self._time.milliseconds()
            for notification in notifications:
                change_id = self._change_number(notification)
                if change_id <= self._last_executed_change:
                    continue
                change_znode = f"{self._seq_node_root}/{notification}"
                data, _ = self._zk_client.get_data_and_stat(change_znode)
                if data is None:
                    self.warn("read null data from %s when processing notification %s", change_znode, notification)
                else:
                    self._notification_handler.process_notification(data)
                self._last_executed_change = change_id
            self._purge_obsolete_notifications(now, notifications)
        except Exception as e:  # noqa: BLE001  # the thread must live for the next notification
            if not self._is_closed.get():
                self.error("Error while processing notification change for path = %s", self._seq_node_root, exc=e)

    def _add_change_notification(self) -> None:
        # One that waits already will see what this one is for: more would only read the same nodes again.
        if not self._is_closed.get() and self._queue.is_empty():
            self._queue.put(self.ChangeNotification(self))

    def _purge_obsolete_notifications(self, now: int, notifications: list[str]) -> None:
        """Delete the nodes that are older than change_expiration_ms."""
        for notification in sorted(notifications):
            node = f"{self._seq_node_root}/{notification}"
            data, stat = self._zk_client.get_data_and_stat(node)
            if data is not None and now - stat.ctime > self._change_expiration_ms:
                self.debug("Purging change notification %s", node)
                self._zk_client.delete_path(node)

    def _change_number(self, name: str) -> int:
        return int(name[len(self._seq_node_prefix) :])

    class ChangeNotification:
        """Wish to look for new nodes.

        Mirrors: kafka.common.ZkNodeChangeNotificationListener.ChangeNotification
        """

        def __init__(self, listener: ZkNodeChangeNotificationListener) -> None:
            """Of that listener."""
            self._listener = listener

        def process(self) -> None:
            """Look for them."""
            self._listener._process_notifications()

    class ChangeEventProcessThread(ShutdownableThread):
        """Carries out the wishes.

        Mirrors: kafka.common.ZkNodeChangeNotificationListener.ChangeEventProcessThread
        """

        def __init__(self, listener: ZkNodeChangeNotificationListener, name: str) -> None:
            """Of that listener."""
            super().__init__(name=name)
            self._listener = listener

        def do_work(self) -> None:
            """Wait for the next wish, and carry it out."""
            self._listener._queue.take().process()

    class ChangeNotificationHandler(ZNodeChildChangeHandler):
        """Wishes when the children change.

        Mirrors: kafka.common.ZkNodeChangeNotificationListener.ChangeNotificationHandler
        """

        def __init__(self, listener: ZkNodeChangeNotificationListener) -> None:
            """Of that listener."""
            self.path = listener._seq_node_root
            self._listener = listener

        def handle_child_change(self) -> None:
            """Children came or went."""
            self._listener._add_change_notification()

    class ZkStateChangeHandler(StateChangeHandler):
        """Wishes after a new session, whose watch must be set and whose news were missed.

        Mirrors: kafka.common.ZkNodeChangeNotificationListener.ZkStateChangeHandler
        """

        def __init__(self, listener: ZkNodeChangeNotificationListener) -> None:
            """Of that listener."""
            from kafka_py.zk.zk_data import StateChangeHandlers  # zk stands above common

            self.name = StateChangeHandlers.zk_node_change_listener_handler(listener._seq_node_root)
            self._listener = listener

        def before_initializing_session(self) -> None:
            """Nothing is held that belongs to the old session."""
            return

        def on_auth_failure(self) -> None:
            """The broker that owns the client stops, and this listener with it."""
            return

        def after_initializing_session(self) -> None:
            """A new session."""
            self._listener._add_change_notification()

"""Hears of configuration changes in ZooKeeper and passes them on.

Mirrors: core/src/main/scala/kafka/server/DynamicConfigManager.scala @ 1.1.1
Posts:   reading-writing-configuring (its predecessor of 0.8, TopicConfigManager)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kafka_py.common.config.types.password import Password
from kafka_py.common.errors import IllegalArgumentException
from kafka_py.common.utils.time import Time
from kafka_py.common.zk_node_change_notification_listener import NotificationHandler, ZkNodeChangeNotificationListener
from kafka_py.server.config_type import ConfigType
from kafka_py.server.dynamic_config import User
from kafka_py.utils.logging import Logging
from kafka_py.zk.admin_zk_client import AdminZkClient
from kafka_py.zk.zk_data import ConfigEntityChangeNotificationSequenceZNode, ConfigEntityChangeNotificationZNode

if TYPE_CHECKING:
    from kafka_py.server.config_handler import ConfigHandler
    from kafka_py.zk.kafka_zk_client import KafkaZkClient


class DynamicConfigManager(Logging):
    """Watches /config/changes: a change writes the entity's node first and then a notification that names it.

    A notification carries no settings, so that a late one can do no harm: what counts is what the entity's node says
    when it is read. Notifications older than 15 minutes are swept.

    Mirrors: kafka.server.DynamicConfigManager
    Thread: /config/changes-event-process-thread.
    """

    class ConfigChangedNotificationHandler(NotificationHandler):
        """Reads a notification and calls the handler of its kind.

        Mirrors: kafka.server.DynamicConfigManager.ConfigChangedNotificationHandler
        """

        def __init__(self, manager: DynamicConfigManager) -> None:
            """Act for this manager."""
            self._manager = manager

        def process_notification(self, notification_message: bytes) -> None:
            """Take over the change; raises IllegalArgumentException for a notification of unknown form."""
            try:
                content = json.loads(notification_message)
            except ValueError:
                # Brokers before 0.9 wrote the bare name of the topic; they are long gone from any cluster we can join.
                self._manager.debug("Ignoring config change notification %r", notification_message)
                return
            if not isinstance(content, dict):
                raise IllegalArgumentException(
                    'Config change notification has an unexpected value. The format is:{"version" : 1, "entity_type":'
                    '"topics/clients", "entity_name" : "topic_name/client_id"} or {"version" : 2, "entity_path":'
                    f'"entity_type/entity_name"}}. Received: {notification_message.decode(errors="replace")}'
                )
            match content.get("version"):
                case 1:
                    self._process_entity_config_change_version1(notification_message, content)
                case 2:
                    self._process_entity_config_change_version2(notification_message, content)
                case version:
                    raise IllegalArgumentException(
                        f"Config change notification has unsupported version '{version}', "
                        "supported versions are 1 and 2."
                    )

        def _process_entity_config_change_version1(self, json_bytes: bytes, js: Mapping[str, Any]) -> None:
            received = json_bytes.decode(errors="replace")
            entity_type = js.get("entity_type")
            if entity_type not in (ConfigType.TOPIC, ConfigType.CLIENT):
                raise IllegalArgumentException(
                    "Version 1 config change notification must have 'entity_type' set to 'clients' or 'topics'. "
                    f"Received: {received}"
                )
            entity = js.get("entity_name")
            if not isinstance(entity, str):
                raise IllegalArgumentException(
                    f"Version 1 config change notification does not specify 'entity_name'. Received: {received}"
                )
            manager = self._manager
            entity_config = manager.admin_zk_client.fetch_entity_config(entity_type, entity)
            manager.info(
                "Processing override for entityType: %s, entity: %s with config: %s", entity_type, entity, entity_config
            )
            manager.process(entity_type, entity, entity_config)

        def _process_entity_config_change_version2(self, json_bytes: bytes, js: Mapping[str, Any]) -> None:
            received = json_bytes.decode(errors="replace")
            entity_path = js.get("entity_path")
            if not isinstance(entity_path, str):
                raise IllegalArgumentException(
                    f"Version 2 config change notification must specify 'entity_path'. Received: {received}"
                )
            root_entity_type, slash, entity = entity_path.partition("/")
            if not slash or root_entity_type not in ConfigType.ALL:
                kinds = ", ".join(f"'{kind}'/" for kind in ConfigType.ALL)
                raise IllegalArgumentException(
                    "Version 2 config change notification must have 'entity_path' starting with one of "
                    f"{kinds}. Received: {received}"
                )
            manager = self._manager
            entity_config = manager.admin_zk_client.fetch_entity_config(root_entity_type, entity)
            loggable = {
                name: Password.HIDDEN if name in User.SCRAM_MECHANISMS else value
                for name, value in entity_config.items()
            }
            manager.info("Processing override for entityPath: %s with config: %s", entity_path, loggable)
            manager.process(root_entity_type, entity, entity_config)

    def __init__(
        self,
        zk_client: KafkaZkClient,
        config_handlers: Mapping[str, ConfigHandler],
        change_expiration_ms: int = 15 * 60 * 1000,
        time: Time = Time.SYSTEM,
    ) -> None:
        """config_handlers: folder under /config -> who takes over its changes."""
        self.admin_zk_client = AdminZkClient(zk_client)
        self._config_handlers = dict(config_handlers)
        self._config_change_listener = ZkNodeChangeNotificationListener(
            zk_client,
            ConfigEntityChangeNotificationZNode.path,
            ConfigEntityChangeNotificationSequenceZNode.SEQUENCE_NUMBER_PREFIX,
            DynamicConfigManager.ConfigChangedNotificationHandler(self),
            change_expiration_ms,
            time,
        )

    def process(self, entity_type: str, entity: str, entity_config: Mapping[str, str]) -> None:
        """Let the handler of the kind take over; a kind without one is left alone."""
        handler = self._config_handlers.get(entity_type)
        if handler is None:
            self.debug("No handler for changes of %s", entity_type)
        else:
            handler.process_config_changes(entity, entity_config)

    def startup(self) -> None:
        """Watch for changes, then take over everything that is there: what was missed while nobody watched."""
        self._config_change_listener.init()
        for config_type, handler in self._config_handlers.items():
            for entity, properties in self.admin_zk_client.fetch_all_entity_configs(config_type).items():
                handler.process_config_changes(entity, properties)
            if config_type == ConfigType.USER:
                nested = self.admin_zk_client.fetch_all_child_entity_configs(ConfigType.USER, ConfigType.CLIENT)
                for entity, properties in nested.items():
                    handler.process_config_changes(entity, properties)

    def shutdown(self) -> None:
        """Watch no longer."""
        self._config_change_listener.close()

"""The kinds of things whose configuration lives in ZooKeeper.

Mirrors: core/src/main/scala/kafka/server/DynamicConfigManager.scala @ 1.1.1 (the two constant objects; they stand in
a file of their own because the layers below the server need them)
"""

from __future__ import annotations

from typing import Final


class ConfigType:
    """Names of the folders under /config.

    Mirrors: kafka.server.ConfigType
    """

    TOPIC: Final = "topics"
    CLIENT: Final = "clients"
    USER: Final = "users"
    BROKER: Final = "brokers"
    ALL: Final = (TOPIC, CLIENT, USER, BROKER)


class ConfigEntityName:
    """Name of the node that holds what applies when nothing more special does.

    Mirrors: kafka.server.ConfigEntityName
    """

    DEFAULT: Final = "<default>"

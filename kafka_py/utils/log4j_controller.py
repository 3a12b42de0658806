"""Reads and changes log levels while the broker runs.

Mirrors: core/src/main/scala/kafka/utils/Log4jController.scala @ 1.1.1
"""

from __future__ import annotations

import logging

from kafka_py.utils.log4j_configurator import LEVEL_NAMES, LEVELS
from kafka_py.utils.mbeans import PLATFORM_MBEAN_SERVER


class Log4jController:
    """What the bean kafka:type=kafka.Log4jController offers.

    Mirrors: kafka.utils.Log4jController
    Left out: newLogger, existingLogger -- Python makes a logger when it is asked for
    """

    def get_loggers(self) -> list[str]:
        """`name=LEVEL` of the root and of every logger, by name."""
        manager = logging.Logger.manager
        names = sorted(name for name, found in manager.loggerDict.items() if isinstance(found, logging.Logger))
        return [f"{name}={self.get_log_level(name)}" for name in ["root", *names]]

    def get_log_level(self, logger_name: str) -> str:
        """The level in force for a logger; "No such logger." if there is none of that name."""
        if logger_name != "root" and not isinstance(logging.Logger.manager.loggerDict.get(logger_name), logging.Logger):
            return "No such logger."
        level = logging.getLogger(None if logger_name == "root" else logger_name).getEffectiveLevel()
        return LEVEL_NAMES.get(level, logging.getLevelName(level))

    def set_log_level(self, logger_name: str, level: str) -> bool:
        """Set a logger's level; False for an empty name or level. A level that is none means DEBUG, as in log4j."""
        if not logger_name.strip() or not level.strip():
            return False
        found = LEVELS.get(level.strip().upper(), logging.DEBUG)
        logging.getLogger(None if logger_name == "root" else logger_name).setLevel(found)
        return True


PLATFORM_MBEAN_SERVER.register("kafka:type=kafka.Log4jController", {"Loggers": Log4jController().get_loggers})

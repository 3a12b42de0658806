"""Log lines with Kafka's logger names, levels and prefixes.

Mirrors: core/src/main/scala/kafka/utils/Logging.scala @ 1.1.1

A disabled line must cost next to nothing, so each logger keeps flags that say which levels are on; they are set anew
whenever any logger's level changes. Where even building the arguments costs, ask `is_trace_enabled` first.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, KeysView, ValuesView
from typing import Any, ClassVar

TRACE = 5
DEBUG = logging.DEBUG
INFO = logging.INFO
WARN = logging.WARNING
ERROR = logging.ERROR
FATAL = logging.CRITICAL
logging.addLevelName(TRACE, "TRACE")


class KafkaLogger:
    """A logger with log4j's levels whose level checks are plain attributes.

    Differs: has no original; log4j's own look-up is cheap enough in Java.
    """

    __slots__ = (
        "debug_enabled",
        "error_enabled",
        "info_enabled",
        "name",
        "trace_enabled",
        "underlying",
        "warn_enabled",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.underlying = logging.getLogger(name)
        self.refresh()

    def refresh(self) -> None:
        """Look the flags up again."""
        enabled = self.underlying.isEnabledFor
        self.trace_enabled = enabled(TRACE)
        self.debug_enabled = enabled(DEBUG)
        self.info_enabled = enabled(INFO)
        self.warn_enabled = enabled(WARN)
        self.error_enabled = enabled(ERROR)

    def trace(self, msg: str, *args: Any, exc: BaseException | None = None) -> None:
        """Log at TRACE."""
        if self.trace_enabled:
            self.underlying.log(TRACE, msg, *args, exc_info=exc)

    def debug(self, msg: str, *args: Any, exc: BaseException | None = None) -> None:
        """Log at DEBUG."""
        if self.debug_enabled:
            self.underlying.log(DEBUG, msg, *args, exc_info=exc)

    def info(self, msg: str, *args: Any, exc: BaseException | None = None) -> None:
        """Log at INFO."""
        if self.info_enabled:
            self.underlying.log(INFO, msg, *args, exc_info=exc)

    def warn(self, msg: str, *args: Any, exc: BaseException | None = None) -> None:
        """Log at WARN."""
        if self.warn_enabled:
            self.underlying.log(WARN, msg, *args, exc_info=exc)

    def error(self, msg: str, *args: Any, exc: BaseException | None = None) -> None:
        """Log at ERROR."""
        if self.error_enabled:
            self.underlying.log(ERROR, msg, *args, exc_info=exc)

    def fatal(self, msg: str, *args: Any, exc: BaseException | None = None) -> None:
        """Log at FATAL."""
        self.underlying.log(FATAL, msg, *args, exc_info=exc)


_loggers: dict[str, KafkaLogger] = {}


def get_logger(name: str) -> KafkaLogger:
    """The logger of that name, made on first use."""
    found = _loggers.get(name)
    if found is None:
        found = _loggers.setdefault(name, KafkaLogger(name))
    return found


def refresh_loggers() -> None:
    """Set every logger's flags anew."""
    for logger in list(_loggers.values()):
        logger.refresh()


def _watch_level_changes() -> None:
    """logging clears a cache of its own whenever any level changes; that is the moment to look at the flags."""
    manager: Any = logging.Logger.manager
    clear_cache: Callable[[], None] = manager._clear_cache

    def clear_cache_and_flags() -> None:
        clear_cache()
        refresh_loggers()

    manager._clear_cache = clear_cache_and_flags


_watch_level_changes()


def shown(value: Any, java: bool = False) -> Any:
    """A collection as Scala's toString writes it, or Java's: readers compare our lines with Kafka's.

    ``{1, 2}`` becomes ``Set(1, 2)`` and ``{1: "a"}`` becomes ``Map(1 -> a)``; in Java ``[1, 2]`` and ``{1=a}``. What
    is no collection is returned as it is.
    """
    if isinstance(value, dict):
        arrow = "=" if java else " -> "
        inside = ", ".join(f"{shown(k, java)}{arrow}{shown(v, java)}" for k, v in value.items())
        return f"{{{inside}}}" if java else f"Map({inside})"
    if type(value) is tuple:
        return f"({','.join(str(shown(item, java)) for item in value)})"
    if not isinstance(value, list | set | frozenset | KeysView | ValuesView):
        return value
    inside = ", ".join(str(shown(item, java)) for item in value)
    if java:
        return f"[{inside}]"
    return f"{'List' if isinstance(value, list | ValuesView) else 'Set'}({inside})"


def kafka_name(module: str, qualname: str) -> str:
    """The name Kafka's class has: `kafka_py.network.socket_server`, `Processor` -> `kafka.network.Processor`."""
    package = module.rpartition(".")[0]
    if re.match(r"kafka_py\.(common|clients)\b", package):
        package = package.replace("kafka_py", "org.apache.kafka", 1)
    else:
        package = package.replace("kafka_py", "kafka", 1)
    return f"{package}.{qualname.replace('<locals>.', '').replace('.', '$')}"


class Logging:
    """Gives a class its log methods: trace, debug, info, warn, error, fatal.

    `msg` is %-formatted with `args` only if the level is on. A class attribute `logger_name` replaces the name made
    from module and class.

    Mirrors: kafka.utils.Logging
    """

    logger: ClassVar[KafkaLogger]
    logger_name: ClassVar[str] = ""
    log_ident: str = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.logger = get_logger(cls.logger_name or kafka_name(cls.__module__, cls.__qualname__))

    def msg_with_log_ident(self, msg: str, formatted: bool = False) -> str:
        """The message behind the object's prefix; formatted: the message is still to be %-formatted."""
        ident = self.log_ident
        if formatted and "%" in ident:
            ident = ident.replace("%", "%%")
        return ident + msg

    @property
    def is_trace_enabled(self) -> bool:
        """Whether trace lines are written."""
        return self.logger.trace_enabled

    @property
    def is_debug_enabled(self) -> bool:
        """Whether debug lines are written."""
        return self.logger.debug_enabled

    def trace(self, msg: str, *args: Any, exc: BaseException | None = None) -> None:
        """Log at TRACE."""
        if self.logger.trace_enabled:
            self._log(TRACE, msg, args, exc)

    def debug(self, msg: str, *args: Any, exc: BaseException | None = None) -> None:
        """Log at DEBUG."""
        if self.logger.debug_enabled:
            self._log(DEBUG, msg, args, exc)

    def info(self, msg: str, *args: Any, exc: BaseException | None = None) -> None:
        """Log at INFO."""
        if self.logger.info_enabled:
            self._log(INFO, msg, args, exc)

    def warn(self, msg: str, *args: Any, exc: BaseException | None = None) -> None:
        """Log at WARN."""
        if self.logger.warn_enabled:
            self._log(WARN, msg, args, exc)

    def error(self, msg: str, *args: Any, exc: BaseException | None = None) -> None:
        """Log at ERROR."""
        if self.logger.error_enabled:
            self._log(ERROR, msg, args, exc)

    def fatal(self, msg: str, *args: Any, exc: BaseException | None = None) -> None:
        """Log at FATAL."""
        self._log(FATAL, msg, args, exc)

    def _log(self, level: int, msg: str, args: tuple[Any, ...], exc: BaseException | None) -> None:
        text = self.msg_with_log_ident(msg, formatted=bool(args))
        if args:
            java = self.logger.name.startswith("org.apache.kafka.")
            args = tuple(shown(arg, java) for arg in args)
        self.logger.underlying.log(level, text, *args, exc_info=exc, stacklevel=3)


Logging.logger = get_logger("kafka.utils.Logging")

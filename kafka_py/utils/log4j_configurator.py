"""Reads a log4j.properties file and sets Python's logging up to do what it says.

Ours; stands in for org.apache.log4j.PropertyConfigurator. Understands what Kafka's files use: rootLogger, logger,
additivity, threshold; console, file, daily rolling and size rolling appenders; pattern layouts; `${name}`.
"""

from __future__ import annotations

import logging
import logging.handlers
import os
import re
import shlex
import sys
import time
import traceback
from collections.abc import Callable, Mapping, MutableMapping

from kafka_py.common.utils.utils import load_props
from kafka_py.utils.logging import DEBUG, ERROR, FATAL, INFO, TRACE, WARN

OFF = FATAL + 10
LEVELS = {
    "ALL": 1,
    "TRACE": TRACE,
    "DEBUG": DEBUG,
    "INFO": INFO,
    "WARN": WARN,
    "WARNING": WARN,
    "ERROR": ERROR,
    "FATAL": FATAL,
    "OFF": OFF,
}
LEVEL_NAMES = {TRACE: "TRACE", DEBUG: "DEBUG", INFO: "INFO", WARN: "WARN", ERROR: "ERROR", FATAL: "FATAL", OFF: "OFF"}
_CONVERSION = re.compile(r"%(-?\d+)?(?:\.(\d+))?([a-zA-Z%])(?:\{([^}]*)\})?")
_DATE_FIELDS = {"yyyy": "%Y", "yy": "%y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}


class PatternLayout(logging.Formatter):
    """Formats a record by a conversion pattern such as `[%d] %p %m (%c)%n`.

    Mirrors: org.apache.log4j.PatternLayout
    Differs: the last line end of the pattern is left to the handler.
    """

    def __init__(self, pattern: str = "%m%n") -> None:
        super().__init__()
        self._parts: list[str | Callable[[logging.LogRecord], str]] = []
        pattern = re.sub(r"%n$", "", pattern)
        end = 0
        for found in _CONVERSION.finditer(pattern):
            self._parts += [pattern[end : found.start()], self._converter(found)]
            end = found.end()
        self._parts.append(pattern[end:])

    @staticmethod
    def _converter(found: re.Match[str]) -> Callable[[logging.LogRecord], str]:
        width, longest, letter, option = found.groups()
        convert = _CONVERTERS.get(letter)
        if convert is None:
            raise ValueError(f"unknown conversion character in log pattern: {found[0]}")

        def padded(record: logging.LogRecord) -> str:
            text = convert(record, option)
            if longest is not None:
                text = text[-int(longest) :]
            if width is not None:
                text = text.ljust(-int(width)) if width[0] == "-" else text.rjust(int(width))
            return text

        return padded if width or longest else lambda record: convert(record, option)

    def format(self, record: logging.LogRecord) -> str:
        """The line, and the stack trace of the record's exception below it."""
        line = "".join([part if isinstance(part, str) else part(record) for part in self._parts])
        if record.exc_info:
            exception = record.exc_info[1]
            if exception is not None:
                line += "\n" + "".join(traceback.format_exception(exception)).rstrip("\n")
        return line


def _date(record: logging.LogRecord, option: str | None) -> str:
    """2026-11-21 10:00:00,123 unless the option says otherwise."""
    moment = time.localtime(record.created)
    millis = f"{int(record.msecs):03d}"
    if option in (None, "", "ISO8601"):
        return time.strftime("%Y-%m-%d %H:%M:%S,", moment) + millis
    if option == "ABSOLUTE":
        return time.strftime("%H:%M:%S,", moment) + millis
    return time.strftime(date_pattern(option or ""), moment).replace("SSS", millis)


def date_pattern(pattern: str) -> str:
    """A Java date pattern as one of strftime; text in quotes stays as it is."""
    pieces = re.findall(r"'([^']*)'|(yyyy|yy|MM|dd|HH|mm|ss)|(.)", pattern)
    return "".join(
        _DATE_FIELDS[field] if field else (quoted or other).replace("%", "%%") for quoted, field, other in pieces
    )


def _logger_name(record: logging.LogRecord, option: str | None) -> str:
    """The name, or as many of its last parts as the pattern says."""
    return ".".join(record.name.split(".")[-int(option) :]) if option else record.name


_CONVERTERS: dict[str, Callable[[logging.LogRecord, str | None], str]] = {
    "d": _date,
    "p": lambda record, _: LEVEL_NAMES.get(record.levelno, record.levelname),
    "m": lambda record, _: record.getMessage(),
    "c": _logger_name,
    "C": _logger_name,
    "t": lambda record, _: record.threadName or "",
    "L": lambda record, _: str(record.lineno),
    "F": lambda record, _: record.filename,
    "M": lambda record, _: record.funcName or "",
    "l": lambda record, _: f"{record.name}.{record.funcName}({record.filename}:{record.lineno})",
    "r": lambda record, _: str(int(record.relativeCreated)),
    "x": lambda record, _: "",
    "n": lambda record, _: "\n",
    "%": lambda record, _: "%",
}


class DailyRollingFileHandler(logging.FileHandler):
    """Appends to a file; when the date, written by a pattern, changes, the file so far gets the old date as ending.

    Mirrors: org.apache.log4j.DailyRollingFileAppender
    """

    def __init__(self, path: str, date_pattern_text: str = "'.'yyyy-MM-dd", append: bool = True) -> None:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        self._suffix_format = date_pattern(date_pattern_text)
        super().__init__(path, mode="a" if append else "w", encoding="utf-8", delay=False)
        began = os.path.getmtime(path) if os.path.getsize(path) else None
        self._suffix = self._suffix_at(began)  # volatile: holder of the handler's lock
        self._second = -1  # volatile: holder of the handler's lock

    def _suffix_at(self, moment: float | None) -> str:
        return time.strftime(self._suffix_format, time.localtime(moment))

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record, rolling first if its date asks for it."""
        second = int(record.created)
        if second != self._second:  # one look per second is enough, no pattern is finer
            self._second = second
            suffix = self._suffix_at(record.created)
            if suffix != self._suffix:
                self._roll(suffix)
        super().emit(record)

    def _roll(self, suffix: str) -> None:
        self.close()
        if os.path.exists(self.baseFilename):
            os.replace(self.baseFilename, self.baseFilename + self._suffix)
        self._suffix = suffix
        self.stream = self._open()


class _ConsoleHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes to whatever sys.stdout or sys.stderr is at that moment."""

    def __init__(self, target: str) -> None:
        self._target = target
        super().__init__(sys.stdout)

    @property
    def stream(self) -> object:
        return getattr(sys, self._target)

    @stream.setter
    def stream(self, value: object) -> None:
        del value  # the target is looked up each time


def _size(text: str) -> int:
    """10MB in bytes."""
    found = re.fullmatch(r"\s*(\d+)\s*(KB|MB|GB)?\s*", text, re.I)
    if found is None:
        raise ValueError(f"not a file size: {text}")
    return int(found[1]) * {"": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3}[(found[2] or "").upper()]


class Log4jConfigurator:
    """Turns the properties of a log4j file into handlers and levels.

    `properties` answers `${name}` in values; names not in it are looked up in the file itself.
    """

    def __init__(self, config: Mapping[str, str], properties: Mapping[str, str] | None = None) -> None:
        self._config = config
        self._properties = properties or {}
        self._handlers: dict[str, logging.Handler] = {}

    @staticmethod
    def configure(path: str, properties: Mapping[str, str] | None = None) -> Log4jConfigurator:
        """Set logging up as the file says; OSError if it cannot be read, ValueError if it makes no sense."""
        configurator = Log4jConfigurator(load_props(path), properties)
        configurator.apply()
        return configurator

    @staticmethod
    def configure_from_environment(
        default_file: str, environ: MutableMapping[str, str] | None = None, logs_dir: str = "logs"
    ) -> Log4jConfigurator:
        """As Kafka's start scripts do: KAFKA_LOG4J_OPTS may name the file and set properties, LOG_DIR the folder.

        `logs_dir` is the folder when nobody names one.
        """
        environ = os.environ if environ is None else environ
        properties = system_properties(environ.get("KAFKA_LOG4J_OPTS", ""))
        properties.setdefault("kafka.logs.dir", environ.get("LOG_DIR") or logs_dir)
        location = properties.get("log4j.configuration", default_file)
        return Log4jConfigurator.configure(re.sub(r"^file:(//)?", "", location), properties)

    def _value(self, text: str) -> str:
        """The text with every `${name}` replaced."""
        return re.sub(
            r"\$\{([^}]*)\}",
            lambda m: self._value(self._properties.get(m[1], self._config.get(m[1], ""))),
            text.strip(),
        )

    def apply(self) -> None:
        """Replace the root's handlers and set every logger named in the file."""
        root = logging.getLogger()
        self._set_logger(root, self._config.get("log4j.rootLogger", "INFO"))
        for key, value in self._config.items():
            if key.startswith("log4j.logger."):
                name = key.removeprefix("log4j.logger.")
                logger = logging.getLogger(name)
                self._set_logger(logger, value)
                additive = self._value(self._config.get(f"log4j.additivity.{name}", "true"))
                logger.propagate = additive.lower() == "true"

    def _set_logger(self, logger: logging.Logger, value: str) -> None:
        """`LEVEL, appender, appender`"""
        level, *appenders = [part.strip() for part in self._value(value).split(",")]
        for old in list(logger.handlers):
            logger.removeHandler(old)
        for name in filter(None, appenders):
            logger.addHandler(self._handler(name))
        if level.upper() in ("INHERITED", "NULL", ""):
            logger.setLevel(logging.NOTSET)
        elif level.upper() in LEVELS:
            logger.setLevel(LEVELS[level.upper()])
        else:
            raise ValueError(f"unknown log level: {level}")

    def _handler(self, name: str) -> logging.Handler:
        if name not in self._handlers:
            prefix = f"log4j.appender.{name}"
            if prefix not in self._config:
                raise ValueError(f"no such appender: {name}")
            options = {
                key.removeprefix(prefix + ".").lower(): self._value(value)
                for key, value in self._config.items()
                if key.startswith(prefix + ".")
            }
            handler = self._make_handler(self._value(self._config[prefix]), options)
            handler.setFormatter(PatternLayout(options.get("layout.conversionpattern", "%m%n")))
            handler.setLevel(LEVELS.get(options.get("threshold", "ALL").upper(), 0))
            self._handlers[name] = handler
        return self._handlers[name]

    @staticmethod
    def _make_handler(class_name: str, options: Mapping[str, str]) -> logging.Handler:
        kind = class_name.rpartition(".")[2]
        append = options.get("append", "true").lower() == "true"
        if kind == "ConsoleAppender":
            return _ConsoleHandler("stderr" if options.get("target") == "System.err" else "stdout")
        if kind == "DailyRollingFileAppender":
            return DailyRollingFileHandler(options["file"], options.get("datepattern", "'.'yyyy-MM-dd"), append)
        if kind == "RollingFileAppender":
            os.makedirs(os.path.dirname(os.path.abspath(options["file"])), exist_ok=True)
            return logging.handlers.RotatingFileHandler(
                options["file"],
                maxBytes=_size(options.get("maxfilesize", "10MB")),
                backupCount=int(options.get("maxbackupindex", "1")),
                encoding="utf-8",
            )
        if kind == "FileAppender":
            os.makedirs(os.path.dirname(os.path.abspath(options["file"])), exist_ok=True)
            return logging.FileHandler(options["file"], mode="a" if append else "w", encoding="utf-8")
        if kind == "NullAppender":
            return logging.NullHandler()
        raise ValueError(f"unknown appender class: {class_name}")

    def close(self) -> None:
        """Close the files; what is logged after this is lost."""
        for handler in self._handlers.values():
            for logger in [logging.getLogger(), *map(logging.getLogger, list(logging.Logger.manager.loggerDict))]:
                logger.removeHandler(handler)
            handler.close()


def system_properties(options: str) -> dict[str, str]:
    """The `-Dname=value` among a JVM's options."""
    return {
        name: value
        for option in shlex.split(options)
        if option.startswith("-D")
        for name, _, value in [option[2:].partition("=")]
    }

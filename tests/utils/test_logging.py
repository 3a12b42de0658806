"""Log lines carry Kafka's names, and a disabled one costs nothing."""

from __future__ import annotations

import logging
import pathlib
import re
from collections.abc import Iterator

import pytest

from kafka_py.common.topic_partition import TopicPartition
from kafka_py.utils.log4j_configurator import (
    DailyRollingFileHandler,
    Log4jConfigurator,
    PatternLayout,
    date_pattern,
    system_properties,
)
from kafka_py.utils.log4j_controller import Log4jController
from kafka_py.utils.logging import FATAL, TRACE, Logging, get_logger, kafka_name, shown

CONFIG = pathlib.Path(__file__).parents[2] / "config"


class Processor(Logging):
    logger_name = "kafka.network.Processor"

    def __init__(self, ident: str = "") -> None:
        self.log_ident = ident


class Derived(Processor):
    pass


class Unnamed(Logging):
    pass


def test_names() -> None:
    assert kafka_name("kafka_py.network.socket_server", "Processor") == "kafka.network.Processor"
    assert kafka_name("kafka_py.common.network.selector", "Selector") == "org.apache.kafka.common.network.Selector"
    assert kafka_name("kafka_py.clients.metadata", "Metadata") == "org.apache.kafka.clients.Metadata"
    assert kafka_name("kafka_py.network.request_channel", "RequestChannel.Request") == (
        "kafka.network.RequestChannel$Request"
    )
    assert Derived.logger is Processor.logger, "a name given is inherited"
    assert Unnamed.logger.name == "tests.utils.Unnamed"


def test_levels_prefix_and_lazy_arguments(caplog: pytest.LogCaptureFixture) -> None:
    class Costly:
        def __str__(self) -> str:
            raise AssertionError("formatted although disabled")

    processor = Processor("[Processor 100%]: ")
    with caplog.at_level(logging.INFO, "kafka.network.Processor"):
        assert not processor.is_debug_enabled
        processor.trace("%s", Costly())
        processor.debug("%s", Costly())
        processor.info("to %d", 5)
        processor.warn("100% sure")
        error = OSError("x")
        processor.error("failed", exc=error)
        processor.fatal("over")
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (logging.INFO, "[Processor 100%]: to 5"),
        (logging.WARNING, "[Processor 100%]: 100% sure"),
        (logging.ERROR, "[Processor 100%]: failed"),
        (FATAL, "[Processor 100%]: over"),
    ]
    exc_info = caplog.records[2].exc_info
    assert exc_info is not None
    assert exc_info[1] is error
    assert {record.funcName for record in caplog.records} == {"test_levels_prefix_and_lazy_arguments"}


def test_flags_follow_the_level_of_a_parent(caplog: pytest.LogCaptureFixture) -> None:
    processor = Processor()
    with caplog.at_level(TRACE, "kafka"):
        assert processor.is_trace_enabled
        processor.trace("seen")
        processor.debug("seen too")
    assert not processor.logger.trace_enabled
    assert [record.levelname for record in caplog.records] == ["TRACE", "DEBUG"]


def test_kafka_logger_alone(caplog: pytest.LogCaptureFixture) -> None:
    log = get_logger("kafka.request.logger")
    assert get_logger("kafka.request.logger") is log
    with caplog.at_level(TRACE, "kafka.request.logger"):
        for method in (log.trace, log.debug, log.info, log.warn, log.error, log.fatal):
            method("n=%d", 1)
    assert [record.levelno for record in caplog.records] == [TRACE, 10, 20, 30, 40, 50]


@pytest.fixture
def restored_logging() -> Iterator[None]:
    """Puts levels, handlers and propagation of all loggers back."""
    names = [None, *logging.Logger.manager.loggerDict]
    before = {name: logging.getLogger(name) for name in names}
    state = {name: (log.level, list(log.handlers), log.propagate) for name, log in before.items()}
    yield
    for name in [None, *logging.Logger.manager.loggerDict]:
        log = logging.getLogger(name)
        level, handlers, propagate = state.get(name, (logging.NOTSET, [], True))
        for handler in set(log.handlers) - set(handlers):
            handler.close()
        log.handlers, log.propagate = list(handlers), propagate
        if log.level != level:  # for it empties a cache in every logger there is
            log.setLevel(level)


def record(level: int = logging.WARNING, message: str = "m") -> logging.LogRecord:
    made = logging.LogRecord("kafka.server.KafkaServer", level, "f.py", 7, message, None, None, "fn")
    made.created, made.msecs = 1_700_000_000.123, 123.4
    made.threadName = "main"
    return made


def test_pattern_layout() -> None:
    line = PatternLayout("[%d] %p %m (%c)%n").format(record())
    assert re.fullmatch(r"\[20\d\d-\d\d-\d\d \d\d:\d\d:\d\d,123\] WARN m \(kafka\.server\.KafkaServer\)", line)
    assert PatternLayout("%-6p|%5p|%.3p|%c{1}|%t|%L|%F|%M|%%|%x%n").format(record()) == (
        "WARN  | WARN|ARN|KafkaServer|main|7|f.py|fn|%|"
    )
    assert re.fullmatch(r"\d\d:\d\d:\d\d,123", PatternLayout("%d{ABSOLUTE}").format(record()))
    assert re.fullmatch(r"2023-\d\d-\d\dT\d\d\.123", PatternLayout("%d{yyyy-MM-dd'T'HH.SSS}").format(record()))
    failed = record(FATAL)
    failed.exc_info = (OSError, OSError("broken"), None)
    assert PatternLayout("%p %m%n").format(failed) == "FATAL m\nOSError: broken"
    with pytest.raises(ValueError, match="unknown conversion"):
        PatternLayout("%q")


def test_date_pattern() -> None:
    assert date_pattern("'.'yyyy-MM-dd-HH") == ".%Y-%m-%d-%H"


@pytest.mark.usefixtures("restored_logging")
def test_kafkas_own_file_splits_the_logs(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    environ = {"LOG_DIR": str(tmp_path / "logs")}
    configurator = Log4jConfigurator.configure_from_environment(str(CONFIG / "log4j.properties"), environ)
    logging.getLogger("kafka.server.KafkaServer").info("started")
    logging.getLogger("kafka.server.KafkaServer").debug("not seen")
    logging.getLogger("kafka.controller.KafkaController").log(TRACE, "elected")
    logging.getLogger("state.change.logger").log(TRACE, "changed")
    logging.getLogger("kafka.request.logger").info("not seen")
    logging.getLogger("kafka.request.logger").warning("slow")
    logging.getLogger("kafka.log.LogCleaner").info("cleaned")
    logging.getLogger("kafka.authorizer.logger").info("denied")
    configurator.close()
    written = {path.name: path.read_text().split("] ", 1)[1] for path in (tmp_path / "logs").iterdir()}
    assert written == {
        "server.log": "INFO started (kafka.server.KafkaServer)\n",
        "controller.log": "TRACE elected (kafka.controller.KafkaController)\n",
        "state-change.log": "TRACE changed (state.change.logger)\n",
        "kafka-request.log": "WARN slow (kafka.request.logger)\n",
        "log-cleaner.log": "INFO cleaned (kafka.log.LogCleaner)\n",
        "kafka-authorizer.log": "INFO denied (kafka.authorizer.logger)\n",
    }
    assert capsys.readouterr().out.endswith("INFO started (kafka.server.KafkaServer)\n")


@pytest.mark.usefixtures("restored_logging")
def test_tools_file_and_options(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = f"-Dlog4j.configuration=file:{CONFIG / 'tools-log4j.properties'} -Dother=1 -Xmx1g"
    assert system_properties(options)["other"] == "1"
    Log4jConfigurator.configure_from_environment("not there", {"KAFKA_LOG4J_OPTS": options}, str(tmp_path))
    logging.getLogger("kafka.tools.X").info("not seen")
    logging.getLogger("kafka.tools.X").warning("seen")
    assert capsys.readouterr().err.endswith("WARN seen (kafka.tools.X)\n")


@pytest.mark.usefixtures("restored_logging")
def test_other_appenders(tmp_path: pathlib.Path) -> None:
    configurator = Log4jConfigurator(
        {
            "log4j.rootLogger": "OFF, none",
            "log4j.appender.none": "org.apache.log4j.varia.NullAppender",
            "log4j.appender.file": "org.apache.log4j.FileAppender",
            "log4j.appender.file.File": "${dir}/plain.log",
            "log4j.appender.file.Threshold": "ERROR",
            "log4j.appender.size": "org.apache.log4j.RollingFileAppender",
            "log4j.appender.size.File": "${dir}/size.log",
            "log4j.appender.size.MaxFileSize": "1KB",
            "log4j.logger.kafka.a": "INFO, file, size",
            "log4j.logger.kafka.b": "INHERITED",
        },
        {"dir": str(tmp_path)},
    )
    configurator.apply()
    logging.getLogger("kafka.a").info("x" * 600)
    logging.getLogger("kafka.a").error("y" * 600)
    configurator.close()
    assert (tmp_path / "plain.log").read_text() == "y" * 600 + "\n"
    assert (tmp_path / "size.log.1").read_text() == "x" * 600 + "\n"


@pytest.mark.usefixtures("restored_logging")
@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"log4j.rootLogger": "LOUD"}, "unknown log level"),
        ({"log4j.rootLogger": "INFO, x"}, "no such appender"),
        ({"log4j.rootLogger": "INFO, x", "log4j.appender.x": "org.apache.log4j.SMTPAppender"}, "unknown appender"),
    ],
)
def test_files_that_make_no_sense(config: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Log4jConfigurator(config).apply()


def test_daily_rolling_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "server.log"
    handler = DailyRollingFileHandler(str(path), "'.'yyyy-MM-dd-HH")
    first, second = record(message="first"), record(message="second")
    second.created = first.created + 3600
    handler._suffix = handler._suffix_at(first.created)
    handler.emit(first)
    handler.emit(second)
    handler.close()
    assert path.read_text() == "second\n"
    rolled = [p for p in tmp_path.iterdir() if p != path]
    assert [p.name for p in rolled] == ["server.log" + handler._suffix_at(first.created)]
    assert rolled[0].read_text() == "first\n"


@pytest.mark.usefixtures("restored_logging")
def test_log4j_controller() -> None:
    controller = Log4jController()
    get_logger("kafka.network.Processor")
    assert controller.set_log_level("kafka.network.Processor", "trace")
    assert Processor().is_trace_enabled
    assert controller.get_log_level("kafka.network.Processor") == "TRACE"
    assert "kafka.network.Processor=TRACE" in controller.get_loggers()
    assert controller.get_log_level("no.such") == "No such logger."
    assert not controller.set_log_level("", "INFO")
    assert not controller.set_log_level("kafka", " ")
    assert controller.set_log_level("root", "ERROR")
    assert controller.get_log_level("root") == "ERROR"


@pytest.mark.parametrize(
    ("value", "scala", "java"),
    [
        ({1}, "Set(1)", "[1]"),
        (set(), "Set()", "[]"),
        (frozenset({"a"}), "Set(a)", "[a]"),
        ({TopicPartition("t", 0): [2, 0], "x": None}, "Map(t-0 -> List(2, 0), x -> None)", "{t-0=[2, 0], x=None}"),
        ({}.keys(), "Set()", "[]"),
        ({1: "b"}.values(), "List(b)", "[b]"),
        ([(1, {2})], "List((1,Set(2)))", "[(1,[2])]"),
        (TopicPartition("t", 0), TopicPartition("t", 0), TopicPartition("t", 0)),
        ("{1, 2}", "{1, 2}", "{1, 2}"),
    ],
)
def test_collections_look_as_in_kafka(value: object, scala: object, java: object) -> None:
    assert (shown(value), shown(value, java=True)) == (scala, java)


def test_lines_show_collections_as_in_kafka(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "kafka.network.Processor"):
        Processor().info("New topics: [%s], deleted topics: [%s] of %d", {"t"}, set(), 3)
    assert caplog.messages == ["New topics: [Set(t)], deleted topics: [Set()] of 3"]

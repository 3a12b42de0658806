"""The broker's main: reads server.properties and runs a server until a signal comes.

Mirrors: core/src/main/scala/kafka/Kafka.scala @ 1.1.1
"""

from __future__ import annotations

import logging
import pathlib
import platform
import resource
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING

from kafka_py.common.utils.exit import Exit
from kafka_py.common.utils.kafka_thread import KafkaThread
from kafka_py.common.utils.utils import load_props
from kafka_py.utils import free_threading
from kafka_py.utils.command_line_utils import CommandLineUtils
from kafka_py.utils.compiled import Compiled, Form
from kafka_py.utils.concurrent import AtomicBoolean
from kafka_py.utils.cpu_affinity import pin_process
from kafka_py.utils.log4j_configurator import Log4jConfigurator
from kafka_py.utils.logging import Logging
from kafka_py.utils.option_parser import OptionParser

if TYPE_CHECKING:
    from kafka_py.server.kafka_server_startable import KafkaServerStartable

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Kafka(Logging):
    """The process of a broker.

    Mirrors: core/src/main/scala/kafka/Kafka.scala/Kafka
    Thread: main waits; a signal starts kafka-shutdown-hook, which shuts down.
    """

    logger_name = "kafka.Kafka$"

    @staticmethod
    def get_props_from_args(args: Sequence[str]) -> dict[str, str]:
        """The properties of the file that is named first, with what --override says in front.

        Prints the usage and exits with 1 for anything else; raises OSError when the file cannot be read.
        """
        parser = OptionParser(allow_abbreviations=False)
        override = parser.accepts(
            "override", "Optional property that should override values set in server.properties file"
        ).with_required_arg()
        if not args:
            CommandLineUtils.print_usage_and_die(
                parser, "USAGE: kafka-server-start.py [-daemon] server.properties [--override property=value]*"
            )
        props = load_props(args[0])
        if len(args) > 1:
            options = CommandLineUtils.parse(parser, list(args[1:]))
            if options.non_option_arguments:
                CommandLineUtils.print_usage_and_die(
                    parser, "Found non argument parameters: " + ",".join(options.non_option_arguments)
                )
            props.update(CommandLineUtils.parse_key_value_args(options.values_of(override)))
        return props

    @classmethod
    def main(cls, args: Sequence[str]) -> int:
        """Run a broker; the exit status."""
        try:
            server_props = cls.get_props_from_args(args)
            # Before the first thread: threads inherit the cores they may run on.
            pinned = pin_process(server_props.get("kafka.py.cpu.affinity", "auto"))
            cls.logger.info("%s", pinned)
            cls._tell_form()
            cls.raise_open_file_limit()
            # Imported late, so that a usage line costs nothing.
            from kafka_py.server.kafka_server_startable import KafkaServerStartable

            kafka_server_startable = KafkaServerStartable.from_props(server_props)
            cls._register_signals(kafka_server_startable)
            kafka_server_startable.startup()
            kafka_server_startable.await_shutdown()
        except Exception as e:  # noqa: BLE001 -- the outermost handler: whatever it is, it is told and ends the process
            cls.logger.fatal("Exiting Kafka due to fatal exception", exc=e)
            return 1
        return 0

    @classmethod
    def _tell_form(cls) -> None:
        """Say whether compiled modules run, and warn if there are some that are not used."""
        if Compiled.form is Form.STALE:
            changed = Compiled.changed
            cls.logger.warn(
                "The compiled modules are not used: %d source files have changed since (%s); run bin/kafka-compile.py",
                len(changed),
                ", ".join(changed[:3]) + (", ..." if len(changed) > 3 else ""),
            )
        cls.logger.info("Request path: %s", Compiled.describe())
        cls.logger.info("Interpreter: Python %s, %s", platform.python_version(), free_threading.describe())

    @classmethod
    def raise_open_file_limit(cls) -> None:
        """Allow as many open files as this user may have: each segment and each connection holds some."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            cls.logger.info("Raised the limit of open files from %s to %s", soft, hard)

    @classmethod
    def _register_signals(cls, startable: KafkaServerStartable) -> None:
        """SIGTERM, SIGINT and SIGHUP end the broker cleanly, saying which of them it was."""
        stopping = AtomicBoolean(False)

        def on_signal(number: int, frame: FrameType | None) -> None:
            # On a thread of its own, for a handler interrupts whatever the main thread holds.
            cls.logger.info("Terminating process due to signal %s", signal.Signals(number).name)
            if stopping.compare_and_set(False, True):
                KafkaThread.non_daemon("kafka-shutdown-hook", startable.shutdown).start()

        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, on_signal)


def main(args: Sequence[str] | None = None) -> int:
    """Configure logging as Kafka's scripts do, and run the broker; the exit status.

    A broker that failed ends the process here and now, as System.exit does: Python would wait for what threads it has
    left behind.
    """
    Log4jConfigurator.configure_from_environment(str(ROOT / "config" / "log4j.properties"), base_dir=str(ROOT))
    try:
        status = Kafka.main(sys.argv[1:] if args is None else args)
    except SystemExit as e:  # from Exit.exit, after the shutdown hooks
        status = e.code if isinstance(e.code, int) else 1
    if status:
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        Exit.halt(status)
    return status


if __name__ == "__main__":
    Exit.exit(main())

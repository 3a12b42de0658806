"""The broker's main: reads server.properties and runs a server until a signal comes.

Mirrors: core/src/main/scala/kafka/Kafka.scala @ 1.1.1
"""

from __future__ import annotations

import itertools
import logging
import os
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
from kafka_py.utils.compiled import Compiled, Form, how_to_compile
from kafka_py.utils.cpu_affinity import AUTO, pin_process
from kafka_py.utils.installation import HERE
from kafka_py.utils.log4j_configurator import Log4jConfigurator
from kafka_py.utils.logging import Logging
from kafka_py.utils.option_parser import OptionParser

if TYPE_CHECKING:
    from kafka_py.server.kafka_server_startable import KafkaServerStartable
    from kafka_py.utils.affinity_follower import AffinityFollower


class Kafka(Logging):
    """The process of a broker.

    Mirrors: core/src/main/scala/kafka/Kafka.scala/Kafka
    Thread: main waits; a signal starts kafka-shutdown-hook, which shuts down, and a second one kafka-shutdown-hurry.
    Differs: a second signal makes a stop wait for nobody; in Kafka it does nothing.
    """

    logger_name = "kafka.Kafka$"

    @staticmethod
    def get_props_from_args(args: Sequence[str]) -> dict[str, str]:
        """The properties of the file that is named first, with what --override says in front.

        Prints the usage and exits with 1 for anything else; raises OSError when the file cannot be read. A bare name
        is looked for among the files that come with kafka_py, too.
        """
        parser = OptionParser(allow_abbreviations=False)
        override = parser.accepts(
            "override", "Optional property that should override values set in server.properties file"
        ).with_required_arg()
        if not args:
            CommandLineUtils.print_usage_and_die(
                parser, "USAGE: kafka-server-start.py [-daemon] server.properties [--override property=value]*"
            )
        props = load_props(HERE.find_config(args[0]))
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
        follower: AffinityFollower | None = None
        try:
            server_props = cls.get_props_from_args(args)
            follower = cls._bind(server_props.get("kafka.py.cpu.affinity", AUTO))
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
        finally:
            if follower is not None:
                follower.shutdown()
        return 0

    @classmethod
    def _bind(cls, affinity: str) -> AffinityFollower | None:
        """Bind the process as the configuration says; `auto` goes on following the machine until it is shut down."""
        cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        # Before the first thread: threads inherit the cores they may run on.
        cls.logger.info("%s", pin_process(affinity))
        if affinity.strip().lower() != AUTO:
            return None
        # Imported late, so that a usage line costs nothing.
        from kafka_py.utils.affinity_follower import AffinityFollower

        return AffinityFollower.start_if_bound(cores)

    @classmethod
    def _tell_form(cls) -> None:
        """Say whether compiled modules run, and warn if there are some that are not used."""
        if Compiled.form is Form.STALE:
            changed = Compiled.changed
            cls.logger.warn(
                "The compiled modules are not used: %d source files have changed since (%s); %s",
                len(changed),
                ", ".join(changed[:3]) + (", ..." if len(changed) > 3 else ""),
                how_to_compile(),
            )
        cls.logger.info("Request path: %s", Compiled.describe())
        cls.logger.info("Interpreter: Python %s, %s", platform.python_version(), free_threading.describe())

    @classmethod
    def raise_open_file_limit(cls) -> None:
        """Allow as many open files as this user may have: each segment and each connection holds some."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        limit = "none" if hard == resource.RLIM_INFINITY else hard
        cls.logger.info("Limit of open files: %s%s", limit, f", raised from {soft}" if soft != hard else "")

    @classmethod
    def _register_signals(cls, startable: KafkaServerStartable) -> None:
        """SIGTERM, SIGINT and SIGHUP end the broker cleanly, saying which of them it was."""
        signals = itertools.count(1)  # no lock: one handler may interrupt another

        def on_signal(number: int, frame: FrameType | None) -> None:
            # On a thread of its own, for a handler interrupts whatever the main thread holds.
            cls.logger.info("Terminating process due to signal %s", signal.Signals(number).name)
            count = next(signals)
            if count == 1:
                KafkaThread.non_daemon("kafka-shutdown-hook", startable.shutdown).start()
            elif count == 2:
                KafkaThread.non_daemon("kafka-shutdown-hurry", startable.hurry_shutdown).start()

        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, on_signal)


def main(args: Sequence[str] | None = None) -> int:
    """Configure logging as Kafka's scripts do, and run the broker; the exit status.

    A broker that failed ends the process here and now, as System.exit does: Python would wait for what threads it has
    left behind.
    """
    Log4jConfigurator.configure_from_environment(str(HERE.config_dir / "log4j.properties"), logs_dir=str(HERE.logs_dir))
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

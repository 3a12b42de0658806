"""Starts a command of kafka_py's, in the foreground or (-daemon) behind it: what bin/ and the installed commands call.

Mirrors: bin/kafka-run-class.sh @ 1.1.1, through which all of Kafka's scripts go
"""

from __future__ import annotations

import importlib
import os
import pathlib
import subprocess
import sys
from collections.abc import Sequence

from kafka_py.common.utils.throwables import print_uncaught
from kafka_py.utils.compiled import ENVIRONMENT_VARIABLE, Compiled, CompiledMissingError
from kafka_py.utils.installation import HERE, ROOT

BROKER = "kafka_py.kafka"
# The commands that pip installs, each also with .sh as Kafka has it (setup.cfg lists them); name -> what has its main.
COMMANDS = {
    "kafka-broker-api-versions": "kafka_py.admin.broker_api_versions_command",
    "kafka-configs": "kafka_py.admin.config_command",
    "kafka-console-consumer": "kafka_py.tools.console_consumer",
    "kafka-console-producer": "kafka_py.tools.console_producer",
    "kafka-consumer-groups": "kafka_py.admin.consumer_group_command",
    "kafka-consumer-perf-test": "kafka_py.tools.consumer_performance",
    "kafka-delete-records": "kafka_py.admin.delete_records_command",
    "kafka-dump-log": "kafka_py.tools.dump_log_segments",
    "kafka-lab": "kafka_py.lab.kafka_lab",
    "kafka-leader-election": "kafka_py.admin.leader_election_command",
    "kafka-log-dirs": "kafka_py.admin.log_dirs_command",
    "kafka-pipeline": "kafka_py.spark.pipeline",
    "kafka-preferred-replica-election": "kafka_py.admin.preferred_replica_leader_election_command",
    "kafka-producer-perf-test": "kafka_py.tools.producer_performance",
    "kafka-reassign-partitions": "kafka_py.admin.reassign_partitions_command",
    "kafka-replica-verification": "kafka_py.tools.replica_verification_tool",
    "kafka-run-class": "kafka_py.tools.run_class",
    "kafka-segments-sql": "kafka_py.spark.segments_sql",
    "kafka-server-start": BROKER,
    "kafka-server-stop": "kafka_py.kafka_server_stop",
    "kafka-sidebyside": "kafka_py.sidebyside.side_by_side",
    "kafka-test-cluster": "kafka_py.testing.cluster_command",
    "kafka-topics": "kafka_py.admin.topic_command",
    "kafka-verifiable-consumer": "kafka_py.tools.verifiable_consumer",
    "kafka-verifiable-producer": "kafka_py.tools.verifiable_producer",
    "zookeeper-server-start": "kafka_py.embedded.main",
    "zookeeper-server-stop": "kafka_py.embedded.stop",
    "zookeeper-shell": "kafka_py.embedded.shell",
}
_OUT_NAMES = {"kafka-server-start": "kafkaServer", "zookeeper-server-start": "zookeeper"}


def command() -> None:
    """The entry point of every installed command: its name says which it is."""
    name = name_of(sys.argv[0])
    if name not in COMMANDS:
        sys.exit(f"{sys.argv[0]} is none of kafka_py's commands: {', '.join(COMMANDS)}")
    run(COMMANDS[name], sys.argv[0], sys.argv[1:])


def name_of(script: str) -> str:
    """kafka-topics, of a path to it with or without .py or .sh."""
    return pathlib.Path(script).name.removesuffix(".py").removesuffix(".sh")


def run(module: str, argv0: str, arguments: Sequence[str]) -> None:
    """Run the module's main on the arguments, as the script `argv0` was called, and end the process with its status."""
    if arguments[:1] in (["-daemon"], ["--daemon"]):
        start_daemon(name_of(argv0), arguments[1:])
        return
    sys.argv = [argv0, *arguments]
    if module == BROKER:
        choose_the_form()
    try:
        status = importlib.import_module(module).main(list(arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough (`| head`); keep Python from flushing into the same pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    except Exception as e:  # noqa: BLE001 -- nobody is behind: the user gets what a JVM would print, and its status
        print_uncaught(e)
        status = 1
    sys.exit(status)


def choose_the_form() -> None:
    """Let the broker run compiled modules, if there are some of the present sources."""
    try:
        Compiled.choose(ROOT, os.environ.get(ENVIRONMENT_VARIABLE))
    except CompiledMissingError as e:
        sys.exit(str(e))


def start_daemon(name: str, arguments: Sequence[str]) -> None:
    """Start the command without a terminal, its output going to LOG_DIR/NAME.out as with Kafka's scripts."""
    out_name = os.environ.get("DAEMON_NAME") or _OUT_NAMES.get(name, name)
    log_dir = pathlib.Path(os.environ.get("LOG_DIR") or HERE.logs_dir)
    log_dir.mkdir(parents=True, exist_ok=True)
    with (log_dir / f"{out_name}.out").open("ab") as out:
        subprocess.Popen(
            [*HERE.command_line(name), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


if __name__ == "__main__":
    # python -m kafka_py.tools.launch kafka-topics --list …
    del sys.argv[0]
    command()

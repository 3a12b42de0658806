"""`kafka-lab start N`: starts the cluster of an exercise, tells what to do, and stays up for checks and hints.

Ours, no original.
"""

from __future__ import annotations

import argparse
import pathlib
import secrets
import signal
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from confluent_kafka import KafkaException as LibrdkafkaException

from kafka_py.lab.broker_commands import BrokerCommands
from kafka_py.lab.broker_watch import ENV_FILE, BrokerWatch, link_commands
from kafka_py.lab.control import ControlServer, say
from kafka_py.lab.lab_http import LabHttp
from kafka_py.labs.board import LabBoard
from kafka_py.labs.catalog import EXERCISES, Sheet
from kafka_py.labs.commands import ExerciseCommands
from kafka_py.labs.exercise import Bench, Exercise
from kafka_py.labs.results import FILE, Results
from kafka_py.testing.cluster import Cluster
from kafka_py.testing.faults import FAULTS
from kafka_py.utils.concurrent import CountDownLatch
from kafka_py.utils.installation import HERE

_TURN_MS = 250
_USUAL = {
    "kafka.py.xray": "step",
    "group.initial.rebalance.delay.ms": "0",
    "zookeeper.session.timeout.ms": "6000",
}


class ExerciseSession:
    """One exercise from its start to Ctrl-C; begun anew as often as somebody resets it.

    Thread: the lab's only one
    """

    def __init__(
        self, exercise: Exercise, folder: pathlib.Path, language: str, port: int, sidebyside: pathlib.Path | None = None
    ) -> None:
        """``port`` is the first broker's; 0 = any free one. ``sidebyside`` has a site that kafka-sidebyside made."""
        self._exercise = exercise
        self._folder = folder
        self._sheet = Sheet(exercise, language)
        self._port = port
        self._more = {} if sidebyside is None else {"kafka.py.xray.sidebyside": str(sidebyside.resolve())}
        self._stop = CountDownLatch(1)

    def run(self) -> int:
        """0 after Ctrl-C or SIGTERM."""
        signal.signal(signal.SIGTERM, lambda *_: self._stop.count_down())
        try:
            while self._once():
                say("")
        except KeyboardInterrupt:
            say("\nStopping ...")
        return 0

    def _once(self) -> bool:
        """From start to end; whether it shall begin again."""
        token = secrets.token_urlsafe(18)
        with cluster_for(self._exercise, token, self._port, more=self._more) as cluster:
            bench = Bench(cluster, self._folder, token)
            board = LabBoard(self._exercise, cluster.home, self._folder)
            pages = LabHttp(cluster, token, faults=FAULTS, board=board)
            link_commands(cluster)
            try:
                self._exercise.begin(bench)
                pages.startup()
                self._tell_the_task(cluster, pages.link)
                return self._stay_up(bench)
            finally:
                pages.shutdown()
                self._exercise.finish(bench)

    def _tell_the_task(self, cluster: Cluster, link: str) -> None:
        number = self._exercise.about.number
        say(self._sheet.task)
        if lacking := self._exercise.lacking():
            say(f"Missing:    {lacking}")
        say(f"The sheet:  {self._sheet.path}")
        say(f"X-ray:      {link}")
        say(f"Brokers:    {cluster.bootstrap_servers}; ZooKeeper: {cluster.zookeeper_connect}")
        say(f"Your files: {self._folder}/answers-{number}.txt and what the sheet names; results are kept in {FILE}")
        say(f"In another terminal, in the same folder: . {cluster.home / ENV_FILE}")
        say(f"  kafka-lab check {number}    kafka-lab hint {number}    kafka-lab reset    (Ctrl-C here ends the lab)")

    def _stay_up(self, bench: Bench) -> bool:
        others = BrokerCommands(bench.cluster).execute
        commands = ExerciseCommands(self._exercise, bench, self._sheet.hints, others)
        watch = BrokerWatch(bench.cluster, say)
        with ControlServer(bench.cluster.home, commands.execute) as control:
            while not commands.wants_reset and not self._stop.await_(0):
                control.serve(_TURN_MS)
                watch.look()
        return commands.wants_reset


def cluster_for(
    exercise: Exercise,
    token: str,
    port: int = 0,
    home: pathlib.Path | None = None,
    more: Mapping[str, str] = MappingProxyType({}),
) -> Cluster:
    """The cluster that an exercise wants, with ``more`` properties; not started yet."""
    properties = {**_USUAL, "kafka.py.xray.token": token, **exercise.about.properties, **more}
    return Cluster(
        exercise.about.brokers, port=port, home=home, properties=properties, log_dirs=exercise.about.log_dirs
    )


def listing(folder: pathlib.Path) -> str:
    """All exercises, a line each, with those marked that were passed in this folder."""
    results, lines = Results(folder), []
    for number, entry in EXERCISES.items():
        about = entry.load().about
        mark = "x" if results.passed(number) else " "
        times = f"({about.minutes} min; {', '.join(about.kinds)})"
        lines.append(f"[{mark}] {number}  {about.title} / {about.title_zh} {times}")
    return "\n".join(lines)


def start(args: Sequence[str]) -> int:
    """`kafka-lab start N`: 0 after Ctrl-C, 1 with the reason when the cluster does not start."""
    parser = argparse.ArgumentParser(
        prog=f"{HERE.name_of('kafka-lab')} start", description="Starts the cluster of a lab and tells what to do."
    )
    parser.add_argument("number", type=int, choices=sorted(EXERCISES), metavar="N", help="which lab: 1 to 8")
    parser.add_argument("--language", choices=("en", "zh"), default="en", help="of the sheet")
    parser.add_argument("--port", type=int, default=0, help="of the first broker; 0 = any free port")
    parser.add_argument(
        "--sidebyside", type=pathlib.Path, metavar="DIR", help="a site of kafka-sidebyside, to which sources lead"
    )
    options = parser.parse_args(args)
    exercise = EXERCISES[options.number].load()
    folder = pathlib.Path.cwd()
    try:
        return ExerciseSession(exercise, folder, options.language, options.port, options.sidebyside).run()
    except (OSError, RuntimeError, LibrdkafkaException) as e:
        print(f"kafka-lab: {e}", file=sys.stderr)
        return 1

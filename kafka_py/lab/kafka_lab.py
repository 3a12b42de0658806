"""One command, some brokers: starts ZooKeeper and brokers, sends a file through them and tells what happened.

Then they stay up, and the sub-commands (kill, start_broker …) do things to them from another terminal.

Ours, no original. Everything is real: the embedded ZooKeeper and each broker are processes of their own, the client is
confluent-kafka (librdkafka), and the story of the request comes from the broker's own journal.

Read next: broker_commands.py; control.py, how the other terminal is heard; round_trip.py; group_story.py
"""

from __future__ import annotations

import argparse
import pathlib
import re
import secrets
import signal
import sys
from collections.abc import Sequence

from confluent_kafka import KafkaException

from kafka_py.common.utils.time import Time
from kafka_py.lab.broker_commands import COMMANDS, VERBS, BrokerCommands
from kafka_py.lab.broker_watch import ENV_FILE, BrokerWatch, link_commands
from kafka_py.lab.control import ControlServer, NoLabError, ask, find_lab, say
from kafka_py.lab.group_story import GROUP, GroupStory
from kafka_py.lab.lab_http import LabHttp
from kafka_py.lab.round_trip import consume, create_topic, produce, tell_the_story
from kafka_py.labs.cli import HELP as LABS
from kafka_py.labs.cli import WORDS as LAB_WORDS
from kafka_py.labs.cli import main as labs
from kafka_py.testing.cluster import Cluster
from kafka_py.testing.faults import FAULTS
from kafka_py.testing.local_cluster import LocalBroker
from kafka_py.utils.compiled import ENVIRONMENT_VARIABLE, Form, how_to_compile
from kafka_py.utils.concurrent import CountDownLatch
from kafka_py.utils.installation import HERE

TOPIC = "lab"
DEFAULT_PORT = 9092
_NO_LAB = 3
_TURN_MS = 250
_FORM = re.compile(r"INFO Request path: (.*) \(kafka\.Kafka\$\)")


def default_file() -> pathlib.Path:
    """What is sent when nobody names a file: the README of a clone, this very source where there is none."""
    return HERE.root / "README.md" if HERE.is_clone else pathlib.Path(__file__)


def parse(args: Sequence[str]) -> argparse.Namespace:
    """What kind of lab to start."""
    commands = "".join(
        f"  {name + (' N' if command.of_a_broker else ''):<14} {command.help}\n" for name, command in COMMANDS.items()
    )
    commands += "labs, exercises with a check:\n"
    commands += "".join(f"  {usage:<14} {text}\n" for usage, text in LABS.items())
    commands += "and what happens to clusters (VERB --help tells more):\n"
    commands += "".join(f"  {verb.usage}\n" for verb in VERBS.values())
    parser = argparse.ArgumentParser(
        prog=HERE.name_of("kafka-lab"),
        description="Starts ZooKeeper and brokers, sends a file through them and tells what happened.",
        epilog=f"while it stays up, from another terminal (--lab DIR where there are several):\n{commands}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", nargs="?", default=str(default_file()), help="its lines are produced")
    parser.add_argument("--brokers", type=int, default=1, help="how many brokers (default 1)")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="of the first broker; 0 = any free port")
    parser.add_argument("--zookeeper", default="embedded", help="embedded, real, or the address of one that runs")
    parser.add_argument("--topic", default=TOPIC)
    parser.add_argument("--partitions", type=int, default=3)
    parser.add_argument(
        "--override", action="append", default=[], type=key_and_value, metavar="KEY=VALUE", help="of all brokers"
    )
    parser.add_argument(
        "--sidebyside", type=pathlib.Path, metavar="DIR", help="a site of kafka-sidebyside, to which sources lead"
    )
    parser.add_argument("--once", action="store_true", help="end after the round trip instead of staying up")
    return parser.parse_args(args)


def key_and_value(pair: str) -> tuple[str, str]:
    """``key=value`` apart; argparse.ArgumentTypeError for what is none."""
    key, equals, value = pair.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{pair} is no KEY=VALUE")
    return key, value


def parse_command(args: Sequence[str]) -> tuple[list[str], str | None]:
    """What to ask of a lab that runs, and the lab's directory if it was named."""
    name = args[0]
    parser = argparse.ArgumentParser(prog=f"{HERE.name_of('kafka-lab')} {name}", description=_help_of(name))
    if name in VERBS:
        parser.usage = f"%(prog)s{VERBS[name].usage.removeprefix(name)} [--lab DIR]"
        parser.add_argument("words", nargs="*", help="in this order, or as name=value; an end is an id or zookeeper")
    elif COMMANDS[name].of_a_broker:
        parser.add_argument("words", nargs=1, type=int, metavar="broker", help="its id: 0, 1 …")
    parser.add_argument("--lab", metavar="DIR", help="the directory of the lab; needed where several run")
    options, flags = parser.parse_known_args(args[1:])
    if name not in VERBS and flags:
        parser.error(f"unrecognized arguments: {' '.join(flags)}")
    return [name, *map(str, getattr(options, "words", [])), *flags], options.lab


def _help_of(name: str) -> str:
    return VERBS[name].help if name in VERBS else COMMANDS[name].help


class KafkaLab:
    """The lab session: start, round trip, story, a group, stay up."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._time = Time.SYSTEM
        self._stop = CountDownLatch(1)

    def run(self) -> int:
        """0 when every line came back as it was sent, 1 otherwise."""
        options = self._options
        signal.signal(signal.SIGTERM, lambda *_: self._stop.count_down())
        lines = pathlib.Path(options.file).read_bytes().splitlines()
        began = self._time.milliseconds()
        say(f"Starting ZooKeeper ({options.zookeeper}) and {options.brokers} broker(s) ...")
        replicas = str(replication_factor(options.brokers))
        token = secrets.token_urlsafe(18)
        properties = {
            "kafka.py.xray": "step",
            "kafka.py.xray.token": token,
            "num.partitions": str(options.partitions),
            "default.replication.factor": replicas,
            "offsets.topic.replication.factor": replicas,
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": str(min(2, options.brokers)),
            "group.initial.rebalance.delay.ms": "0",
            **dict(options.override),
        }
        if options.sidebyside is not None:
            properties["kafka.py.xray.sidebyside"] = str(options.sidebyside.resolve())
        with Cluster(options.brokers, port=options.port, zookeeper=options.zookeeper, properties=properties) as cluster:
            took = (self._time.milliseconds() - began) / 1000
            say(f"ZooKeeper at {cluster.zookeeper_connect}, brokers at {cluster.bootstrap_servers} ({took:.1f} s).")
            for broker in cluster.brokers:
                introduce(broker)
            say(form_line(cluster.brokers[0].process.text()))
            good = self._round_trip(cluster, lines)
            story = GroupStory(cluster.bootstrap_servers, options.topic, cluster.brokers, say)
            good = story.tell(len(lines), short=options.once) and good
            if not options.once:
                self._show(cluster, token)
            if cluster.zookeeper is not None:
                # Nothing of theirs is kept. Ended one by one, the last would ask for 15 s who takes over from it.
                for broker in cluster.brokers:
                    broker.process.kill()
        return 0 if good else 1

    def _round_trip(self, cluster: Cluster, lines: list[bytes]) -> bool:
        options, servers = self._options, cluster.bootstrap_servers
        create_topic(servers, options.topic, options.partitions, replication_factor(options.brokers))
        sent = produce(servers, options.topic, lines)
        say(f"\nProduced {len(lines)} lines of {options.file} to topic '{options.topic}' (acks=all):")
        for partition, records in sorted(sent.items()):
            say(f"  partition {partition}: offsets {records[0][0]} to {records[-1][0]}")
        received = consume(servers, options.topic, sent)
        good = received == sent and sum(map(len, received.values())) == len(lines)
        say(f"Consumed {sum(map(len, received.values()))} records: " + ("all equal." if good else "THEY DIFFER."))
        for broker in cluster.brokers:
            tell_the_story(broker)
        return good

    def _show(self, cluster: Cluster, token: str) -> None:
        """Stay up, with the page of the X-ray for all brokers."""
        pages = LabHttp(cluster, token, faults=FAULTS)
        pages.startup()
        say(f"\nX-ray of all brokers, to watch, hold, step and break them: {pages.link}")
        try:
            self._stay_up(cluster)
        finally:
            pages.shutdown()

    def _stay_up(self, cluster: Cluster) -> None:
        servers = cluster.bootstrap_servers
        lab = HERE.name_of("kafka-lab")
        who = "The broker stays" if len(cluster.brokers) == 1 else "The brokers stay"
        say(f"\n{who} up until Ctrl-C. In another terminal:")
        say(f"  {HERE.name_of('kafka-console-producer')} --broker-list {servers} --topic {self._options.topic}")
        reading = f"--bootstrap-server {servers} --topic {self._options.topic} --from-beginning"
        say(f"  {HERE.name_of('kafka-console-consumer')} {reading}")
        groups = f"--bootstrap-server {servers} --describe --group {GROUP}"
        say(f"  {HERE.name_of('kafka-consumer-groups')} {groups}")
        say(f"  {HERE.name_of('kafka-topics')} --zookeeper {cluster.zookeeper_connect} --describe")
        say(f"  kcat -b {servers} -L")
        say(f"  {lab} kill {cluster.brokers[-1].id}    # and start_broker, stop, cont, term, status: {lab} --help")
        say(f"  . {cluster.home / ENV_FILE}    # $P, $ZK, $BROKERS and so on, for the commands of the pages")
        link_commands(cluster)
        commands, watch = BrokerCommands(cluster), BrokerWatch(cluster, say)
        try:
            with ControlServer(cluster.home, commands.execute) as control:
                while not self._stop.await_(0):
                    control.serve(_TURN_MS)
                    watch.look()
        except KeyboardInterrupt:
            say("\nStopping ...")


def introduce(broker: LocalBroker) -> None:
    """Print where a broker is, on the machine and on the disk."""
    say(f"  broker {broker.id}: pid {broker.process.pid}, log.dirs {broker.properties['log.dirs']},")
    say(f"            log {broker.process.output}, metrics http://127.0.0.1:{broker.metrics_port}/metrics,")
    say(f"            {broker.logs / 'controller.log'}, {broker.logs / 'state-change.log'}")


def form_line(output: str) -> str:
    """Which form of the request path a broker runs, by what it printed, and how to get the other."""
    told = _FORM.search(output)
    form = told[1] if told is not None else "unknown"
    if form == Form.SWITCHED_OFF.value:
        other = f"without {ENVIRONMENT_VARIABLE}=0 compiled modules are used where there are some"
    elif form.startswith("interpreted"):
        other = f"for about twice the requests per second {how_to_compile()}"
    else:
        other = f"{ENVIRONMENT_VARIABLE}=0 runs the sources"
    return f"Request path: {form}; {other}."


def replication_factor(brokers: int) -> int:
    """Of the lab's topics: as many as can be and one usually has."""
    return min(3, brokers)


def main(args: list[str]) -> int:
    """0 after a round trip in which every line came back, 1 with the reason otherwise; of a sub-command what
    ``control`` gives."""
    try:
        if args and args[0] in LAB_WORDS:
            return labs(args)
        return control(args) if args and args[0] in {*COMMANDS, *VERBS} else KafkaLab(parse(args)).run()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        raise  # whoever read what we print has seen enough (`| head`): whoever started us ends quietly then
    except (OSError, RuntimeError, KafkaException) as e:
        print(f"kafka-lab: {e}", file=sys.stderr)
        return 1


def control(args: Sequence[str]) -> int:
    """Have the lab that runs do something: 0 when it is done, 1 when it refused or failed, 3 when there is no lab."""
    words, lab = parse_command(args)
    try:
        return ask(find_lab(lab), words)
    except NoLabError as e:
        print(f"kafka-lab: {e}", file=sys.stderr)
        return _NO_LAB

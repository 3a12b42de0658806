"""What may be done to the brokers of a lab that stays up: kill, stop, continue, end and start them again.

Ours, no original. Signals and processes are all there is; the broker's code knows nothing of the lab. Only the lab's
own process does these things: as the brokers' parent it is told how each ended, and knows how to start it again.
What else can be done to a cluster, from cutting links to moving leaders, are the verbs of kafka_py.testing.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

from kafka_py.common.utils.time import Time
from kafka_py.lab.broker_watch import ENV_FILE, environment, status
from kafka_py.lab.control import Tell
from kafka_py.testing.cluster import Cluster
from kafka_py.testing.faults import FAULTS, Fault
from kafka_py.testing.local_cluster import START_TIMEOUT_S, LocalBroker
from kafka_py.utils.installation import HERE

_SIGNAL_TIMEOUT_MS = 5000
_LOOK_EVERY_MS = 200


class RefusedError(Exception):
    """What was asked for makes no sense as things are; the text says why."""


class Command(NamedTuple):
    """One of the sub-commands of kafka-lab."""

    of_a_broker: bool
    help: str


COMMANDS: Mapping[str, Command] = {
    "kill": Command(True, "SIGKILL: gone at once; ZooKeeper believes in it until its session ends"),
    "term": Command(True, "SIGTERM: hands its partitions over, then ends"),
    "stop": Command(True, "SIGSTOP: hangs; its connections stay open and nobody answers"),
    "cont": Command(True, "SIGCONT: goes on as if nothing had been"),
    "start_broker": Command(True, "starts one that has ended again, with its directories and ports"),
    "status": Command(False, "what each broker does"),
    "env": Command(False, f'prints {ENV_FILE}; eval "$(… env)" sets $P, $ZK, $BROKERS …'),
}


# What the lab does not do in a way of its own, with words for people.
VERBS: Mapping[str, Fault] = {name: fault for name, fault in FAULTS.items() if name not in COMMANDS}


class BrokerCommands:
    """Carries out the commands of another terminal.

    Thread: the lab's only one
    """

    def __init__(
        self,
        cluster: Cluster,
        time: Time = Time.SYSTEM,
        is_registered: Callable[[str, int], bool] | None = None,
    ) -> None:
        self._cluster = cluster
        self._brokers = {broker.id: broker for broker in cluster.brokers}
        self._time = time
        self._is_registered = is_registered or is_registered_in
        self._of_a_broker: Mapping[str, Callable[[LocalBroker, Tell], str]] = {
            "kill": self._kill,
            "term": self._term,
            "stop": self._stop,
            "cont": self._cont,
            "start_broker": self._start,
        }

    def execute(self, words: Sequence[str], tell: Tell) -> int:
        """Do what the words say and tell what came of it; 0, or 1 with the reason when it was refused or failed."""
        try:
            tell(self._carry_out(words, tell))
        except (RefusedError, RuntimeError, OSError) as e:
            tell(str(e))
            return 1
        return 0

    def _carry_out(self, words: Sequence[str], tell: Tell) -> str:
        match words:
            case ["status"]:
                return "\n".join(status(broker) for broker in self._cluster.brokers)
            case ["env"]:
                return environment(self._cluster).rstrip("\n")
            case [name, id] if name in self._of_a_broker:
                with self._cluster.lock:  # the page's buttons do such things, too
                    return self._of_a_broker[name](self._broker(id), tell)
            case [name, *arguments] if name in VERBS:
                return VERBS[name].call(self._cluster, VERBS[name].named(arguments))
        raise RefusedError(f"The lab does not know `{' '.join(words)}`; it knows {', '.join([*COMMANDS, *VERBS])}")

    def _broker(self, id: str) -> LocalBroker:
        broker = self._brokers.get(int(id)) if id.isdecimal() else None
        if broker is None:
            raise RefusedError(f"There is no broker {id}; this lab has {', '.join(map(str, self._brokers))}")
        return broker

    def _kill(self, broker: LocalBroker, tell: Tell) -> str:
        pid = alive(broker)
        broker.process.kill()
        return f"Broker {broker.id}, pid {pid}, is killed"

    def _term(self, broker: LocalBroker, tell: Tell) -> str:
        alive(broker)
        if broker.process.is_stopped:
            raise RefusedError(f"Broker {broker.id} is stopped and would not notice; `cont` it first, or `kill` it")
        began = self._time.milliseconds()
        broker.process.stop()
        return f"Broker {broker.id} has ended ({broker.process.how_it_ended}) after {self._seconds_since(began)}"

    def _stop(self, broker: LocalBroker, tell: Tell) -> str:
        pid = alive(broker)
        if broker.process.is_stopped:
            raise RefusedError(f"Broker {broker.id} is stopped already")
        self._signal(broker, signal.SIGSTOP, stopped=True)
        return f"Broker {broker.id}, pid {pid}, is stopped"

    def _cont(self, broker: LocalBroker, tell: Tell) -> str:
        pid = alive(broker)
        if not broker.process.is_stopped:
            raise RefusedError(f"Broker {broker.id} is not stopped")
        self._signal(broker, signal.SIGCONT, stopped=False)
        return f"Broker {broker.id}, pid {pid}, goes on"

    def _signal(self, broker: LocalBroker, number: int, *, stopped: bool) -> None:
        """Send the signal and wait until it has taken effect. Raises RuntimeError when it does not."""
        process = broker.process
        process.signal(number)
        deadline = self._time.milliseconds() + _SIGNAL_TIMEOUT_MS
        while process.is_running and process.is_stopped != stopped:
            if self._time.milliseconds() > deadline:
                raise RuntimeError(f"Broker {broker.id} does not obey {signal.Signals(number).name}")
            self._time.sleep(1)

    def _start(self, broker: LocalBroker, tell: Tell) -> str:
        if broker.process.is_running:
            raise RefusedError(f"Broker {broker.id} runs already: pid {broker.process.pid}")
        if listens(broker):
            raise RefusedError(f"Somebody listens at {broker.address}; was broker {broker.id} started by hand?")
        self._wait_until_forgotten(broker, tell)
        began = self._time.milliseconds()
        broker.start()
        return f"Broker {broker.id} serves again: pid {broker.process.pid}, after {self._seconds_since(began)}"

    def _wait_until_forgotten(self, broker: LocalBroker, tell: Tell) -> None:
        """Wait for the session of the last life to end: a broker whose id is registered refuses to start."""
        if not self._is_registered(self._cluster.zookeeper_connect, broker.id):
            return
        tell(f"ZooKeeper believes in broker {broker.id} until its session ends; it can start only then ...")
        deadline = self._time.milliseconds() + START_TIMEOUT_S * 1000
        while self._is_registered(self._cluster.zookeeper_connect, broker.id):
            if self._time.milliseconds() > deadline:
                raise RefusedError(f"Somebody else is registered as broker {broker.id}")
            self._time.sleep(_LOOK_EVERY_MS)

    def _seconds_since(self, began: float) -> str:
        return f"{(self._time.milliseconds() - began) / 1000:.1f} s"


def alive(broker: LocalBroker) -> int:
    """The process id of one that runs or is stopped. Raises RefusedError for one that has ended."""
    if not broker.process.is_running:
        again = f"{HERE.name_of('kafka-lab')} start_broker {broker.id}"
        raise RefusedError(f"Broker {broker.id} has ended ({broker.process.how_it_ended}); start it: {again}")
    return broker.process.pid


def listens(broker: LocalBroker) -> bool:
    """Whether anybody does at the broker's address."""
    try:
        socket.create_connection(("127.0.0.1", broker.port), 1).close()
    except OSError:
        return False
    return True


def is_registered_in(zookeeper_connect: str, id: int) -> bool:
    """Whether this ZooKeeper knows a broker of this id. Raises OSError or RuntimeError when it does not answer."""
    client = KazooClient(hosts=zookeeper_connect)
    try:
        client.start(START_TIMEOUT_S)
        return client.exists(f"/brokers/ids/{id}") is not None
    except (KazooException, KazooTimeoutError) as e:
        raise RuntimeError(f"ZooKeeper at {zookeeper_connect} does not answer: {e!r}") from e
    finally:
        client.stop()
        client.close()

"""What became of the brokers of a lab: a line when one dies, hangs or returns, and a file of variables for shells.

Ours, no original.
"""

from __future__ import annotations

import shlex

from kafka_py.lab.control import ENVIRONMENT_VARIABLE, Tell
from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from kafka_py.utils.installation import HERE

ENV_FILE = "lab.env"
COMMANDS = "commands"


def link_commands(cluster: LocalCluster) -> None:
    """Let the commands of a clone be called by their bare names: a folder of links, for lab.env's PATH.

    An installation has its commands on the PATH already. Raises OSError.
    """
    if HERE.is_clone:
        folder = cluster.home / COMMANDS
        folder.mkdir()
        for script in (HERE.root / "bin").glob("[a-z]*.py"):
            (folder / script.stem).symlink_to(script)


def status(broker: LocalBroker) -> str:
    """One line on what a broker does."""
    process = broker.process
    if not process.is_running:
        return f"broker {broker.id}: has ended ({process.how_it_ended})"
    does = "is stopped" if process.is_stopped else "runs"
    return f"broker {broker.id}: {does}, pid {process.pid}, at {broker.address}"


def environment(cluster: LocalCluster) -> str:
    """Variables for a shell: what the pages' commands name. A broker that has ended has an empty pid."""
    lines = [
        f"# `. {shlex.quote(str(cluster.home / ENV_FILE))}`; once more after a broker was started: its pid is another",
        f"export {ENVIRONMENT_VARIABLE}={shlex.quote(str(cluster.home))}",
        f"export ZK={shlex.quote(cluster.zookeeper_connect)} BROKERS={cluster.bootstrap_servers}",
        "# Of each broker: P pid, B address, M address of the metrics, D first of log.dirs, L folder of the log files",
    ]
    if (cluster.home / COMMANDS).is_dir():
        lines.append(f"export PATH={shlex.quote(str(cluster.home / COMMANDS))}:$PATH")
    lines += [_variables(broker, str(broker.id)) for broker in cluster.brokers]
    return "\n".join([*lines, "# without a number: of broker 0", _variables(cluster.brokers[0], "")]) + "\n"


def _variables(broker: LocalBroker, number: str) -> str:
    values = {
        "P": broker.process.pid if broker.process.is_running else "",
        "B": broker.address,
        "M": f"127.0.0.1:{broker.metrics_port}",
        "D": broker.log_dirs[0],
        "L": broker.logs,
    }
    return "export " + " ".join(f"{name}{number}={shlex.quote(str(value))}" for name, value in values.items())


class BrokerWatch:
    """Says what became of brokers since the last look, and keeps lab.env true.

    Thread: the lab's only one
    """

    def __init__(self, cluster: LocalCluster, say: Tell) -> None:
        """Writes lab.env. Raises OSError."""
        self._cluster = cluster
        self._say = say
        self._seen = self._look()  # thread: lab
        self._write()

    def _look(self) -> dict[int, tuple[int, str]]:
        """Process id and state of each broker, by broker id."""
        found = {}
        for broker in self._cluster.brokers:
            process = broker.process
            state = "ended" if not process.is_running else "stopped" if process.is_stopped else "runs"
            found[broker.id] = process.pid, state
        return found

    def look(self) -> None:
        """Compare, say, and write lab.env anew if pids have changed."""
        seen, self._seen = self._seen, self._look()
        if seen == self._seen:
            return
        self._write()
        for broker in self._cluster.brokers:
            if self._seen[broker.id] != seen[broker.id]:
                self._say(self._news(broker, self._seen[broker.id][1], seen[broker.id]))

    def _news(self, broker: LocalBroker, state: str, before: tuple[int, str]) -> str:
        process = broker.process
        if state == "stopped":
            return f"Broker {broker.id} is stopped (SIGSTOP)"
        if state == "runs":
            return f"Broker {broker.id} " + (
                "goes on" if before[0] == process.pid else f"is back: pid {process.pid}, at {broker.address}"
            )
        others = [str(id) for id, (_, other) in self._seen.items() if other != "ended"]
        up = f"Broker{'s' if len(others) > 1 else ''} {', '.join(others)} and " if others else ""
        return (
            f"Broker {broker.id} has ended ({process.how_it_ended}); its last words are in {process.output}\n"
            f"  {up}ZooKeeper stay{'' if up else 's'} up. Who leads now, and to start it again:\n"
            f"  {HERE.name_of('kafka-topics')} --zookeeper {self._cluster.zookeeper_connect} --describe\n"
            f"  {HERE.name_of('kafka-lab')} start_broker {broker.id}"
        )

    def _write(self) -> None:
        """As one step: whoever sources the file meanwhile reads the old one or the new."""
        new = self._cluster.home / f"{ENV_FILE}.new"
        new.write_text(environment(self._cluster))
        new.replace(self._cluster.home / ENV_FILE)

"""A cluster as tests want one: quick settings, topics at hand, put right again between tests, and nothing left behind.

Ours, no original.

Read next: pytest_plugin.py and cluster_command.py, which hand it out
"""

from __future__ import annotations

import itertools
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from kafka_py.testing.cluster import Cluster
from kafka_py.testing.guardian import Guardian


def properties_for_tests(brokers: int) -> dict[str, str]:
    """Small internal topics, and short times until somebody is given up.

    What is made on first use has two replicas: of three brokers, one may have been killed by then.
    """
    replicas = min(2, brokers)
    return {
        "default.replication.factor": str(replicas),
        "offsets.topic.replication.factor": str(replicas),
        "offsets.topic.num.partitions": "5",
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "5",
        "group.initial.rebalance.delay.ms": "0",
        "zookeeper.session.timeout.ms": "4000",
        "replica.lag.time.max.ms": "3000",
    }


class ClusterForTests(Cluster):
    """A Cluster with properties_for_tests, which others go before, and a Guardian while it runs.

    Thread: of its owner
    """

    def __init__(
        self,
        brokers: int = 1,
        *,
        port: int = 0,
        zookeeper: str = "embedded",
        home: pathlib.Path | None = None,
        properties: Mapping[str, str] | None = None,
        log_dirs: int = 1,
    ) -> None:
        chosen = {**properties_for_tests(brokers), **(properties or {})}
        super().__init__(brokers, port=port, zookeeper=zookeeper, home=home, properties=chosen, log_dirs=log_dirs)
        self._guardian: Guardian | None = None  # thread: of its owner
        self._topics = itertools.count(1)

    def start(self) -> ClusterForTests:
        """As Cluster does, and watched over from the first process on."""
        self._guardian = Guardian(self.home, self._temporary)
        super().start()
        return self

    def __enter__(self) -> ClusterForTests:
        return self.start()

    def close(self) -> None:
        """As Cluster does; nothing of it is left, whatever its processes are doing. Once more does nothing."""
        try:
            super().close()
        finally:
            if self._guardian is not None:
                self._guardian.close()

    def new_topic(
        self,
        partitions: int = 1,
        replication_factor: int | None = None,
        replicas: Sequence[int] | None = None,
        config: Mapping[str, str] | None = None,
    ) -> str:
        """create_topic, with a name that no other topic of this cluster has had."""
        return self.create_topic(f"topic-{next(self._topics)}", partitions, replication_factor, replicas, config)

    def put_right(self) -> None:
        """Undo what tests have done: all run, nothing is cut, slow, held, full or failed. Topics stay as they are."""
        for id in list(self._floods):
            self.drain_request_queue(id)
        if any(self.links().values()):
            self.heal()
            for broker in self.brokers if len(self.brokers) > 1 else ():
                self.release_fetcher(broker.id)
        if self.zookeeper is not None:
            self.start_zookeeper()
        for broker in self.brokers:
            if broker.process.is_stopped:
                self.cont(broker.id)
            for n in self.failed_log_dirs(broker.id):
                if broker.process.is_running:  # it looks at what is back when it starts
                    self.kill(broker.id)
                self.heal_log_dir(broker.id, n)
            if not broker.process.is_running:
                self.start_broker(broker.id)

    def outputs(self) -> dict[str, pathlib.Path]:
        """What each process prints, its log: the files by the names of the processes."""
        found = {broker.process.name: broker.process.output for broker in self.brokers if broker.was_started}
        return found if self.zookeeper is None else {self.zookeeper.name: self.zookeeper.output, **found}

    def status(self) -> dict[str, Any]:
        """Where everything is and what it does, for JSON."""
        brokers = [
            {
                "id": broker.id,
                "address": broker.address,
                "pid": broker.process.pid,
                "state": _state(broker.process.is_running, broker.process.is_stopped),
                "log": str(broker.process.output),
                "log_dirs": [str(path) for path in broker.log_dirs],
                "metrics": f"http://127.0.0.1:{broker.metrics_port}/metrics",
            }
            for broker in self.brokers
        ]
        zookeeper, home = self.zookeeper_connect, str(self.home)
        return {"bootstrap": self.bootstrap_servers, "zookeeper": zookeeper, "home": home, "brokers": brokers}


def _state(is_running: bool, is_stopped: bool) -> str:
    return "ended" if not is_running else "stopped" if is_stopped else "running"

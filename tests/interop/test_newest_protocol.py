"""Three of our brokers that speak the newest protocol with each other: they die, stop, and lead again.

What 2.0 to 2.5 brought into it (KIP-279, 320, 380) decides there what is cut and who is believed.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.interop.apache_kafka import ApacheKafka
from tests.interop.mixed_cluster import OURS, MixedCluster
from tests.interop.test_mixed_cluster import TestThreeBrokers as Steps

pytestmark = [pytest.mark.slow, pytest.mark.zookeeper]
PROPERTIES = {"inter.broker.protocol.version": "2.5", "log.message.format.version": "2.5"}


@pytest.fixture(scope="module")
def cluster(apache: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MixedCluster]:
    home = tmp_path_factory.mktemp("newest")
    with MixedCluster(apache, home, (OURS, OURS, OURS), zookeeper="real", properties=PROPERTIES) as made:
        yield made


def test_kill_each_broker_in_turn(cluster: MixedCluster) -> None:
    Steps().test_kill_each_broker_in_turn(cluster)


def test_stop_each_broker_in_turn(cluster: MixedCluster) -> None:
    Steps().test_stop_each_broker_in_turn(cluster)


@pytest.mark.parametrize(("first", "second"), [(0, 1), (1, 2)])
def test_unclean_election(cluster: MixedCluster, first: int, second: int) -> None:
    Steps().test_unclean_election(cluster, first, second)


def test_a_move_outlives_its_controller(cluster: MixedCluster) -> None:
    Steps().test_a_move_outlives_its_controller(cluster)


def test_no_event_of_a_controller_failed(cluster: MixedCluster) -> None:
    """Who is fenced waits for the next epoch, and no order of the living is taken for one of the dead."""
    for broker in cluster.brokers:
        assert "Error processing event" not in (broker.logs / "controller.log").read_text()
        assert "Received error in LeaderAndIsr response" not in (broker.logs / "state-change.log").read_text()

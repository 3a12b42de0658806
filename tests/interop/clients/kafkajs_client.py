"""KafkaJS run through the steps of the conformance suite: node/kafkajs.mjs does what the steps say."""

from tests.interop.clients import node_program
from tests.interop.clients.driven_client import DrivenClient
from tests.interop.clients.steps import Client, main


def make(bootstrap: str) -> Client:
    return DrivenClient(node_program.command("kafkajs"), bootstrap)


if __name__ == "__main__":
    main(make)

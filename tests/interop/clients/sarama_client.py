"""Sarama run through the steps of the conformance suite: go/sarama does what the steps say."""

from tests.interop.clients import go_program
from tests.interop.clients.driven_client import DrivenClient
from tests.interop.clients.steps import Client, main


def make(bootstrap: str) -> Client:
    return DrivenClient([go_program.built("sarama")], bootstrap)


if __name__ == "__main__":
    main(make)

#!/usr/bin/env python3
"""Starts a broker: kafka-server-start.py [-daemon] server.properties [--override property=value]*"""

from _launch import main

main("kafka_py.kafka")

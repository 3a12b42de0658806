"""Record headers: key/value pairs that travel with a record (Java package org.apache.kafka.common.header)."""

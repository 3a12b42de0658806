// KafkaJS, run through the steps of the conformance suite.

'use strict'

process.env.KAFKAJS_NO_PARTITIONER_WARNING = '1'
const { Kafka, logLevel } = require('kafkajs')
const { Skipped, main } = require('./steps.js')

class Consumer {
  constructor(kafka, group, options) {
    this.events = []
    this.records = []
    this.owned = []
    this.options = options
    this.consumer = kafka.consumer({
      groupId: group,
      heartbeatInterval: 300,
      sessionTimeout: 10000,
      maxWaitTimeInMs: 100,
      readUncommitted: !options.readCommitted
    })
    this.consumer.on('consumer.group_join', ({ payload }) => {
      this.owned = Object.entries(payload.memberAssignment).flatMap(([topic, partitions]) =>
        partitions.map(partition => ({ topic, partition }))
      )
      this.events.push(`assigned ${this.owned.length}`)
    })
    this.consumer.on('consumer.rebalancing', () => {
      this.owned = []
      this.events.push('rebalancing')
    })
  }

  async start(topics) {
    await this.consumer.connect()
    await this.consumer.subscribe({ topics, fromBeginning: true })
    await this.consumer.run({
      autoCommit: Boolean(this.options.autoCommit),
      autoCommitInterval: 100,
      eachMessage: async ({ topic, partition, message }) => {
        this.records.push({ topic, partition, offset: Number(message.offset), value: message.value.toString() })
      }
    })
    return this
  }

  assignment() {
    return this.owned
  }

  async commit(topic, partition, offset) {
    await this.consumer.commitOffsets([{ topic, partition, offset: String(offset) }])
  }

  // What was read is committed by itself as it goes.
  async commitAsync() {
    await new Promise(resolve => setTimeout(resolve, 500))
  }

  async seek(topic, partition, offset) {
    this.consumer.seek({ topic, partition, offset: String(offset) })
  }

  pause(topic, partition) {
    this.consumer.pause([{ topic, partitions: [partition] }])
  }

  resume(topic, partition) {
    this.consumer.resume([{ topic, partitions: [partition] }])
  }

  close() {
    return this.consumer.disconnect()
  }
}

class Transactions {
  constructor(producer) {
    this.producer = producer
  }

  async begin() {
    this.transaction = await this.producer.transaction()
  }

  async send(topic, value) {
    await this.transaction.send({ topic, messages: [{ partition: 0, value }] })
  }

  async sendOffsets(_, consumerGroupId, { topic, partition, offset }) {
    const partitions = [{ partition, offset: String(offset + 1) }]
    await this.transaction.sendOffsets({ consumerGroupId, topics: [{ topic, partitions }] })
  }

  commit() {
    return this.transaction.commit()
  }

  abort() {
    return this.transaction.abort()
  }

  close() {
    return this.producer.disconnect()
  }
}

class Client {
  constructor(brokers) {
    this.kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING, retry: { initialRetryTime: 50, retries: 8 } })
    this.admin = this.kafka.admin()
    this.producer = this.kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
  }

  async start() {
    await this.admin.connect()
    await this.producer.connect()
    return this
  }

  async createTopic(topic, numPartitions) {
    await this.admin.createTopics({ waitForLeaders: true, topics: [{ topic, numPartitions, replicationFactor: 1 }] })
  }

  async produce(topic, partition, values) {
    await this.producer.send({ topic, messages: values.map(value => ({ partition, value })) })
  }

  async consumer(group, topics, options) {
    if (options.assignor && options.assignor !== 'roundrobin') {
      throw new Skipped('KafkaJS brings a round-robin assigner only')
    }
    if (options.instanceId) throw new Skipped('KafkaJS has no static members')
    return await new Consumer(this.kafka, group, options).start(topics)
  }

  async transactions(transactionalId) {
    const producer = this.kafka.producer({ transactionalId, idempotent: true, maxInFlightRequests: 1 })
    await producer.connect()
    return new Transactions(producer)
  }

  isFenced(error) {
    return ['INVALID_PRODUCER_EPOCH', 'PRODUCER_FENCED'].includes(error.type ?? error.cause?.type)
  }

  async groups() {
    return (await this.admin.listGroups()).groups.map(group => group.groupId)
  }

  async describe(group) {
    const [found] = (await this.admin.describeGroups([group])).groups
    return [found.state.toLowerCase(), found.members.length]
  }

  async deleteGroup(group) {
    await this.admin.deleteGroups([group])
  }

  async alterOffset(groupId, topic, partition, offset) {
    await this.admin.setOffsets({ groupId, topic, partitions: [{ partition, offset: String(offset) }] })
  }

  async deleteOffset() {
    throw new Skipped('KafkaJS cannot delete offsets')
  }

  async offsetOf(groupId, topic, partition) {
    const [found] = await this.admin.fetchOffsets({ groupId, topics: [topic] })
    const { offset } = found.partitions.find(one => one.partition === partition)
    return offset === '-1' ? null : Number(offset)
  }

  async close() {
    await this.producer.disconnect()
    await this.admin.disconnect()
  }
}

main(bootstrap => new Client(bootstrap).start())

// @platformatic/kafka, run through the steps of the conformance suite.

'use strict'

const { Admin, Consumer: Member, Producer, stringDeserializers, stringSerializers } = require('@platformatic/kafka')
const { Kafka, logLevel } = require('kafkajs')
const { Skipped, main } = require('./steps.js')

function causes(error) {
  return [error, ...(error.errors ?? []).flatMap(causes), ...(error.cause ? causes(error.cause) : [])]
}

// A call that the library and the broker have no common version for is a step that this client cannot take.
async function call(promise) {
  try {
    return await promise
  } catch (error) {
    const found = causes(error).find(cause => cause.code === 'PLT_KFK_UNSUPPORTED_API')
    if (!found) throw error
    const api = found.message.match(/API (\w+)/)?.[1]
    throw new Skipped(`it speaks only newer versions of ${api} than those to ${found.maxVersion}, which are offered here`)
  }
}

class Consumer {
  constructor(options, group, { instanceId, readCommitted }) {
    this.events = []
    this.records = []
    this.consumer = new Member({
      ...options,
      groupId: group,
      ...(instanceId ? { groupInstanceId: instanceId } : {}),
      heartbeatInterval: 300,
      sessionTimeout: 10000,
      maxWaitTime: 100,
      isolationLevel: readCommitted ? 1 : 0,
      deserializers: stringDeserializers
    })
    this.consumer.on('consumer:group:join', () => this.events.push(`assigned ${this.assignment().length}`))
    this.consumer.on('consumer:group:rebalance', () => this.events.push('rebalancing'))
  }

  async start(topics, autocommit) {
    const stream = await call(
      this.consumer.consume({ topics, mode: 'committed', fallbackMode: 'earliest', autocommit: autocommit ? 100 : false })
    )
    stream.on('data', ({ topic, partition, offset, value }) => {
      this.records.push({ topic, partition, offset: Number(offset), value })
    })
    stream.on('error', error => console.error(error))
    return this
  }

  assignment() {
    const owned = this.consumer.assignments ?? []
    return owned.flatMap(({ topic, partitions }) => partitions.map(partition => ({ topic, partition })))
  }

  commit(topic, partition, offset) {
    return call(this.consumer.commit({ offsets: [{ topic, partition, offset: BigInt(offset), leaderEpoch: -1 }] }))
  }

  // What was read is committed by itself as it goes.
  async commitAsync() {
    await new Promise(resolve => setTimeout(resolve, 500))
  }

  async seek() {
    throw new Skipped('@platformatic/kafka starts at an offset, but does not seek')
  }

  async pause() {
    throw new Skipped('@platformatic/kafka pauses a stream, not a partition')
  }

  close() {
    return this.consumer.close(true)
  }
}

class Transactions {
  constructor(producer) {
    this.producer = producer
  }

  async begin() {
    this.transaction = await call(this.producer.beginTransaction())
  }

  send(topic, value) {
    return call(this.transaction.send({ messages: [{ topic, partition: 0, value }] }))
  }

  async sendOffsets(member, _, { topic, partition, offset }) {
    await call(this.transaction.addConsumer(member.consumer))
    await call(this.transaction.addOffset({ topic, partition, offset: BigInt(offset), metadata: {} }))
  }

  commit() {
    return call(this.transaction.commit())
  }

  abort() {
    return call(this.transaction.abort())
  }

  close() {
    return this.producer.close()
  }
}

class Client {
  constructor(bootstrapBrokers) {
    this.options = { clientId: 'conformance', bootstrapBrokers, retries: 3, retryDelay: 100 }
    this.admin = new Admin(this.options)
    // which makes the topics, for this library's own CreateTopics is of Kafka 2.8
    this.topics = new Kafka({ brokers: bootstrapBrokers, logLevel: logLevel.NOTHING }).admin()
    this.producer = new Producer({ ...this.options, serializers: stringSerializers })
  }

  async createTopic(topic, numPartitions) {
    await this.topics.createTopics({ waitForLeaders: true, topics: [{ topic, numPartitions, replicationFactor: 1 }] })
  }

  produce(topic, partition, values) {
    return call(this.producer.send({ messages: values.map(value => ({ topic, partition, value })), acks: -1 }))
  }

  async consumer(group, topics, options) {
    if (options.assignor && options.assignor !== 'roundrobin') {
      throw new Skipped('@platformatic/kafka brings a round-robin assigner only')
    }
    return await new Consumer(this.options, group, options).start(topics, options.autoCommit)
  }

  async transactions(transactionalId) {
    return new Transactions(
      new Producer({ ...this.options, transactionalId, idempotent: true, serializers: stringSerializers })
    )
  }

  isFenced(error) {
    return causes(error).some(cause => /epoch|fenced/i.test(cause.message))
  }

  async groups() {
    return [...(await call(this.admin.listGroups())).keys()]
  }

  async describe(group) {
    const found = (await call(this.admin.describeGroups({ groups: [group] }))).get(group)
    return [found.state.toLowerCase(), found.members.size]
  }

  deleteGroup(group) {
    return call(this.admin.deleteGroups({ groups: [group] }))
  }

  alterOffset(groupId, name, partition, offset) {
    const topics = [{ name, partitionOffsets: [{ partition, offset: BigInt(offset) }] }]
    return call(this.admin.alterConsumerGroupOffsets({ groupId, topics }))
  }

  deleteOffset(groupId, name, partition) {
    const topics = [{ name, partitionIndexes: [partition] }]
    return call(this.admin.deleteConsumerGroupOffsets({ groupId, topics }))
  }

  async offsetOf(groupId, name, partition) {
    const groups = [{ groupId, topics: [{ name, partitionIndexes: [partition] }] }]
    const [found] = await call(this.admin.listConsumerGroupOffsets({ groups }))
    const offset = found.topics[0]?.partitions[0]?.committedOffset ?? -1n
    return offset < 0n ? null : Number(offset)
  }

  async start() {
    await this.topics.connect()
    return this
  }

  async close() {
    await this.topics.disconnect()
    await this.producer.close()
    await this.admin.close()
  }
}

main(bootstrap => new Client(bootstrap).start())

// Sarama, run through the steps of the conformance suite.
package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"conformance/steps"

	"github.com/IBM/sarama"
)

var strategies = map[string]func() sarama.BalanceStrategy{
	"range":              sarama.NewBalanceStrategyRange,
	"roundrobin":         sarama.NewBalanceStrategyRoundRobin,
	"sticky":             sarama.NewBalanceStrategySticky,
	"cooperative-sticky": sarama.NewBalanceStrategyCooperativeSticky,
}

// consumer is a handler that Sarama calls; what it is handed waits for a poll.
type consumer struct {
	group       sarama.ConsumerGroup
	cooperative bool
	events      steps.Events
	records     chan steps.Record
	cancel      context.CancelFunc
	ended       chan struct{}
	lock        sync.Mutex
	session     sarama.ConsumerGroupSession
	owned       map[steps.Partition]bool
	next        map[steps.Partition]int64
}

func newConsumer(bootstrap []string, group string, topics []string, options steps.Options) (*consumer, error) {
	config := sarama.NewConfig()
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategies[options.Assignor]()}
	config.Consumer.Group.InstanceId = options.InstanceID
	config.Consumer.Group.Heartbeat.Interval = 300 * time.Millisecond
	config.Consumer.Group.Session.Timeout = 10 * time.Second
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Interval = 100 * time.Millisecond
	config.Consumer.MaxWaitTime = 100 * time.Millisecond
	if options.ReadCommitted {
		config.Consumer.IsolationLevel = sarama.ReadCommitted
	}
	made, err := sarama.NewConsumerGroup(bootstrap, group, config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &consumer{
		group: made, cooperative: options.Assignor == "cooperative-sticky", cancel: cancel,
		records: make(chan steps.Record, 1000), ended: make(chan struct{}),
		owned: map[steps.Partition]bool{}, next: map[steps.Partition]int64{},
	}
	go func() {
		defer close(c.ended)
		for ctx.Err() == nil {
			if err := made.Consume(ctx, topics, c); errors.Is(err, sarama.ErrClosedConsumerGroup) {
				return
			}
		}
	}()
	return c, nil
}

func claims(session sarama.ConsumerGroupSession) []steps.Partition {
	var found []steps.Partition
	for topic, numbers := range session.Claims() {
		for _, number := range numbers {
			found = append(found, steps.Partition{Topic: topic, Partition: number})
		}
	}
	return found
}

func (c *consumer) Setup(session sarama.ConsumerGroupSession) error {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.session = session
	if !c.cooperative {
		c.events.Tell("assigned", claims(session))
	}
	return nil
}

func (c *consumer) Cleanup(session sarama.ConsumerGroupSession) error {
	if !c.cooperative {
		c.events.Tell("revoked", claims(session))
	}
	return nil
}

func (c *consumer) own(p steps.Partition, holds bool) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if holds {
		c.owned[p] = true
	} else {
		delete(c.owned, p)
	}
	if c.cooperative && !holds {
		c.events.Tell("revoked", []steps.Partition{p})
	}
}

func (c *consumer) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	p := steps.Partition{Topic: claim.Topic(), Partition: claim.Partition()}
	c.own(p, true)
	defer c.own(p, false)
	for message := range claim.Messages() {
		c.records <- steps.Record{Partition: p, Offset: message.Offset, Value: string(message.Value)}
	}
	return nil
}

func (c *consumer) Events() *steps.Events { return &c.events }

func (c *consumer) Poll(for_ time.Duration) ([]steps.Record, error) {
	end := time.After(for_)
	var found []steps.Record
	for {
		select {
		case record := <-c.records:
			found = append(found, record)
			c.lock.Lock()
			c.next[record.Partition] = record.Offset + 1
			c.lock.Unlock()
			if len(c.records) == 0 {
				return found, nil
			}
		case <-end:
			return found, nil
		}
	}
}

func (c *consumer) Assignment() []steps.Partition {
	c.lock.Lock()
	defer c.lock.Unlock()
	var found []steps.Partition
	for p := range c.owned {
		found = append(found, p)
	}
	return found
}

func (c *consumer) mark() {
	c.lock.Lock()
	defer c.lock.Unlock()
	for p, offset := range c.next {
		c.session.MarkOffset(p.Topic, p.Partition, offset, "")
	}
}

func (c *consumer) Commit() error {
	c.mark()
	c.session.Commit()
	return nil
}

// CommitAsync leaves what is marked to the automatic commit, which tells nobody.
func (c *consumer) CommitAsync(done func(error)) {
	c.mark()
	time.AfterFunc(500*time.Millisecond, func() { done(nil) })
}

func (c *consumer) CommitOffset(p steps.Partition, offset int64) error {
	c.session.MarkOffset(p.Topic, p.Partition, offset, "")
	c.session.Commit()
	return nil
}

func (c *consumer) Seek(steps.Partition, int64) error {
	return steps.Skipped("a member of a group cannot seek in Sarama")
}

func (c *consumer) Pause(p steps.Partition) {
	c.group.Pause(map[string][]int32{p.Topic: {p.Partition}})
}

func (c *consumer) Resume(p steps.Partition) {
	c.group.Resume(map[string][]int32{p.Topic: {p.Partition}})
}

func (c *consumer) Close() error {
	c.cancel()
	err := c.group.Close()
	<-c.ended
	return err
}

type transactions struct {
	producer sarama.SyncProducer
}

func (t *transactions) Begin() error { return t.producer.BeginTxn() }

func (t *transactions) Send(topic, value string) error {
	_, _, err := t.producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(value)})
	return err
}

func (t *transactions) SendOffsets(_ steps.Consumer, group string, p steps.Partition, offset int64) error {
	offsets := []*sarama.PartitionOffsetMetadata{{Partition: p.Partition, Offset: offset}}
	return t.producer.AddOffsetsToTxn(map[string][]*sarama.PartitionOffsetMetadata{p.Topic: offsets}, group)
}

func (t *transactions) Commit() error { return t.producer.CommitTxn() }
func (t *transactions) Abort() error  { return t.producer.AbortTxn() }
func (t *transactions) Close()        { t.producer.Close() }

func producerConfig() *sarama.Config {
	config := sarama.NewConfig()
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Net.MaxOpenRequests = 1
	return config
}

type client struct {
	bootstrap []string
	producer  sarama.SyncProducer
	admin     sarama.ClusterAdmin
}

func (c *client) CreateTopic(name string, partitions int32) error {
	return c.admin.CreateTopic(name, &sarama.TopicDetail{NumPartitions: partitions, ReplicationFactor: 1}, false)
}

func (c *client) Produce(topic string, partition int32, values []string) error {
	for _, value := range values {
		message := &sarama.ProducerMessage{Topic: topic, Partition: partition, Value: sarama.StringEncoder(value)}
		if _, _, err := c.producer.SendMessage(message); err != nil {
			return err
		}
	}
	return nil
}

func (c *client) Consumer(group string, topics []string, options steps.Options) (steps.Consumer, error) {
	return newConsumer(c.bootstrap, group, topics, options)
}

func (c *client) Transactions(id string) (steps.Transactions, error) {
	config := producerConfig()
	config.Producer.Transaction.ID = id
	made, err := sarama.NewSyncProducer(c.bootstrap, config)
	return &transactions{made}, err
}

func (c *client) IsFenced(err error) bool {
	return errors.Is(err, sarama.ErrInvalidProducerEpoch) || errors.Is(err, sarama.ErrProducerFenced)
}

func (c *client) Groups() ([]string, error) {
	found, err := c.admin.ListConsumerGroups()
	var names []string
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, err
}

func (c *client) Describe(group string) (string, int, error) {
	found, err := c.admin.DescribeConsumerGroups([]string{group})
	if err != nil {
		return "", 0, err
	}
	return found[0].State, len(found[0].Members), nil
}

func (c *client) DeleteGroup(group string) error { return c.admin.DeleteConsumerGroup(group) }

func (c *client) AlterOffset(group string, p steps.Partition, offset int64) error {
	offsets := map[string]map[int32]sarama.OffsetAndMetadata{p.Topic: {p.Partition: {Offset: offset, LeaderEpoch: -1}}}
	_, err := c.admin.AlterConsumerGroupOffsets(group, offsets, nil)
	return err
}

func (c *client) DeleteOffset(group string, p steps.Partition) error {
	return c.admin.DeleteConsumerGroupOffset(group, p.Topic, p.Partition)
}

func (c *client) OffsetOf(group string, p steps.Partition) (int64, error) {
	found, err := c.admin.ListConsumerGroupOffsets(group, map[string][]int32{p.Topic: {p.Partition}})
	if err != nil {
		return -1, err
	}
	return found.GetBlock(p.Topic, p.Partition).Offset, nil
}

func (c *client) Close() {
	c.producer.Close()
	c.admin.Close()
}

func main() {
	steps.Main(func(bootstrap []string) (steps.Client, error) {
		producer, err := sarama.NewSyncProducer(bootstrap, producerConfig())
		if err != nil {
			return nil, err
		}
		admin, err := sarama.NewClusterAdmin(bootstrap, sarama.NewConfig())
		return &client{bootstrap, producer, admin}, err
	})
}

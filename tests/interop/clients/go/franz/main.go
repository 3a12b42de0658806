// franz-go run through the steps of the conformance suite; its administration is its own module kadm.
package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	. "conformance/driver"
)

const timeout = 30 * time.Second

var (
	seeds     []string
	admin     *kadm.Client
	producer  *kgo.Client
	consumers Numbered[*member]
	producers Numbered[*transactions]
	sessions  = map[string]*member{}
	lock      sync.Mutex
	balancers = map[string]kgo.GroupBalancer{
		"range":              kgo.RangeBalancer(),
		"roundrobin":         kgo.RoundRobinBalancer(),
		"sticky":             kgo.StickyBalancer(),
		"cooperative-sticky": kgo.CooperativeStickyBalancer(),
	}
)

func soon() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	time.AfterFunc(timeout, cancel)
	return ctx
}

// member of a group; one that feeds a transactional id is the session of both.
type member struct {
	group   string
	client  *kgo.Client
	session *kgo.GroupTransactSession
	lock    sync.Mutex
	owned   map[string]map[int32]bool
}

func (m *member) told(of int, event string, owns bool) kgo.Opt {
	listen := func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
		m.lock.Lock()
		var flat [][]any
		for topic, numbers := range partitions {
			if m.owned[topic] == nil {
				m.owned[topic] = map[int32]bool{}
			}
			for _, number := range numbers {
				m.owned[topic][number] = owns
				flat = append(flat, []any{topic, number})
			}
		}
		m.lock.Unlock()
		Told(of, event, flat)
	}
	if owns {
		return kgo.OnPartitionsAssigned(listen)
	}
	return kgo.OnPartitionsRevoked(listen)
}

func consumer(w With) (any, error) {
	m := &member{group: w.Group, owned: map[string]map[int32]bool{}}
	if w.Assignor == "" {
		w.Assignor = "range"
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(seeds...), kgo.ConsumerGroup(w.Group), kgo.ConsumeTopics(w.Topics...),
		kgo.Balancers(balancers[w.Assignor]), kgo.HeartbeatInterval(300 * time.Millisecond),
		kgo.SessionTimeout(10 * time.Second), kgo.FetchMaxWait(100 * time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		m.told(w.Of, "assigned", true), m.told(w.Of, "revoked", false),
	}
	if w.InstanceID != "" {
		options = append(options, kgo.InstanceID(w.InstanceID))
	}
	if w.ReadCommitted {
		options = append(options, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	var err error
	if w.Feeds == "" {
		m.client, err = kgo.NewClient(append(options, kgo.DisableAutoCommit())...)
	} else {
		m.session, err = kgo.NewGroupTransactSession(append(options, transactional(w.Feeds)...)...)
		if err == nil {
			m.client = m.session.Client()
		}
		lock.Lock()
		sessions[w.Feeds] = m
		lock.Unlock()
	}
	consumers.Put(w.Of, m)
	return nil, err
}

func poll(w With) (any, error) {
	m := consumers.Get(w.Of)
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(w.Ms)*time.Millisecond)
	defer cancel()
	fetches := m.client.PollFetches(ctx)
	for _, failed := range fetches.Errors() {
		if !errors.Is(failed.Err, context.DeadlineExceeded) {
			return nil, failed.Err
		}
	}
	found := [][]any{}
	fetches.EachRecord(func(r *kgo.Record) { found = append(found, Record(r.Topic, r.Partition, r.Offset, r.Value)) })
	return found, nil
}

func assignment(w With) (any, error) {
	m := consumers.Get(w.Of)
	m.lock.Lock()
	defer m.lock.Unlock()
	owned := [][]any{}
	for topic, partitions := range m.owned {
		for partition, owns := range partitions {
			if owns {
				owned = append(owned, []any{topic, partition})
			}
		}
	}
	return owned, nil
}

// committed takes the answer to a commit and passes on the first error in it.
func committed(done chan<- error) func(*kgo.Client, *kmsg.OffsetCommitRequest, *kmsg.OffsetCommitResponse, error) {
	return func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
		if err == nil {
			for _, topic := range answer.Topics {
				for _, partition := range topic.Partitions {
					err = errors.Join(err, kerr.ErrorForCode(partition.ErrorCode))
				}
			}
		}
		done <- err
	}
}

func commitAsync(w With) (any, error) {
	done := make(chan error, 1)
	client := consumers.Get(w.Of).client
	client.CommitOffsets(soon(), client.UncommittedOffsets(), committed(done))
	return nil, <-done
}

func commitOffsets(w With) (any, error) {
	done := make(chan error, 1)
	wanted := map[string]map[int32]kgo.EpochOffset{}
	for _, o := range w.Offsets {
		wanted[o.Topic] = map[int32]kgo.EpochOffset{o.Partition: {Epoch: -1, Offset: o.Offset}}
	}
	consumers.Get(w.Of).client.CommitOffsetsSync(soon(), wanted, committed(done))
	return nil, <-done
}

func seek(w With) (any, error) {
	to := map[int32]kgo.EpochOffset{w.Partition: {Epoch: -1, Offset: w.Offset}}
	consumers.Get(w.Of).client.SetOffsets(map[string]map[int32]kgo.EpochOffset{w.Topic: to})
	return nil, nil
}

func closeConsumer(w With) (any, error) {
	m := consumers.Get(w.Of)
	if m.session != nil {
		m.session.Close()
	} else {
		m.client.Close()
	}
	return nil, nil
}

func transactional(id string) []kgo.Opt {
	return []kgo.Opt{kgo.TransactionalID(id), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0)}
}

// transactions of a producer alone, or of a session that consumes too.
type transactions struct {
	client  *kgo.Client
	session *kgo.GroupTransactSession
}

func makeTransactions(w With) (any, error) {
	lock.Lock()
	m := sessions[w.ID]
	lock.Unlock()
	if m != nil {
		producers.Put(w.Of, &transactions{m.client, m.session})
		return nil, nil
	}
	client, err := kgo.NewClient(append(transactional(w.ID), kgo.SeedBrokers(seeds...))...)
	if err == nil {
		_, _, err = client.ProducerID(soon())
	}
	producers.Put(w.Of, &transactions{client: client})
	return nil, err
}

func begin(w With) (any, error) {
	t := producers.Get(w.Of)
	if t.session != nil {
		return nil, t.session.Begin()
	}
	return nil, t.client.BeginTransaction()
}

func end(try kgo.TransactionEndTry) func(With) (any, error) {
	return func(w With) (any, error) {
		t := producers.Get(w.Of)
		if t.session == nil {
			return nil, fenced(t.client.EndTransaction(soon(), try))
		}
		committed, err := t.session.End(soon(), try)
		if err == nil && committed != bool(try) {
			err = errors.New("the session chose to abort")
		}
		return nil, err
	}
}

func fenced(err error) error {
	if errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch) {
		return Fenced{Cause: err}
	}
	return err
}

func send(w With) (any, error) {
	record := &kgo.Record{Topic: w.Topic, Partition: w.Partition, Value: []byte(w.Value)}
	return nil, fenced(producers.Get(w.Of).client.ProduceSync(soon(), record).FirstErr())
}

// sendOffsets leaves it to the session, which sends what was polled as it ends the transaction.
func sendOffsets(w With) (any, error) {
	if producers.Get(w.Of).session == nil {
		return nil, errors.New("the consumer is of no session")
	}
	return nil, nil
}

func closeTransactions(w With) (any, error) {
	if t := producers.Get(w.Of); t.session == nil {
		t.client.Close()
	}
	return nil, nil
}

func createTopic(w With) (any, error) {
	_, err := admin.CreateTopic(soon(), w.Partitions, 1, nil, w.Topic)
	return nil, err
}

func produce(w With) (any, error) {
	var records []*kgo.Record
	for _, value := range w.Values {
		records = append(records, &kgo.Record{Topic: w.Topic, Partition: w.Partition, Value: []byte(value)})
	}
	return nil, producer.ProduceSync(soon(), records...).FirstErr()
}

func groups(With) (any, error) {
	found, err := admin.ListGroups(soon())
	return found.Groups(), err
}

func describe(w With) (any, error) {
	found, err := admin.DescribeGroups(soon(), w.Group)
	if err != nil {
		return nil, err
	}
	group := found[w.Group]
	return []any{group.State, len(group.Members)}, group.Err
}

func deleteGroup(w With) (any, error) {
	found, err := admin.DeleteGroup(soon(), w.Group)
	if err == nil {
		err = found.Err
	}
	return nil, err
}

func alterOffset(w With) (any, error) {
	offsets := kadm.Offsets{}
	offsets.AddOffset(w.Topic, w.Partition, w.Offset, -1)
	return nil, admin.CommitAllOffsets(soon(), w.Group, offsets)
}

func deleteOffset(w With) (any, error) {
	set := kadm.TopicsSet{}
	set.Add(w.Topic, w.Partition)
	found, err := admin.DeleteOffsets(soon(), w.Group, set)
	if err == nil {
		err = found.Error()
	}
	return nil, err
}

func offsetOf(w With) (any, error) {
	found, err := admin.FetchOffsets(soon(), w.Group)
	if err != nil {
		return nil, err
	}
	offset, ok := found.Lookup(w.Topic, w.Partition)
	if !ok || offset.At < 0 {
		return nil, nil
	}
	return offset.At, offset.Err
}

func main() {
	seeds = strings.Split(os.Args[1], ",")
	var err error
	producer, err = kgo.NewClient(
		kgo.SeedBrokers(seeds...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))
	if err != nil {
		panic(err)
	}
	admin = kadm.NewClient(producer)
	Serve(Doing{
		"createTopic": createTopic, "produce": produce,
		"consumer": consumer, "poll": poll, "assignment": assignment, "closeConsumer": closeConsumer,
		"commit": func(w With) (any, error) {
			return nil, consumers.Get(w.Of).client.CommitUncommittedOffsets(soon())
		},
		"commitAsync": commitAsync, "commitOffsets": commitOffsets,
		"committed": func(w With) (any, error) {
			w.Group = consumers.Get(w.Of).group
			return offsetOf(w)
		},
		"seek": seek,
		"pause": func(w With) (any, error) {
			consumers.Get(w.Of).client.PauseFetchPartitions(map[string][]int32{w.Topic: {w.Partition}})
			return nil, nil
		},
		"resume": func(w With) (any, error) {
			consumers.Get(w.Of).client.ResumeFetchPartitions(map[string][]int32{w.Topic: {w.Partition}})
			return nil, nil
		},
		"transactions": makeTransactions, "begin": begin, "send": send, "sendOffsets": sendOffsets,
		"commitTransaction": end(kgo.TryCommit), "abortTransaction": end(kgo.TryAbort),
		"closeTransactions": closeTransactions,
		"groups":            groups, "describe": describe, "deleteGroup": deleteGroup,
		"alterOffset": alterOffset, "deleteOffset": deleteOffset, "offsetOf": offsetOf,
	})
}

// Package steps is what is asked of a client written in Go: the steps of the conformance suite, one JSON line each.
package steps

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	wait    = 25 * time.Second
	atOnce  = 1500 * time.Millisecond
	pollFor = 100 * time.Millisecond
)

// Partition is one of a topic.
type Partition struct {
	Topic     string
	Partition int32
}

// Record is one that was read.
type Record struct {
	Partition
	Offset int64
	Value  string
}

// Options of a member: Assignor is range, roundrobin, sticky or cooperative-sticky.
type Options struct {
	Assignor      string
	InstanceID    string
	ReadCommitted bool
}

// Event is a callback of a rebalance.
type Event struct {
	What       string
	Partitions []Partition
}

// Events are told by the client's goroutines.
type Events struct {
	lock sync.Mutex
	all  []Event
}

// Tell adds one, unless it is of no partition.
func (e *Events) Tell(what string, partitions []Partition) {
	e.lock.Lock()
	defer e.lock.Unlock()
	if len(partitions) > 0 {
		e.all = append(e.all, Event{what, partitions})
	}
}

// Clear forgets all.
func (e *Events) Clear() {
	e.lock.Lock()
	defer e.lock.Unlock()
	e.all = nil
}

// Kinds are like "revoked 4".
func (e *Events) Kinds() []string {
	e.lock.Lock()
	defer e.lock.Unlock()
	var kinds []string
	for _, event := range e.all {
		kinds = append(kinds, fmt.Sprint(event.What, " ", len(event.Partitions)))
	}
	return kinds
}

// Revoked are the partitions that were taken away.
func (e *Events) Revoked() []Partition {
	e.lock.Lock()
	defer e.lock.Unlock()
	var revoked []Partition
	for _, event := range e.all {
		if event.What == "revoked" {
			revoked = append(revoked, event.Partitions...)
		}
	}
	return revoked
}

// Consumer is a member of a group.
type Consumer interface {
	Events() *Events
	Poll(time.Duration) ([]Record, error)
	Assignment() []Partition
	Commit() error
	CommitAsync(done func(error))
	CommitOffset(Partition, int64) error
	Seek(Partition, int64) error
	Pause(Partition)
	Resume(Partition)
	Close() error
}

// Transactions is a producer with a transactional id.
type Transactions interface {
	Begin() error
	Send(topic string, value string) error
	SendOffsets(Consumer, string, Partition, int64) error
	Commit() error
	Abort() error
	Close()
}

// Client is what a library offers; what it cannot do answers a Skipped.
type Client interface {
	CreateTopic(name string, partitions int32) error
	Produce(topic string, partition int32, values []string) error
	Consumer(group string, topics []string, options Options) (Consumer, error)
	Transactions(id string) (Transactions, error)
	IsFenced(error) bool
	Groups() ([]string, error)
	Describe(group string) (state string, members int, err error)
	DeleteGroup(group string) error
	AlterOffset(group string, partition Partition, offset int64) error
	DeleteOffset(group string, partition Partition) error
	// OffsetOf is -1 where there is none.
	OffsetOf(group string, partition Partition) (int64, error)
	Close()
}

// Skipped says what the client lacks.
type Skipped string

func (s Skipped) Error() string { return string(s) }

type suite struct {
	client Client
	open   []Consumer
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func check(holds bool, format string, args ...any) {
	if !holds {
		panic(fmt.Errorf(format, args...))
	}
}

func name(what string) string { return fmt.Sprintf("%s-%08x", what, rand.Uint32()) }

func numbered(since, count int) []string {
	var values []string
	for i := since; i < since+count; i++ {
		values = append(values, fmt.Sprint("value ", i))
	}
	return values
}

func values(records []Record) []string {
	var found []string
	for _, record := range records {
		found = append(found, record.Value)
	}
	return found
}

func sorted(partitions []Partition) []string {
	var found []string
	for _, p := range partitions {
		found = append(found, fmt.Sprint(p.Topic, " ", p.Partition))
	}
	slices.Sort(found)
	return found
}

func (s *suite) topic(what string, partitions int32, records int) string {
	topic := name(what)
	must(s.client.CreateTopic(topic, partitions))
	if records > 0 {
		must(s.client.Produce(topic, 0, numbered(0, records)))
	}
	return topic
}

func (s *suite) consumer(group string, topics []string, options Options) Consumer {
	if options.Assignor == "" {
		options.Assignor = "range"
	}
	made, err := s.client.Consumer(group, topics, options)
	must(err)
	s.open = append(s.open, made)
	return made
}

func (s *suite) close(consumer Consumer) time.Duration {
	s.open = slices.DeleteFunc(s.open, func(other Consumer) bool { return other == consumer })
	since := time.Now()
	must(consumer.Close())
	return time.Since(since)
}

// pollAll polls the members at the same time, as members in programs of their own do.
func pollAll(members ...Consumer) []Record {
	found := make([][]Record, len(members))
	failed := make([]error, len(members))
	var polls sync.WaitGroup
	for i, member := range members {
		polls.Go(func() { found[i], failed[i] = member.Poll(pollFor) })
	}
	polls.Wait()
	must(errors.Join(failed...))
	return slices.Concat(found...)
}

func await(what string, holds func() bool, members ...Consumer) {
	deadline := time.Now().Add(wait)
	for !holds() {
		if time.Now().After(deadline) {
			var owned [][]string
			for _, member := range members {
				owned = append(owned, sorted(member.Assignment()))
			}
			panic(fmt.Errorf("never: %s; owned: %v", what, owned))
		}
		pollAll(members...)
	}
}

func read(member Consumer, count int) []Record {
	var found []Record
	deadline := time.Now().Add(wait)
	for len(found) < count {
		check(time.Now().Before(deadline), "%d of %d records; owned: %v", len(found), count, member.Assignment())
		found = append(found, pollAll(member)...)
	}
	check(len(found) == count, "%d records instead of %d", len(found), count)
	return found
}

func expect(member Consumer, wanted []string) {
	found := values(read(member, len(wanted)))
	check(slices.Equal(found, wanted), "%v instead of %v", found, wanted)
}

func (s *suite) shared(assignor string, fewer, more int) {
	topics := []string{s.topic("shared-1", 3, 0), s.topic("shared-2", 3, 0)}
	var every []Partition
	for _, topic := range topics {
		for p := range int32(3) {
			every = append(every, Partition{topic, p})
		}
	}
	group := name("shared")
	one := s.consumer(group, topics, Options{Assignor: assignor})
	all := func() bool { return slices.Equal(sorted(one.Assignment()), sorted(every)) }
	await("the first member owns all", all, one)
	two := s.consumer(group, topics, Options{Assignor: assignor})
	await("two members share as expected", func() bool {
		a, b := one.Assignment(), two.Assignment()
		return min(len(a), len(b)) == fewer && max(len(a), len(b)) == more &&
			slices.Equal(sorted(slices.Concat(a, b)), sorted(every))
	}, one, two)
	kept := one.Assignment()
	for _, p := range every {
		must(s.client.Produce(p.Topic, p.Partition, []string{"x"}))
	}
	seen := map[Partition]bool{}
	for deadline := time.Now().Add(wait); len(seen) < 6 && time.Now().Before(deadline); {
		for _, record := range pollAll(one, two) {
			seen[record.Partition] = true
		}
	}
	check(len(seen) == 6, "read only %v", seen)
	one.Events().Clear()
	s.close(two)
	await("who stays owns all", all, one)
	if assignor == "cooperative-sticky" {
		for _, p := range one.Events().Revoked() {
			check(!slices.Contains(kept, p), "revoked for no reason: %v", p)
		}
	}
}

func (s *suite) staticMember() {
	topics, group := []string{s.topic("static", 4, 0)}, name("static")
	one := s.consumer(group, topics, Options{InstanceID: "one"})
	two := s.consumer(group, topics, Options{InstanceID: "two"})
	await("two static members with two each", func() bool {
		return len(one.Assignment()) == 2 && len(two.Assignment()) == 2
	}, one, two)
	had := sorted(two.Assignment())
	one.Events().Clear()
	s.close(two)
	again := s.consumer(group, topics, Options{InstanceID: "two"})
	await("who came back has what it had", func() bool { return slices.Equal(sorted(again.Assignment()), had) }, one, again)
	for range 5 {
		pollAll(one)
	}
	check(len(one.Events().Kinds()) == 0, "the other member was disturbed: %v", one.Events().Kinds())
}

func (s *suite) commit(expected int, commit func(Consumer, Partition)) {
	topic, group := s.topic("commit", 1, 10), name("commit")
	one := s.consumer(group, []string{topic}, Options{})
	expect(one, numbered(0, 10))
	commit(one, Partition{topic, 0})
	s.committed(group, Partition{topic, 0}, int64(expected))
	must(s.client.Produce(topic, 0, numbered(10, 5)))
	s.close(one)
	two := s.consumer(group, []string{topic}, Options{})
	expect(two, numbered(expected, 15-expected))
}

func (s *suite) committed(group string, partition Partition, expected int64) {
	found, err := s.client.OffsetOf(group, partition)
	must(err)
	check(found == expected, "committed is %d instead of %d", found, expected)
}

func commitAsync(member Consumer, _ Partition) {
	answers := make(chan error, 1)
	member.CommitAsync(func(err error) { answers <- err })
	select {
	case err := <-answers:
		must(err)
	case <-time.After(wait):
		panic(errors.New("no answer to a commit"))
	}
}

func (s *suite) seek() {
	topic := s.topic("seek", 1, 10)
	one := s.consumer(name("seek"), []string{topic}, Options{})
	read(one, 10)
	must(one.Seek(Partition{topic, 0}, 4))
	expect(one, numbered(4, 6))
}

func (s *suite) pauseResume() {
	topic := s.topic("pause", 2, 3)
	one := s.consumer(name("pause"), []string{topic}, Options{})
	read(one, 3)
	one.Pause(Partition{topic, 0})
	time.Sleep(2 * pollFor) // a fetch that is under way may still bring some
	for p := range int32(2) {
		must(s.client.Produce(topic, p, numbered(0, 2)))
	}
	found := read(one, 2)
	for range 5 {
		found = append(found, pollAll(one)...)
	}
	for _, record := range found {
		check(record.Partition.Partition == 1, "read a paused partition: %v", found)
	}
	one.Resume(Partition{topic, 0})
	for _, record := range read(one, 2) {
		check(record.Partition.Partition == 0, "of the other partition")
	}
}

func (s *suite) rebalanceCallbacks() {
	topics, group := []string{s.topic("callbacks", 4, 0)}, name("callbacks")
	one := s.consumer(group, topics, Options{})
	told := func(wanted ...string) func() bool {
		return func() bool { return slices.Equal(one.Events().Kinds(), wanted) }
	}
	await("all assigned", told("assigned 4"), one)
	one.Events().Clear()
	two := s.consumer(group, topics, Options{})
	await("revoked and assigned two", told("revoked 4", "assigned 2"), one, two)
	await("two each", func() bool { return len(two.Assignment()) == 2 }, one, two)
	one.Events().Clear()
	s.close(two)
	await("revoked and assigned all", told("revoked 2", "assigned 4"), one)
}

func (s *suite) closeAtOnce() {
	topics, group := []string{s.topic("close", 4, 0)}, name("close")
	one, two := s.consumer(group, topics, Options{}), s.consumer(group, topics, Options{})
	await("two each", func() bool { return len(one.Assignment()) == 2 && len(two.Assignment()) == 2 }, one, two)
	took := s.close(two)
	check(took < atOnce, "closing took %v", took)
	since := time.Now()
	await("who stays owns all", func() bool { return len(one.Assignment()) == 4 }, one)
	check(time.Since(since) < 5*time.Second, "the partitions came after %v", time.Since(since))
	took = s.close(one)
	check(took < atOnce, "closing the last member took %v", took)
}

func (s *suite) transactions(id string) Transactions {
	made, err := s.client.Transactions(id)
	must(err)
	return made
}

func (s *suite) transform() {
	source, target, group := s.topic("source", 1, 10), s.topic("target", 1, 0), name("transform")
	one := s.consumer(group, []string{source}, Options{})
	producer := s.transactions(name("transform"))
	found := read(one, 10)
	must(producer.Begin())
	var upper []string
	for _, value := range values(found) {
		upper = append(upper, strings.ToUpper(value))
		must(producer.Send(target, strings.ToUpper(value)))
	}
	must(producer.SendOffsets(one, group, Partition{source, 0}, 10))
	must(producer.Commit())
	producer.Close()
	// the coordinator of transactions answers before its markers are everywhere
	await("the offset is committed", func() bool {
		offset, err := s.client.OffsetOf(group, Partition{source, 0})
		must(err)
		return offset == 10
	}, one)
	reader := s.consumer(name("reader"), []string{target}, Options{ReadCommitted: true})
	expect(reader, upper)
}

func (s *suite) abort() {
	source, topic, group := s.topic("source", 1, 3), s.topic("abort", 1, 0), name("abort")
	one := s.consumer(group, []string{source}, Options{})
	read(one, 3)
	producer := s.transactions(name("abort"))
	must(producer.Begin())
	for _, value := range numbered(0, 5) {
		must(producer.Send(topic, value))
	}
	must(producer.SendOffsets(one, group, Partition{source, 0}, 3))
	must(producer.Abort())
	must(producer.Begin())
	for _, value := range numbered(5, 5) {
		must(producer.Send(topic, value))
	}
	must(producer.Commit())
	producer.Close()
	expect(s.consumer(name("reader"), []string{topic}, Options{ReadCommitted: true}), numbered(5, 5))
	expect(s.consumer(name("reader"), []string{topic}, Options{}), numbered(0, 10))
	s.committed(group, Partition{source, 0}, -1)
}

func (s *suite) fencing() {
	topic, id := s.topic("fencing", 1, 0), name("fencing")
	zombie := s.transactions(id)
	must(zombie.Begin())
	must(zombie.Send(topic, "zombie"))
	successor := s.transactions(id)
	must(successor.Begin())
	must(successor.Send(topic, "successor"))
	must(successor.Commit())
	err := zombie.Send(topic, "zombie again")
	if err == nil {
		err = zombie.Commit()
	}
	check(err != nil, "the zombie committed")
	check(s.client.IsFenced(err), "not fenced but: %v", err)
	successor.Close()
	zombie.Close()
	expect(s.consumer(name("reader"), []string{topic}, Options{ReadCommitted: true}), []string{"successor"})
}

func (s *suite) member(what string) (Partition, string, Consumer) {
	topic, group := s.topic(what, 1, 5), name(what)
	one := s.consumer(group, []string{topic}, Options{})
	read(one, 5)
	must(one.Commit())
	return Partition{topic, 0}, group, one
}

func (s *suite) groups() []string {
	found, err := s.client.Groups()
	must(err)
	return found
}

func (s *suite) listGroups() {
	_, group, _ := s.member("list")
	check(slices.Contains(s.groups(), group), "not listed")
}

func (s *suite) describeGroup() {
	_, group, one := s.member("describe")
	state, members, err := s.client.Describe(group)
	must(err)
	check(state == "Stable" && members == 1, "%s with %d", state, members)
	s.close(one)
	state, members, err = s.client.Describe(group)
	must(err)
	check(state == "Empty" && members == 0, "%s with %d", state, members)
}

func (s *suite) deleteGroup() {
	_, group, one := s.member("delete")
	err := s.client.DeleteGroup(group)
	check(err != nil, "a group with a member was deleted")
	check(strings.Contains(strings.ReplaceAll(strings.ToLower(err.Error()), "_", " "), "empty"), "%v", err)
	s.close(one)
	must(s.client.DeleteGroup(group))
	check(!slices.Contains(s.groups(), group), "still there")
}

func (s *suite) alterOffsets() {
	partition, group, one := s.member("alter")
	s.close(one)
	must(s.client.AlterOffset(group, partition, 2))
	s.committed(group, partition, 2)
	expect(s.consumer(group, []string{partition.Topic}, Options{}), numbered(2, 3))
}

func (s *suite) deleteOffsets() {
	partition, group, one := s.member("forget")
	s.committed(group, partition, 5)
	s.close(one)
	must(s.client.DeleteOffset(group, partition))
	s.committed(group, partition, -1)
}

func (s *suite) report(step string, run func()) {
	since := time.Now()
	line := map[string]any{"step": step, "ok": true, "why": ""}
	func() {
		defer func() {
			if failed := recover(); failed != nil {
				line["ok"], line["why"] = false, fmt.Sprint(failed)
				if err, isError := failed.(error); isError {
					var skipped Skipped
					if errors.As(err, &skipped) {
						line["ok"] = "skipped"
					}
				}
			}
		}()
		run()
	}()
	line["ms"] = time.Since(since).Milliseconds()
	must(json.NewEncoder(os.Stdout).Encode(line))
	for _, consumer := range s.open {
		consumer.Close()
	}
	s.open = nil
}

// Main runs the steps that the arguments name, or all.
func Main(make func(bootstrap []string) (Client, error)) {
	client, err := make(strings.Split(os.Args[1], ","))
	must(err)
	s := &suite{client: client}
	steps := []struct {
		name string
		run  func()
	}{
		{"subscribe_range", func() { s.shared("range", 2, 4) }},
		{"subscribe_round_robin", func() { s.shared("roundrobin", 3, 3) }},
		{"subscribe_sticky", func() { s.shared("sticky", 3, 3) }},
		{"subscribe_cooperative", func() { s.shared("cooperative-sticky", 3, 3) }},
		{"static_member", s.staticMember},
		{"commit_sync", func() { s.commit(10, func(c Consumer, _ Partition) { must(c.Commit()) }) }},
		{"commit_async", func() { s.commit(10, commitAsync) }},
		{"commit_specific", func() { s.commit(3, func(c Consumer, p Partition) { must(c.CommitOffset(p, 3)) }) }},
		{"seek", s.seek},
		{"pause_resume", s.pauseResume},
		{"rebalance_callbacks", s.rebalanceCallbacks},
		{"close_at_once", s.closeAtOnce},
		{"txn_consume_transform_produce", s.transform},
		{"txn_abort", s.abort},
		{"txn_fencing", s.fencing},
		{"admin_list_groups", s.listGroups},
		{"admin_describe_group", s.describeGroup},
		{"admin_delete_group", s.deleteGroup},
		{"admin_alter_offsets", s.alterOffsets},
		{"admin_delete_offsets", s.deleteOffsets},
	}
	for _, step := range steps {
		if len(os.Args) < 3 || slices.Contains(os.Args[2:], step.name) {
			s.report(step.name, step.run)
		}
	}
	client.Close()
}

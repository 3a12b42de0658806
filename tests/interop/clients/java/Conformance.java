import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Apache's Java client run through the steps of the conformance suite, one JSON line each.
 *
 * <p>Compiled against each version's jar, with older/ThisEra.java for 1.1.1 and newer/ThisEra.java for the others.
 */
public final class Conformance {
    private static final long WAIT_MS = 25_000;
    private static final long CLOSE_MS = 1_500;
    private static final String RANGE = "org.apache.kafka.clients.consumer.RangeAssignor";
    private static final String ROUND_ROBIN = "org.apache.kafka.clients.consumer.RoundRobinAssignor";
    private static final String STICKY = "org.apache.kafka.clients.consumer.StickyAssignor";
    private static final String COOPERATIVE = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor";

    private interface Step {
        void run() throws Exception;
    }

    private static void check(boolean holds, Object why) {
        if (!holds) throw new AssertionError(why);
    }

    private static String name(String what) {
        return what + "-" + UUID.randomUUID().toString().substring(0, 8);
    }

    private static List<String> numbered(int since, int count) {
        List<String> values = new ArrayList<>();
        for (int i = since; i < since + count; i++) values.add("value " + i);
        return values;
    }

    private static List<String> values(List<ConsumerRecord<byte[], byte[]>> records) {
        List<String> values = new ArrayList<>();
        for (ConsumerRecord<byte[], byte[]> record : records) values.add(new String(record.value()));
        return values;
    }

    /** A member of a group and what its listener was told. */
    private final class Member implements ConsumerRebalanceListener {
        final KafkaConsumer<byte[], byte[]> consumer;
        final List<String> events = new CopyOnWriteArrayList<>();
        final Set<TopicPartition> revoked = Collections.synchronizedSet(new HashSet<>());

        Member(String group, Collection<String> topics, String... more) {
            Properties config = new Properties();
            config.put("bootstrap.servers", bootstrap);
            config.put("group.id", group);
            config.put("auto.offset.reset", "earliest");
            config.put("enable.auto.commit", "false");
            config.put("partition.assignment.strategy", RANGE);
            config.put("heartbeat.interval.ms", "300");
            config.put("session.timeout.ms", "10000");
            config.put("fetch.max.wait.ms", "100");
            for (int i = 0; i < more.length; i += 2) config.put(more[i], more[i + 1]);
            consumer = new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            consumer.subscribe(topics, this);
            open.add(this);
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            if (!partitions.isEmpty()) events.add("assigned " + partitions.size());
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            revoked.addAll(partitions);
            if (!partitions.isEmpty()) events.add("revoked " + partitions.size());
        }

        List<ConsumerRecord<byte[], byte[]>> poll(long ms) {
            List<ConsumerRecord<byte[], byte[]>> found = new ArrayList<>();
            era.poll(consumer, ms).forEach(found::add);
            return found;
        }

        Set<TopicPartition> owned() {
            return new HashSet<>(consumer.assignment());
        }

        Long committed(TopicPartition partition) {
            OffsetAndMetadata found = era.committed(consumer, partition);
            return found == null ? null : found.offset();
        }

        long close() {
            open.remove(this);
            long since = System.nanoTime();
            consumer.close();
            return (System.nanoTime() - since) / 1_000_000;
        }
    }

    private final String bootstrap;
    private final Era era = new ThisEra();
    private final AdminClient admin;
    private final KafkaProducer<byte[], byte[]> producer;
    private final List<Member> open = new ArrayList<>();
    private final ExecutorService threads = Executors.newFixedThreadPool(2, task -> {
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        return thread;
    });
    private final Map<String, Step> steps = new LinkedHashMap<>();

    private Conformance(String bootstrap) {
        this.bootstrap = bootstrap;
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        admin = AdminClient.create(config);
        producer = producer("enable.idempotence", "true");
        steps.put("subscribe_range", () -> shared(RANGE, 2, 4));
        steps.put("subscribe_round_robin", () -> shared(ROUND_ROBIN, 3, 3));
        steps.put("subscribe_sticky", () -> shared(STICKY, 3, 3));
        steps.put("subscribe_cooperative", () -> shared(COOPERATIVE, 3, 3));
        steps.put("static_member", this::staticMember);
        steps.put("commit_sync", () -> commit(10, (member, partition) -> member.consumer.commitSync()));
        steps.put("commit_async", () -> commit(10, this::commitAsync));
        steps.put("commit_specific", () -> commit(3, (member, partition) ->
                member.consumer.commitSync(Collections.singletonMap(partition, new OffsetAndMetadata(3, "why")))));
        steps.put("seek", this::seek);
        steps.put("pause_resume", this::pauseResume);
        steps.put("rebalance_callbacks", this::rebalanceCallbacks);
        steps.put("close_at_once", this::closeAtOnce);
        steps.put("txn_consume_transform_produce", this::transform);
        steps.put("txn_abort", this::abort);
        steps.put("txn_fencing", this::fencing);
        steps.put("admin_list_groups", this::listGroups);
        steps.put("admin_describe_group", this::describeGroup);
        steps.put("admin_delete_group", this::deleteGroup);
        steps.put("admin_alter_offsets", this::alterOffsets);
        steps.put("admin_delete_offsets", this::deleteOffsets);
    }

    private KafkaProducer<byte[], byte[]> producer(String... more) {
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("acks", "all");
        config.put("retries", "10");
        config.put("max.block.ms", "20000");
        for (int i = 0; i < more.length; i += 2) config.put(more[i], more[i + 1]);
        return new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private KafkaProducer<byte[], byte[]> transactional(String id) {
        KafkaProducer<byte[], byte[]> made = producer("transactional.id", id, "enable.idempotence", "true");
        made.initTransactions();
        return made;
    }

    private static void send(
            KafkaProducer<byte[], byte[]> producer, String topic, int partition, Collection<String> values)
            throws Exception {
        List<Future<?>> sent = new ArrayList<>();
        for (String value : values) sent.add(producer.send(new ProducerRecord<>(topic, partition, null, value.getBytes())));
        for (Future<?> one : sent) one.get();
    }

    private String topic(String what, int partitions, int records) throws Exception {
        String topic = name(what);
        admin.createTopics(Collections.singleton(new NewTopic(topic, partitions, (short) 1))).all().get();
        send(producer, topic, 0, numbered(0, records));
        return topic;
    }

    private static Set<TopicPartition> partitions(Collection<String> topics, int count) {
        Set<TopicPartition> all = new HashSet<>();
        for (String topic : topics) for (int p = 0; p < count; p++) all.add(new TopicPartition(topic, p));
        return all;
    }

    /**
     * Polls the members at the same time, as members in programs of their own do.
     *
     * <p>In 1.1.1 a poll ends with the rebalance only, so who is done goes on while another is not.
     */
    private List<ConsumerRecord<byte[], byte[]>> pollAll(List<Member> members) throws Exception {
        List<ConsumerRecord<byte[], byte[]>> found = new ArrayList<>();
        Map<Member, Future<List<ConsumerRecord<byte[], byte[]>>>> polls = new LinkedHashMap<>();
        for (Member member : members) polls.put(member, threads.submit(() -> member.poll(100)));
        for (int waited = 0; !polls.isEmpty(); waited++) {
            Thread.sleep(5);
            boolean again = waited % 50 == 49;
            for (Member member : members) {
                Future<List<ConsumerRecord<byte[], byte[]>>> poll = polls.get(member);
                if (poll != null && poll.isDone()) {
                    found.addAll(poll.get());
                    polls.remove(member);
                } else if (poll == null && again) {
                    polls.put(member, threads.submit(() -> member.poll(100)));
                }
            }
        }
        return found;
    }

    private void await(String what, BooleanSupplier holds, Member... members) throws Exception {
        long deadline = System.currentTimeMillis() + WAIT_MS;
        while (!holds.getAsBoolean()) {
            if (System.currentTimeMillis() > deadline) {
                List<Object> owned = new ArrayList<>();
                for (Member member : members) owned.add(member.owned());
                throw new AssertionError("never: " + what + "; owned: " + owned);
            }
            pollAll(Arrays.asList(members));
        }
    }

    private List<ConsumerRecord<byte[], byte[]>> read(Member member, int count) throws Exception {
        List<ConsumerRecord<byte[], byte[]>> found = new ArrayList<>();
        long deadline = System.currentTimeMillis() + WAIT_MS;
        while (found.size() < count) {
            check(System.currentTimeMillis() < deadline, found.size() + " of " + count + " records");
            found.addAll(member.poll(100));
        }
        check(found.size() == count, found.size() + " records instead of " + count);
        return found;
    }

    private void shared(String assignor, int fewer, int more) throws Exception {
        List<String> topics = Arrays.asList(topic("shared-1", 3, 0), topic("shared-2", 3, 0));
        Set<TopicPartition> every = partitions(topics, 3);
        String group = name("shared");
        Member one = new Member(group, topics, "partition.assignment.strategy", assignor);
        await("the first member owns all", () -> one.owned().equals(every), one);
        Member two = new Member(group, topics, "partition.assignment.strategy", assignor);
        await("two members share as expected", () -> {
            Set<TopicPartition> both = one.owned();
            both.addAll(two.owned());
            int a = one.owned().size(), b = two.owned().size();
            return both.equals(every) && Math.min(a, b) == fewer && Math.max(a, b) == more;
        }, one, two);
        Set<TopicPartition> kept = one.owned();
        for (TopicPartition p : every) send(producer, p.topic(), p.partition(), Collections.singleton("x"));
        Set<TopicPartition> seen = new HashSet<>();
        long deadline = System.currentTimeMillis() + WAIT_MS;
        while (seen.size() < 6 && System.currentTimeMillis() < deadline)
            pollAll(Arrays.asList(one, two)).forEach(r -> seen.add(new TopicPartition(r.topic(), r.partition())));
        check(seen.equals(every), "read only " + seen);
        one.revoked.clear();
        two.close();
        await("who stays owns all", () -> one.owned().equals(every), one);
        if (assignor.equals(COOPERATIVE)) {
            kept.retainAll(one.revoked);
            check(kept.isEmpty(), "revoked for no reason: " + kept);
        }
    }

    private void staticMember() throws Exception {
        List<String> topics = Collections.singletonList(topic("static", 4, 0));
        String group = name("static");
        Member one = new Member(group, topics, "group.instance.id", "one");
        Member two = new Member(group, topics, "group.instance.id", "two");
        await("two static members with two each", () -> one.owned().size() == 2 && two.owned().size() == 2, one, two);
        Set<TopicPartition> had = two.owned();
        one.events.clear();
        two.close();
        Member again = new Member(group, topics, "group.instance.id", "two");
        await("who came back has what it had", () -> again.owned().equals(had), one, again);
        for (int i = 0; i < 5; i++) one.poll(100);
        check(one.events.isEmpty(), "the other member was disturbed: " + one.events);
    }

    private interface Commit {
        void commit(Member member, TopicPartition partition) throws Exception;
    }

    private void commit(int expected, Commit commit) throws Exception {
        String topic = topic("commit", 1, 10), group = name("commit");
        TopicPartition partition = new TopicPartition(topic, 0);
        Member one = new Member(group, Collections.singleton(topic));
        check(values(read(one, 10)).equals(numbered(0, 10)), "other records");
        commit.commit(one, partition);
        check(Long.valueOf(expected).equals(one.committed(partition)), "committed: " + one.committed(partition));
        send(producer, topic, 0, numbered(10, 5));
        one.close();
        Member two = new Member(group, Collections.singleton(topic));
        check(values(read(two, 15 - expected)).equals(numbered(expected, 15 - expected)), "other records");
    }

    private void commitAsync(Member member, TopicPartition partition) throws Exception {
        List<String> answers = new CopyOnWriteArrayList<>();
        member.consumer.commitAsync((offsets, error) -> answers.add(String.valueOf(error)));
        await("the answer to a commit", () -> !answers.isEmpty(), member);
        check(answers.equals(Collections.singletonList("null")), answers);
    }

    private void seek() throws Exception {
        String topic = topic("seek", 1, 10);
        Member one = new Member(name("seek"), Collections.singleton(topic));
        read(one, 10);
        one.consumer.seek(new TopicPartition(topic, 0), 4);
        check(values(read(one, 6)).equals(numbered(4, 6)), "other records");
    }

    private void pauseResume() throws Exception {
        String topic = topic("pause", 2, 3);
        Set<TopicPartition> first = Collections.singleton(new TopicPartition(topic, 0));
        Member one = new Member(name("pause"), Collections.singleton(topic));
        read(one, 3);
        one.consumer.pause(first);
        for (int p = 0; p < 2; p++) send(producer, topic, p, numbered(0, 2));
        List<ConsumerRecord<byte[], byte[]>> found = read(one, 2);
        for (int i = 0; i < 5; i++) found.addAll(one.poll(100));
        for (ConsumerRecord<byte[], byte[]> record : found) check(record.partition() == 1, "read a paused partition");
        one.consumer.resume(first);
        for (ConsumerRecord<byte[], byte[]> record : read(one, 2)) check(record.partition() == 0, "of 1");
    }

    private void rebalanceCallbacks() throws Exception {
        String topic = topic("callbacks", 4, 0), group = name("callbacks");
        Member one = new Member(group, Collections.singleton(topic));
        await("all assigned", () -> one.events.contains("assigned 4"), one);
        one.events.clear();
        Member two = new Member(group, Collections.singleton(topic));
        await("two each", () -> one.owned().size() == 2 && two.owned().size() == 2, one, two);
        check(one.events.equals(Arrays.asList("revoked 4", "assigned 2")), one.events);
        one.events.clear();
        two.close();
        await("all again", () -> one.owned().size() == 4, one);
        check(one.events.equals(Arrays.asList("revoked 2", "assigned 4")), one.events);
    }

    private void closeAtOnce() throws Exception {
        String topic = topic("close", 4, 0), group = name("close");
        Member one = new Member(group, Collections.singleton(topic));
        Member two = new Member(group, Collections.singleton(topic));
        await("two each", () -> one.owned().size() == 2 && two.owned().size() == 2, one, two);
        long took = two.close();
        check(took < CLOSE_MS, "close() took " + took + " ms");
        long since = System.currentTimeMillis();
        await("who stays owns all", () -> one.owned().size() == 4, one);
        took = System.currentTimeMillis() - since;
        check(took < 5_000, "the partitions came after " + took + " ms");
        took = one.close();
        check(took < CLOSE_MS, "close() of the last member took " + took + " ms");
    }

    private void transform() throws Exception {
        String source = topic("source", 1, 10), target = topic("target", 1, 0), group = name("transform");
        TopicPartition partition = new TopicPartition(source, 0);
        Member one = new Member(group, Collections.singleton(source));
        List<String> upper = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> transactions = transactional(name("transform"))) {
            for (String value : values(read(one, 10))) upper.add(value.toUpperCase());
            transactions.beginTransaction();
            send(transactions, target, 0, upper);
            era.sendOffsets(
                    transactions, one.consumer, group, Collections.singletonMap(partition, new OffsetAndMetadata(10)));
            transactions.commitTransaction();
        }
        // the coordinator of transactions answers before its markers are everywhere
        await("the offset is committed", () -> Long.valueOf(10).equals(one.committed(partition)), one);
        Member reader = new Member(name("reader"), Collections.singleton(target), "isolation.level", "read_committed");
        check(values(read(reader, 10)).equals(upper), "other records");
    }

    private void abort() throws Exception {
        String source = topic("source", 1, 3), topic = topic("abort", 1, 0), group = name("abort");
        TopicPartition partition = new TopicPartition(source, 0);
        Member one = new Member(group, Collections.singleton(source));
        read(one, 3);
        try (KafkaProducer<byte[], byte[]> transactions = transactional(name("abort"))) {
            transactions.beginTransaction();
            send(transactions, topic, 0, numbered(0, 5));
            era.sendOffsets(
                    transactions, one.consumer, group, Collections.singletonMap(partition, new OffsetAndMetadata(3)));
            transactions.abortTransaction();
            transactions.beginTransaction();
            send(transactions, topic, 0, numbered(5, 5));
            transactions.commitTransaction();
        }
        Member reader = new Member(name("reader"), Collections.singleton(topic), "isolation.level", "read_committed");
        check(values(read(reader, 5)).equals(numbered(5, 5)), "other records");
        Member dirty = new Member(name("reader"), Collections.singleton(topic));
        check(values(read(dirty, 10)).equals(numbered(0, 10)), "other records");
        check(one.committed(partition) == null, "an aborted offset is committed");
    }

    private static boolean isFenced(Throwable error) {
        for (Throwable e = error; e != null; e = e.getCause())
            if (e instanceof ProducerFencedException || e.getClass().getSimpleName().equals("InvalidProducerEpochException"))
                return true;
        return false;
    }

    private void fencing() throws Exception {
        String topic = topic("fencing", 1, 0), id = name("fencing");
        KafkaProducer<byte[], byte[]> zombie = transactional(id);
        zombie.beginTransaction();
        send(zombie, topic, 0, Collections.singleton("zombie"));
        try (KafkaProducer<byte[], byte[]> successor = transactional(id)) {
            successor.beginTransaction();
            send(successor, topic, 0, Collections.singleton("successor"));
            successor.commitTransaction();
        }
        boolean fenced = false;
        try {
            send(zombie, topic, 0, Collections.singleton("zombie again"));
            zombie.commitTransaction();
        } catch (Exception e) {
            if (!isFenced(e)) throw e;
            fenced = true;
        }
        check(fenced, "the zombie committed");
        zombie.close();
        Member reader = new Member(name("reader"), Collections.singleton(topic), "isolation.level", "read_committed");
        check(values(read(reader, 1)).equals(Collections.singletonList("successor")), "other records");
    }

    private Member member(String topic, String group) throws Exception {
        Member one = new Member(group, Collections.singleton(topic));
        read(one, 5);
        one.consumer.commitSync();
        return one;
    }

    private void listGroups() throws Exception {
        String group = name("list");
        member(topic("list", 1, 5), group);
        check(era.groups(admin).contains(group), "not listed");
    }

    private void describeGroup() throws Exception {
        String group = name("describe");
        Member one = member(topic("describe", 1, 5), group);
        check(era.describe(admin, group).equals("Stable 1"), era.describe(admin, group));
        one.close();
        check(era.describe(admin, group).equals("Empty 0"), era.describe(admin, group));
    }

    private void deleteGroup() throws Exception {
        String group = name("delete");
        Member one = member(topic("delete", 1, 5), group);
        boolean refused = false;
        try {
            era.delete(admin, group);
        } catch (Exception e) {
            check(String.valueOf(e).contains("GroupNotEmpty"), e);
            refused = true;
        }
        check(refused, "a group with a member was deleted");
        one.close();
        era.delete(admin, group);
        check(!era.groups(admin).contains(group), "still there");
    }

    private void alterOffsets() throws Exception {
        String topic = topic("alter", 1, 5), group = name("alter");
        TopicPartition partition = new TopicPartition(topic, 0);
        member(topic, group).close();
        era.alter(admin, group, partition, 2);
        check(Long.valueOf(2).equals(era.offsetOf(admin, group, partition)), era.offsetOf(admin, group, partition));
        Member two = new Member(group, Collections.singleton(topic));
        check(values(read(two, 3)).equals(numbered(2, 3)), "other records");
    }

    private void deleteOffsets() throws Exception {
        String topic = topic("forget", 1, 5), group = name("forget");
        TopicPartition partition = new TopicPartition(topic, 0);
        member(topic, group).close();
        check(Long.valueOf(5).equals(era.offsetOf(admin, group, partition)), era.offsetOf(admin, group, partition));
        era.deleteOffset(admin, group, partition);
        check(era.offsetOf(admin, group, partition) == null, "still there");
    }

    private void report(String step) {
        long since = System.nanoTime();
        String ok = "true", why = "";
        String lacks = era.lacks(step);
        try {
            if (lacks == null) {
                steps.get(step).run();
            } else {
                ok = "\"skipped\"";
                why = lacks;
            }
        } catch (Throwable e) {
            e.printStackTrace();
            ok = "false";
            why = String.valueOf(e);
        }
        long ms = (System.nanoTime() - since) / 1_000_000;
        why = why.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\p{Cntrl}", " ");
        System.out.println(
                "{\"step\": \"" + step + "\", \"ok\": " + ok + ", \"why\": \"" + why + "\", \"ms\": " + ms + "}");
        for (Member member : new ArrayList<>(open)) member.close();
    }

    public static void main(String[] arguments) {
        Conformance suite = new Conformance(arguments[0]);
        List<String> wanted = Arrays.asList(arguments).subList(1, arguments.length);
        for (String step : wanted.isEmpty() ? suite.steps.keySet() : wanted) suite.report(step);
        suite.producer.close();
        suite.admin.close();
        System.exit(0);
    }
}

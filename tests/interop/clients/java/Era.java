import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;

/** What the Java client calls differently in its versions, or has in the later ones only. */
interface Era {
    /** Null where the version has the step, else what it lacks. */
    String lacks(String step);

    ConsumerRecords<byte[], byte[]> poll(KafkaConsumer<byte[], byte[]> consumer, long ms);

    OffsetAndMetadata committed(KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition);

    void sendOffsets(
            KafkaProducer<byte[], byte[]> producer,
            KafkaConsumer<byte[], byte[]> consumer,
            String group,
            Map<TopicPartition, OffsetAndMetadata> offsets);

    Set<String> groups(AdminClient admin) throws Exception;

    /** State and number of members. */
    String describe(AdminClient admin, String group) throws Exception;

    void delete(AdminClient admin, String group) throws Exception;

    void alter(AdminClient admin, String group, TopicPartition partition, long offset) throws Exception;

    void deleteOffset(AdminClient admin, String group, TopicPartition partition) throws Exception;

    /** Null where there is none. */
    Long offsetOf(AdminClient admin, String group, TopicPartition partition) throws Exception;
}

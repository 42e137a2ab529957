// Writes the lines of a file in transactions of 500, each after an aborted one: BOOTSTRAP TOPIC FILE.
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

public class Transact {
    public static void main(String[] args) throws Exception {
        Properties p = new Properties();
        p.put("bootstrap.servers", args[0]);
        p.put("transactional.id", "java-" + args[1]);
        p.put("linger.ms", "5");
        List<String> lines = Files.readAllLines(Path.of(args[2]));
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(p, new StringSerializer(), new StringSerializer())) {
            producer.initTransactions();
            for (int at = 0; at < lines.size(); at += 500) {
                for (String prefix : new String[] {"aborted-", ""}) {
                    producer.beginTransaction();
                    List<Future<?>> sent = new ArrayList<>();
                    for (String line : lines.subList(at, Math.min(at + 500, lines.size()))) {
                        sent.add(producer.send(new ProducerRecord<>(args[1], prefix + line)));
                    }
                    for (Future<?> each : sent) {
                        each.get();
                    }
                    if (prefix.isEmpty()) {
                        producer.commitTransaction();
                    } else {
                        producer.abortTransaction();
                    }
                }
            }
        }
    }
}

// Writes or reads one topic with kafkajs: produce|transact|consume BOOTSTRAP TOPIC FILE COUNT.
const fs = require('fs');
const { Kafka, Partitioners, logLevel } = require('kafkajs');

const [verb, bootstrap, topic, path, countText] = process.argv.slice(2);
const kafka = new Kafka({ clientId: 'kafkajs', brokers: bootstrap.split(','), logLevel: logLevel.ERROR });

async function produce() {
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await producer.connect();
  const lines = fs.readFileSync(path, 'utf8').split('\n').filter((l) => l !== '');
  for (let i = 0; i < lines.length; i += 2000) {
    await producer.send({ topic, acks: -1, messages: lines.slice(i, i + 2000).map((value) => ({ value })) });
  }
  await producer.disconnect();
}

// In transactions of COUNT lines, each after one that is aborted.
async function transact() {
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner, transactionalId: `kafkajs-${topic}`, maxInFlightRequests: 1, idempotent: true });
  await producer.connect();
  const lines = fs.readFileSync(path, 'utf8').split('\n').filter((l) => l !== '');
  for (let i = 0; i < lines.length; i += Number(countText)) {
    for (const prefix of ['aborted-', '']) {
      const transaction = await producer.transaction();
      await transaction.send({ topic, acks: -1, messages: lines.slice(i, i + Number(countText)).map((line) => ({ value: prefix + line })) });
      await (prefix === '' ? transaction.commit() : transaction.abort());
    }
  }
  await producer.disconnect();
}

async function consume() {
  let left = Number(countText);
  const out = fs.openSync(path, 'w');
  const consumer = kafka.consumer({ groupId: `kafkajs-${topic}` });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${left} records missing after 120 s`)), 120000);
    consumer.run({
      eachBatch: async ({ batch }) => {
        fs.writeSync(out, batch.messages.map((m) => m.value.toString() + '\n').join(''));
        left -= batch.messages.length;
        if (left <= 0) { clearTimeout(timer); resolve(); }
      },
    }).catch(reject);
  });
  await consumer.disconnect();
  fs.closeSync(out);
}

({ produce, transact, consume })[verb]().then(() => process.exit(0), (e) => { console.error(e); process.exit(1); });

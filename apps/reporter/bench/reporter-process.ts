// The reporter as a process of its own: argv[2] is {databaseUrl, natsUrl}. Says `ready` and runs until its standard input ends.
import { connectBus } from '@roundsman/bus';
import { service } from '@roundsman/reporter';
import { makeLogger, runServices } from '@roundsman/service';

const { databaseUrl, natsUrl } = JSON.parse(process.argv[2]!) as { databaseUrl: string; natsUrl: string };
const running = await runServices([{ definition: service }], {
  env: {},
  log: makeLogger({ level: 'warn', format: 'pretty' }),
  databaseUrl,
  connect: (identity) => connectBus({ servers: natsUrl, identity }),
});
console.log('ready');
process.stdin.on('end', () => {
  const { user, system } = process.cpuUsage();
  console.log(JSON.stringify({ cpuSeconds: (user + system) / 1e6, rssMiB: Math.round(process.memoryUsage.rss() / 1048576) }));
  void running.stop().then(() => process.exit(0));
});
process.stdin.resume();

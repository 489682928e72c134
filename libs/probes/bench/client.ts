// One measured run of the engine in its own process: argv[2] is {target, inFlight, durationMs, warmUpMs}.
import type { ProbeTarget } from '@roundsman/api';
import { runMaximum } from '@roundsman/probes';

const job = JSON.parse(process.argv[2]!) as { target: ProbeTarget; inFlight: number; durationMs: number; warmUpMs: number };
const ctx = { signal: new AbortController().signal };
const once = (durationMs: number) => runMaximum(job.target, { inFlight: job.inFlight, durationMs, timeoutMs: 2000 }, { successRate: 1 }, {}, ctx);
await once(job.warmUpMs);
const cpu = process.cpuUsage();
const started = performance.now();
const result = await once(job.durationMs);
const seconds = (performance.now() - started) / 1000;
const used = process.cpuUsage(cpu);
console.log(JSON.stringify({ share: (used.user + used.system) / 1e6 / seconds, perSecond: result.succeeded / seconds, failed: result.failed, errors: result.errors, p99Us: result.latency.maxUs, phases: result.phases }));

// One paced round in its own process: argv[2] is {target, perSecond, seconds}.
import type { ProbeTarget } from '@roundsman/api';
import { percentiles } from '@roundsman/measure';
import { runTarget } from '@roundsman/probes';

const job = JSON.parse(process.argv[2]!) as { target: ProbeTarget; perSecond: number; seconds: number };
const budget = { durationMs: job.seconds * 1000, qps: job.perSecond, timeoutMs: 2000 };
const cpu = process.cpuUsage();
const started = performance.now();
const { planned, sent, succeeded, sendLag } = await runTarget(job.target, budget, { successRate: 1 }, {}, { signal: new AbortController().signal });
const used = process.cpuUsage(cpu);
const share = (used.user + used.system) / 1000 / (performance.now() - started);
console.log(JSON.stringify({ planned, sent, succeeded, share, lagP99Us: percentiles(sendLag).p99Us }));

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ProbeTarget } from '@roundsman/api';
import { figure, main, type Figure } from './figure.ts';
import { installed, interleaved, ours, startPeer, tool } from './process.ts';

const seconds = 3;

/** DNS over UDP at full speed, 64 in flight: client on core 0, server on core 1. */
export async function run(): Promise<Figure[]> {
  for (const need of ['dnsperf', 'taskset', 'go']) if (!installed(need)) throw new Error(`the DNS benchmark needs ${need}; on Debian: apt-get install dnsperf util-linux golang`);
  const folder = mkdtempSync(join(tmpdir(), 'roundsman-bench-'));
  const names = join(folder, 'names');
  writeFileSync(names, 'kubernetes.default.svc.cluster.local A\n');
  const server = await startPeer('dns');
  const target: ProbeTarget = { id: 'dns', layer: 'dns', probe: 'dns', server: '127.0.0.1', port: server.port, protocol: 'udp', domain: 'kubernetes.default.svc.cluster.local', recordType: 'A', hasTls: false };
  try {
    const rows = await interleaved(server, {
      ours: () => ours({ target, inFlight: 64, durationMs: seconds * 1000, warmUpMs: 2000 }),
      dnsperf: () => tool(/Queries per second:\s+([\d.]+)/, 'dnsperf', ['-s', '127.0.0.1', '-p', String(server.port), '-d', names, '-q', '64', '-c', '1', '-T', '1', '-l', String(seconds)]),
    });
    return [figure('DNS over UDP, 64 in flight', 'queries/s', rows.ours!, 'dnsperf', rows.dnsperf!, 0.7)];
  } finally {
    server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) await main(run);

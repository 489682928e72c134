import type { ProbeTarget } from '@roundsman/api';
import { figure, main, type Figure } from './figure.ts';
import { installed, interleaved, ours, startPeer, tool } from './process.ts';

const seconds = 3;

function target(url: string, http2: boolean): ProbeTarget {
  return { id: 'url', layer: 'url', probe: 'http', url, method: 'GET', headers: [], http2, hasBody: false, hasTls: false };
}

function engine(url: string, http2 = false) {
  return async () => {
    const run = await ours({ target: target(url, http2), inFlight: 64, durationMs: seconds * 1000, warmUpMs: 2000 });
    if (run.failed > 0) throw new Error(`${run.failed} requests to ${url} failed`);
    return run;
  };
}

const rate = /Requests\/sec:\s+([\d.]+)/;

/** HTTP/1.1, HTTPS and HTTP/2 at full speed, 64 in flight: client on core 0, server on core 1. */
export async function run(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const need of ['hey', 'wrk', 'taskset', 'go']) if (!installed(need)) throw new Error(`the HTTP benchmark needs ${need}; on Debian: apt-get install hey wrk util-linux golang`);
  const raw = await startPeer('raw');
  const url = `http://127.0.0.1:${raw.port}/`;
  const plain = await interleaved(raw, {
    ours: engine(url),
    hey: () => tool(rate, 'hey', ['-z', `${seconds}s`, '-c', '64', '-cpus', '1', url]),
    wrk: () => tool(rate, 'wrk', ['-t1', '-c64', `-d${seconds}s`, url]),
  });
  raw.stop();
  figures.push(figure('HTTP/1.1, 64 connections', 'requests/s', plain.ours!, 'hey', plain.hey!, 2), figure('HTTP/1.1, 64 connections', 'requests/s', plain.ours!, 'wrk', plain.wrk!, 0.8));
  const tls = await startPeer('https');
  const secureUrl = `https://127.0.0.1:${tls.port}/`;
  const secure = await interleaved(tls, { ours: engine(secureUrl), hey: () => tool(rate, 'hey', ['-z', `${seconds}s`, '-c', '64', '-cpus', '1', secureUrl]) });
  figures.push(figure('HTTPS, 64 connections', 'requests/s', secure.ours!, 'hey', secure.hey!, 1));
  const h2 = await interleaved(tls, { ours: engine(secureUrl, true), hey: () => tool(rate, 'hey', ['-z', `${seconds}s`, '-c', '64', '-cpus', '1', '-h2', secureUrl]) });
  figures.push(figure('HTTP/2 over TLS, 64 in flight', 'requests/s', h2.ours!, 'hey -h2', h2.hey!, 1));
  tls.stop();
  return figures;
}

if (import.meta.main) await main(run);

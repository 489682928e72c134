import { createServer, type RequestListener, type Server } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { container, podOf } from '../testing/runs.ts';
import { healthRequest, healthStatus } from './grpc.ts';
import { probeHttp } from './http.ts';
import { failure, success, type Outcome } from './outcome.ts';
import { portNumber } from './port.ts';
import { count, unprobed } from './probe-run.ts';
import { probeTcp } from './tcp.ts';

const spec = podOf({ containers: [container('a', { ports: [{ name: 'web', containerPort: 8080 }] })] }).spec.containers[0]!;

describe('what tries of a probe add up to', () => {
  const verdicts = (outcomes: readonly Outcome[], thresholds: { successThreshold: number; failureThreshold: number }) => {
    let state = unprobed;
    return outcomes.map((outcome) => (state = count(state, outcome, thresholds)).verdict);
  };
  const bad = failure('x');
  const unknown: Outcome = { result: 'unknown', message: '' };

  it('is a verdict when enough in a row say the same', () => {
    expect(verdicts([bad, bad, bad, success, bad], { successThreshold: 1, failureThreshold: 3 })).toEqual([undefined, undefined, false, true, true]);
    expect(verdicts([success, success, bad, success, bad, bad], { successThreshold: 2, failureThreshold: 2 })).toEqual([undefined, true, true, true, true, false]);
    expect(verdicts([bad, unknown, bad], { successThreshold: 1, failureThreshold: 2 })).toEqual([undefined, undefined, false]);
    expect(verdicts([{ result: 'warning', message: '' }], { successThreshold: 1, failureThreshold: 1 })).toEqual([true]);
  });
});

describe('ports', () => {
  it('are numbers or names', () => {
    expect([portNumber('web', spec), portNumber(9, spec), portNumber('90', spec)]).toEqual([8080, 9, 90]);
    expect(() => portNumber('none', spec)).toThrow('couldn\'t find port: "none"');
    expect(() => portNumber(70_000, spec)).toThrow('invalid port number: 70000');
  });
});

describe('HTTP', () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
  });
  const serve = async (answer: RequestListener): Promise<number> => {
    const server = createServer(answer);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as { port: number }).port;
  };
  const probe = (port: number, more: object = {}, signal = AbortSignal.timeout(5_000)) => probeHttp({ port, path: '/', scheme: 'HTTP', ...more }, spec, '127.0.0.1', signal);

  it('200 to 399 succeed; others fail with their status; headers are sent as asked', async () => {
    let seen: Record<string, unknown> = {};
    const port = await serve((request, response) => {
      seen = request.headers;
      response.writeHead(Number(request.url?.slice(1) || 200)).end('body');
    });
    expect(await probe(port)).toEqual(success);
    expect(seen).toMatchObject({ 'user-agent': 'kube-probe/1.32', accept: '*/*', host: `127.0.0.1:${port}` });
    expect(await probe(port, { path: '404' })).toEqual(failure('HTTP probe failed with statuscode: 404'));
    expect((await probe(port, { path: '/399' })).result).toBe('success');
    await probe(port, { httpHeaders: [{ name: 'Host', value: 'example.org' }, { name: 'User-Agent', value: '' }, { name: 'X-Many', value: '1' }, { name: 'x-many', value: '2' }] });
    expect(seen).toMatchObject({ host: 'example.org', 'x-many': '1, 2' });
    expect(seen).not.toHaveProperty('user-agent');
  });

  it('follows redirects on its host only', async () => {
    const port = await serve((request, response) => {
      const to: Record<string, string> = { '/local': '/end', '/away': 'http://example.org/', '/round': '/round' };
      const location = to[request.url ?? ''];
      if (location === undefined) response.writeHead(request.url === '/end' ? 200 : 500).end();
      else response.writeHead(302, { location }).end();
    });
    expect(await probe(port, { path: '/local' })).toEqual(success);
    expect(await probe(port, { path: '/away' })).toMatchObject({ result: 'warning' });
    expect(await probe(port, { path: '/round' })).toEqual(failure(`Get "http://127.0.0.1:${port}/round": stopped after 10 redirects`));
  });

  it('says how a connection failed, as Go does', async () => {
    const silent = await serve(() => undefined);
    expect(await probe(silent, {}, AbortSignal.timeout(50))).toEqual(failure(`Get "http://127.0.0.1:${silent}/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`));
    expect(await probe(1)).toEqual(failure('Get "http://127.0.0.1:1/": dial tcp 127.0.0.1:1: connect: connection refused', true));
    expect(await probeTcp({ port: 1 }, spec, '127.0.0.1', AbortSignal.timeout(5_000))).toEqual(failure('dial tcp 127.0.0.1:1: connect: connection refused', true));
    expect(await probeTcp({ port: silent }, spec, '127.0.0.1', AbortSignal.timeout(5_000))).toEqual(success);
  });
});

describe('gRPC', () => {
  it('is spoken with the one message of the health service', () => {
    expect([...healthRequest('')]).toEqual([0, 0, 0, 0, 0]);
    expect([...healthRequest('ab')]).toEqual([0, 0, 0, 0, 4, 0x0a, 2, 0x61, 0x62]);
    expect([healthStatus(Buffer.from([0, 0, 0, 0, 2, 8, 1])), healthStatus(Buffer.from([0, 0, 0, 0, 0]))]).toEqual([1, 0]);
  });
});

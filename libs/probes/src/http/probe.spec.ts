import { once } from 'node:events';
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http';
import { createSecureServer } from 'node:http2';
import { createServer as createHttps } from 'node:https';
import { createServer as createTcp, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { httpTargetSchema, targetResultSchema, type HttpTarget, type Materials, type RequestBudget, type SuccessCondition, type TargetResult } from '@roundsman/api';
import { runTarget } from '../round.ts';
import { closeAll, listen } from '../testing/listen.ts';
import { makePki, type TestPki } from '../testing/certificates.ts';

afterEach(closeAll);

interface Run {
  target?: Partial<HttpTarget>;
  budget?: Partial<RequestBudget>;
  expect?: SuccessCondition;
  materials?: Materials;
  limits?: { connections?: number; inFlight?: number };
}

/** 20 requests in 200 ms unless told otherwise; an answer may take as long as this machine does. */
async function probe(url: string, run: Run = {}): Promise<TargetResult> {
  const target = httpTargetSchema.parse({ id: 'url', layer: 'url', probe: 'http', url, ...run.target });
  const budget = { durationMs: 200, qps: 100, timeoutMs: 10_000, ...run.budget };
  const result = await runTarget(target, budget, run.expect ?? { successRate: 1 }, run.materials ?? {}, { signal: new AbortController().signal, ...(run.limits === undefined ? {} : { limits: run.limits }) });
  expect(result.planned).toBe(result.sent + result.unsent);
  expect(result.sent).toBe(result.succeeded + result.failed);
  expect(result.latency.count).toBe(result.succeeded);
  expect(result.sendLag.count === result.sent || result.sendLag.count === 0).toBe(true);
  return targetResultSchema.parse(result);
}

/** A server that answers each request by `answer` and keeps what it got. */
async function http(answer: (request: IncomingMessage, response: ServerResponse, body: string) => void) {
  const received: { method: string; url: string; headers: string[]; body: string }[] = [];
  const connections = new Set<Socket>();
  const server = createHttp((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const body = Buffer.concat(parts).toString();
      received.push({ method: request.method!, url: request.url!, headers: request.rawHeaders, body });
      answer(request, response, body);
    });
  });
  server.on('connection', (socket: Socket) => connections.add(socket));
  const port = await listen(server);
  return { url: `http://127.0.0.1:${port}`, received, connections, server };
}

/** A server that gets each whole request head as text and writes what it likes. */
async function raw(serve: (head: string, socket: Socket, nth: number) => void): Promise<{ url: string; requests: () => number; connections: () => number }> {
  let requests = 0;
  let connections = 0;
  const port = await listen(createTcp((socket) => {
    connections += 1;
    let held = '';
    socket.on('data', (data: Buffer) => {
      held += data.toString('latin1');
      for (let end = held.indexOf('\r\n\r\n'); end >= 0; end = held.indexOf('\r\n\r\n')) {
        const head = held.slice(0, end);
        held = held.slice(end + 4);
        serve(head, socket, ++requests);
      }
    });
  }));
  return { url: `http://127.0.0.1:${port}/`, requests: () => requests, connections: () => connections };
}

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

describe('HTTP/1.1', () => {
  it('sends exactly the budget over kept connections, and the server got exactly that', async () => {
    const server = await http((_, response) => response.end('hello'));
    const result = await probe(`${server.url}/path?q=1`, { budget: { qps: 200, durationMs: 300 }, limits: { connections: 30 } });
    expect(result).toMatchObject({ planned: 60, sent: 60, unsent: 0, succeeded: 60, failed: 0, bytes: 300, ok: true, statusCodes: { '200': 60 }, errors: {}, failures: [], family: 'v4', method: 'GET' });
    expect(server.received).toHaveLength(60);
    expect(server.received[0]).toMatchObject({ method: 'GET', url: '/path?q=1' });
    expect(server.connections.size).toBeLessThanOrEqual(30);
    expect(result.phases.connect!.count).toBe(server.connections.size);
    expect(result.phases.firstByte!.count).toBe(60);
    expect(result.phases.transfer!.count).toBe(60);
    expect(result.phases.tls).toBeUndefined();
  });

  it('closes its connections at the end', async () => {
    const server = await http((_, response) => response.end());
    await probe(server.url);
    await Promise.all([...server.connections].map((socket) => (socket.closed ? undefined : once(socket, 'close'))));
    expect(await new Promise((resolve) => server.server.getConnections((_, count) => resolve(count)))).toBe(0);
  });

  it('counts latency from when a request was due, and only of successes', async () => {
    const server = await http((_, response) => void setTimeout(() => response.end('slow'), 60));
    const result = await probe(server.url, { budget: { qps: 50, durationMs: 200 }, expect: { successRate: 1, meanAccessDelayInMs: 30 } });
    expect(result.latency.minUs).toBeGreaterThanOrEqual(59_000);
    expect(result.ok).toBe(false);
    expect(result.reason).toMatch(/^mean latency \d+\.\d+ ms is above 30 ms$/);
    expect(result.phases.firstByte!.sumUs / result.phases.firstByte!.count).toBeGreaterThan(59_000);
  });

  it('says how many could not be sent when a capped number of connections is too slow', async () => {
    const server = await http((_, response) => void setTimeout(() => response.end('slow'), 200));
    // As much longer as the prober was late it gives to those that wait: with three seconds of that it would still be too slow.
    const result = await probe(server.url, { budget: { qps: 250, durationMs: 200 }, limits: { connections: 2 } });
    expect(result.planned).toBe(50);
    expect(result.unsent).toBeGreaterThan(10);
    expect(result.sent).toBe(server.received.length);
    expect(result.failed).toBe(0);
    expect(result.reason).toMatch(/^success rate .*; \d\d of 50 requests had to wait until the runner had a connection free or made \(at most 2 connections /);
    expect(result.sendLag.maxUs).toBeGreaterThan(50_000);
    // The wait for a free connection is part of the latency.
    expect(result.latency.maxUs).toBeGreaterThan(180_000);
  });

  it('opens as many connections as a slow target needs at that rate', async () => {
    const server = await http((_, response) => void setTimeout(() => response.end('slow'), 400));
    const result = await probe(server.url, { budget: { qps: 600, durationMs: 600 }, expect: { successRate: 1, meanAccessDelayInMs: 1 } });
    expect(result).toMatchObject({ unsent: 0, failed: 0, succeeded: 360 });
    expect(result.phases.connect!.count).toBeGreaterThan(200);
    // Nobody waited for a connection: that would be told here.
    expect(result.reason).toMatch(/^mean latency \d+\.\d+ ms is above 1 ms$/);
  });

  it.each(['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'HEAD'] as const)('speaks %s', async (method) => {
    const server = await http((_, response) => response.end('a body of 18 bytes'));
    const result = await probe(server.url, { target: { method } });
    expect(result).toMatchObject({ succeeded: 20, bytes: method === 'HEAD' ? 0 : 360, method });
    expect(new Set(server.received.map((r) => r.method))).toEqual(new Set([method]));
  });

  it('sends body and headers as given', async () => {
    const body = Buffer.from('{"a":"ü"}'.repeat(20_000));
    const server = await http((request, response, got) => response.writeHead(got === body.toString() ? 200 : 400).end());
    const result = await probe(server.url, { target: { method: 'POST', hasBody: true, headers: [['X-At', '12:30:01'], ['Host', 'shop.example'], ['X-At', 'two']] }, materials: { body: body.toString('base64') }, budget: { qps: 20, durationMs: 500 } });
    expect(result.statusCodes).toEqual({ '200': 10 });
    expect(server.received[0]!.headers).toEqual(['X-At', '12:30:01', 'Host', 'shop.example', 'X-At', 'two', 'User-Agent', 'roundsman', 'Accept', '*/*', 'Content-Length', String(body.length)]);
  });

  it('takes chunked and close-delimited bodies', async () => {
    const chunked = await http((_, response) => {
      response.write('one');
      setImmediate(() => response.end('two'));
    });
    expect(await probe(chunked.url)).toMatchObject({ succeeded: 20, bytes: 120 });
    const closing = await raw((_, socket) => void socket.end('HTTP/1.1 200 OK\r\n\r\nuntil the end'));
    expect(await probe(closing.url)).toMatchObject({ succeeded: 20, bytes: 260 });
    expect(closing.connections()).toBe(20);
  });

  it('takes a large body without keeping it', async () => {
    const block = Buffer.alloc(1 << 20, 'x');
    const server = await http((_, response) => {
      for (let i = 0; i < 8; i++) response.write(block);
      response.end();
    });
    expect(await probe(server.url, { budget: { qps: 10, durationMs: 500 } })).toMatchObject({ succeeded: 5, bytes: 5 * 8 * (1 << 20) });
  });

  it('takes answers that arrive byte by byte, and interim ones', async () => {
    const text = `HTTP/1.1 100 Continue\r\n\r\n${ok}`;
    const server = await raw((_, socket) => {
      socket.setNoDelay(true);
      let at = 0;
      const step = (): void => {
        socket.write(text[at++]!);
        if (at < text.length) setImmediate(step);
      };
      step();
    });
    expect(await probe(server.url, { budget: { qps: 20, durationMs: 500 } })).toMatchObject({ succeeded: 10, statusCodes: { '200': 10 } });
  });

  it('does not follow redirects; 200 to 399 are good unless one status is expected', async () => {
    const server = await http((_, response) => response.writeHead(302, { location: '/elsewhere' }).end());
    expect(await probe(server.url)).toMatchObject({ succeeded: 20, statusCodes: { '302': 20 } });
    expect(server.received.every((r) => r.url === '/')).toBe(true);
    expect(await probe(server.url, { expect: { successRate: 1, statusCode: 200 } })).toMatchObject({ succeeded: 0, errors: { status: 20 }, ok: false });
    const failing = await http((_, response) => response.writeHead(503).end('down'));
    const result = await probe(failing.url);
    expect(result).toMatchObject({ failed: 20, statusCodes: { '503': 20 }, errors: { status: 20 }, bytes: 80 });
    expect(result.failures[0]!.message).toBe('status 503, expected 200 to 399');
    expect(await probe(failing.url, { expect: { successRate: 1, statusCode: 503 } })).toMatchObject({ ok: true, succeeded: 20 });
  });

  it('keeps at most twenty raw failures', async () => {
    const server = await http((_, response) => response.writeHead(500).end());
    const result = await probe(server.url, { budget: { qps: 500, durationMs: 200 } });
    expect(result.failed).toBe(100);
    expect(result.failures).toHaveLength(20);
  });

  it('asks for a tunnel', async () => {
    const port = await listen(createTcp((socket) => {
      socket.once('data', (data: Buffer) => socket.write(/^CONNECT [\w.]+:\d+ HTTP\/1\.1\r\nHost: [\w.]+:\d+\r\n/.test(data.toString()) ? 'HTTP/1.1 200 Connection established\r\n\r\n' : 'HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n'));
    }));
    expect(await probe(`http://127.0.0.1:${port}/`, { target: { method: 'CONNECT' } })).toMatchObject({ succeeded: 20, statusCodes: { '200': 20 } });
  });

  it('connects elsewhere when told to, and keeps the Host', async () => {
    const server = await http((_, response) => response.end());
    const port = Number(new URL(server.url).port);
    const result = await probe('http://echo.roundsman-system.svc/x', { target: { connect: { host: '127.0.0.1', port } } });
    expect(result).toMatchObject({ succeeded: 20, address: 'http://echo.roundsman-system.svc/x' });
    expect(server.received[0]!.headers.slice(0, 2)).toEqual(['Host', 'echo.roundsman-system.svc']);
    expect(result.phases.dns).toBeUndefined();
  });

  it('resolves a name once per round', async () => {
    const server = await http((_, response) => response.end());
    const result = await probe(server.url.replace('127.0.0.1', 'localhost'), { target: { family: 'v4' } });
    expect(result.succeeded).toBe(20);
    expect(result.phases.dns!.count).toBe(1);
  });
});

describe('HTTP failures', () => {
  it('refused', async () => {
    // Nobody listens there.
    const result = await probe('http://127.0.0.1:1/');
    expect(result).toMatchObject({ sent: 20, failed: 20, errors: { refused: 20 }, ok: false, reason: 'success rate 0 (0 of 20) is below 1' });
    expect(result.failures[0]!.message).toContain('ECONNREFUSED');
  });

  it('timeout, while connections that answer are kept', async () => {
    let n = 0;
    const server = await http((_, response) => {
      if (n++ % 2 === 0) response.end('fast');
    });
    const result = await probe(server.url, { budget: { timeoutMs: 2_500 } });
    expect(result).toMatchObject({ succeeded: 10, failed: 10, errors: { timeout: 10 } });
    expect(result.failures[0]!.latencyUs).toBeGreaterThanOrEqual(2_500_000);
    expect(result.failures[0]!.message).toBe('no answer within 2500 ms');
  });

  it('timeout, when the answer is read after it, though no timer said so yet', async () => {
    const real = performance.now.bind(performance);
    let stoodStillMs = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => real() + stoodStillMs);
    try {
      const server = await http((_, response) => {
        // The answer is on its way while this process, and so the prober, stands still for longer than the prober waits.
        stoodStillMs = 60_000;
        response.end('late');
      });
      const result = await probe(server.url, { budget: { timeoutMs: 30_000, qps: 5, durationMs: 200 } });
      expect(result).toMatchObject({ succeeded: 0, failed: 1, errors: { timeout: 1 }, statusCodes: { 200: 1 } });
      expect(result.failures[0]!.message).toBe('answered, but not within 30000 ms');
    } finally {
      clock.mockRestore();
    }
  });

  it('connect-timeout when TLS never begins', async () => {
    const port = await listen(createTcp(() => undefined));
    expect(await probe(`https://127.0.0.1:${port}/`, { budget: { timeoutMs: 60, qps: 20, durationMs: 250 } })).toMatchObject({ failed: 5, errors: { 'connect-timeout': 5 } });
  });

  it('reset and closed in the middle of the body', async () => {
    const resetting = await raw((_, socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart', () => socket.resetAndDestroy()));
    expect(await probe(resetting.url)).toMatchObject({ failed: 20, errors: { reset: 20 } });
    const closing = await raw((_, socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart'));
    const result = await probe(closing.url);
    expect(result).toMatchObject({ failed: 20, errors: { closed: 20 }, bytes: 80 });
    expect(result.failures[0]!.message).toBe('the server closed the connection in the middle of its answer');
  });

  it('closed without an answer on a fresh connection is a failure, not retried', async () => {
    const server = await raw((_, socket) => void socket.end());
    expect(await probe(server.url)).toMatchObject({ failed: 20, errors: { closed: 20 } });
    expect(server.requests()).toBe(20);
  });

  it('a kept connection that the server closed meanwhile is no failure for GET, and one for POST', async () => {
    // Every connection answers once and is closed as soon as the next request arrives: the idle-timeout race, every time.
    const racing = () => {
      const used = new WeakSet<Socket>();
      return raw((_, socket) => {
        if (used.has(socket)) {
          socket.destroy();
          return;
        }
        used.add(socket);
        socket.write(ok);
      });
    };
    const get = await racing();
    expect(await probe(get.url)).toMatchObject({ sent: 20, succeeded: 20, failed: 0 });
    const post = await racing();
    // One connection: a stall of this machine must not spread the requests over several.
    const result = await probe(post.url, { target: { method: 'POST' }, limits: { connections: 1 } });
    expect(result).toMatchObject({ sent: 20, succeeded: 10, failed: 10 });
    expect(post.requests()).toBe(20);
  });

  it('protocol: not HTTP, or bytes that nobody asked for', async () => {
    const other = await raw((_, socket) => void socket.write('220 mail.example ESMTP\r\n'));
    expect(await probe(other.url)).toMatchObject({ failed: 20, errors: { protocol: 20 } });
    const chatty = await raw((_, socket) => void socket.write(`${ok}HTTP/1.1 500 Extra\r\n\r\n`));
    expect(await probe(chatty.url)).toMatchObject({ succeeded: 20, statusCodes: { '200': 20 } });
    expect(chatty.connections()).toBe(20);
  });
});

describe('HTTPS', () => {
  let pki: TestPki;
  beforeAll(async () => {
    pki = await makePki();
  });

  async function https(options: { requestCert?: boolean } = {}) {
    const names = new Set<unknown>();
    const server = createHttps({ ...pki.server, ca: pki.ca, requestCert: options.requestCert ?? false, rejectUnauthorized: options.requestCert ?? false }, (request, response) => {
      names.add((request.socket as TLSSocket).servername);
      response.end('secure');
    });
    return { port: await listen(server), names };
  }

  it('does not verify without a CA', async () => {
    const { port, names } = await https();
    const result = await probe(`https://127.0.0.1:${port}/`);
    expect(result).toMatchObject({ succeeded: 20, bytes: 120 });
    expect(result.phases.tls!.count).toBe(result.phases.connect!.count);
    expect([...names]).toEqual([false]);
  });

  it('verifies with a CA: the chain, and the name without the port', async () => {
    const { port, names } = await https();
    const materials = { tls: { ca: pki.ca } };
    expect(await probe(`https://127.0.0.1:${port}/`, { target: { hasTls: true }, materials })).toMatchObject({ succeeded: 20 });
    expect(await probe(`https://probe.test:${port}/`, { target: { hasTls: true, connect: { host: '127.0.0.1', port } }, materials })).toMatchObject({ succeeded: 20 });
    expect(names.has('probe.test')).toBe(true);
    const wrongName = await probe(`https://other.test:${port}/`, { target: { hasTls: true, connect: { host: '127.0.0.1', port } }, materials });
    expect(wrongName).toMatchObject({ failed: 20, errors: { tls: 20 } });
    expect(wrongName.failures[0]!.message).toContain('other.test');
    const wrongCa = await probe(`https://127.0.0.1:${port}/`, { target: { hasTls: true }, materials: { tls: { ca: (await makePki()).ca } } });
    expect(wrongCa).toMatchObject({ failed: 20, errors: { tls: 20 } });
  });

  it('shows its client certificate', async () => {
    const { port } = await https({ requestCert: true });
    const tls = { ca: pki.ca, ...pki.client };
    expect(await probe(`https://127.0.0.1:${port}/`, { target: { hasTls: true }, materials: { tls } })).toMatchObject({ succeeded: 20 });
    const without = await probe(`https://127.0.0.1:${port}/`, { target: { hasTls: true }, materials: { tls: { ca: pki.ca } } });
    expect(without.succeeded).toBe(0);
    expect(without.failures[0]!.message).toMatch(/certificate|closed|reset/i);
  });

  it('tells a server that does not speak TLS', async () => {
    const server = await raw((_, socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    const plain = createTcp((socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    expect(await probe(`https://127.0.0.1:${await listen(plain)}/`)).toMatchObject({ failed: 20, errors: { tls: 20 } });
    expect(server.requests()).toBe(0);
  });

  describe('HTTP/2', () => {
    type Answer = Parameters<ReturnType<typeof createSecureServer>['on']>[1];

    async function h2(answer: (stream: import('node:http2').ServerHttp2Stream, headers: import('node:http2').IncomingHttpHeaders) => void, settings = {}, allowHTTP1 = false) {
      const server = createSecureServer({ ...pki.server, allowHTTP1, settings });
      let sessions = 0;
      let streams = 0;
      server.on('session', () => (sessions += 1));
      server.on('stream', ((stream: import('node:http2').ServerHttp2Stream, headers: import('node:http2').IncomingHttpHeaders) => {
        streams += 1;
        stream.on('error', () => undefined);
        answer(stream, headers);
      }) as Answer);
      const port = await listen(server);
      return { url: `https://127.0.0.1:${port}`, server, sessions: () => sessions, streams: () => streams };
    }

    const http2 = { target: { http2: true } };

    it('sends exactly the budget as streams of one connection', async () => {
      const seen: import('node:http2').IncomingHttpHeaders[] = [];
      const server = await h2((stream, headers) => {
        seen.push(headers);
        stream.respond({ ':status': 200, 'x-long': 'y'.repeat(3000) });
        stream.end('hello');
      });
      // As many as one connection takes, also where all leave together after a stall.
      const result = await probe(`${server.url}/p?q`, { target: { http2: true, headers: [['X-At', '12:30']] }, budget: { qps: 250, durationMs: 400 } });
      expect(result).toMatchObject({ sent: 100, succeeded: 100, bytes: 500, statusCodes: { '200': 100 } });
      expect(server.streams()).toBe(100);
      expect(server.sessions()).toBe(1);
      expect(seen[0]).toMatchObject({ ':method': 'GET', ':path': '/p?q', ':scheme': 'https', ':authority': server.url.slice(8), 'x-at': '12:30', 'user-agent': 'roundsman' });
      expect(result.phases.tls!.count).toBe(1);
    });

    it.each([204, 301, 404, 418, 503])('reads status %d', async (status) => {
      const server = await h2((stream) => stream.respond({ ':status': status }, { endStream: true }));
      const result = await probe(server.url, http2);
      expect(result.statusCodes).toEqual({ [status]: 20 });
      expect(result.ok).toBe(status < 400);
    });

    it('sends a body larger than the windows, and takes one', async () => {
      const body = Buffer.alloc(300_000, 'b');
      const reply = Buffer.alloc(3_000_000, 'r');
      const server = await h2((stream) => {
        let got = 0;
        stream.on('data', (part: Buffer) => (got += part.length));
        stream.on('end', () => {
          stream.respond({ ':status': got === body.length ? 200 : 400 });
          stream.end(reply);
        });
      }, { initialWindowSize: 20_000 });
      const result = await probe(server.url, { target: { http2: true, method: 'POST', hasBody: true }, materials: { body: body.toString('base64') }, budget: { qps: 40, durationMs: 500, timeoutMs: 10_000 } });
      expect(result).toMatchObject({ succeeded: 20, statusCodes: { '200': 20 }, bytes: 20 * reply.length });
    });

    it('takes trailers and informational answers', async () => {
      const server = await h2((stream) => {
        stream.additionalHeaders({ ':status': 103 });
        stream.respond({ ':status': 200 }, { waitForTrailers: true });
        stream.on('wantTrailers', () => stream.sendTrailers({ done: 'yes' }));
        stream.end('x');
      });
      expect(await probe(server.url, http2)).toMatchObject({ succeeded: 20, bytes: 20 });
    });

    it('opens more connections when one takes too few streams', async () => {
      const server = await h2((stream) => void setTimeout(() => {
        if (stream.destroyed) return;
        stream.respond({ ':status': 200 });
        stream.end();
      }, 100), { maxConcurrentStreams: 3 });
      const result = await probe(server.url, { ...http2, budget: { qps: 100, durationMs: 300 } });
      expect(result).toMatchObject({ sent: 30, succeeded: 30 });
      expect(server.sessions()).toBeGreaterThan(2);
    });

    it.each([1, 3, 10])('never has more streams than the server takes: %d', async (maxConcurrentStreams) => {
      const server = await h2((stream) => void setTimeout(() => {
        if (stream.destroyed) return;
        stream.respond({ ':status': 200 });
        stream.end();
      }, 5), { maxConcurrentStreams });
      const result = await probe(server.url, { ...http2, target: { http2: true, method: 'POST' }, budget: { qps: 150 * maxConcurrentStreams, durationMs: 400, timeoutMs: 10_000 } });
      expect(result.errors).toEqual({});
      // As many connections as are needed, and not one for each request that was due while the first were made.
      expect(server.sessions()).toBeLessThan(150);
      expect(server.streams()).toBe(result.sent);
      expect(result.succeeded).toBe(result.sent);
    });

    it('sends what the server did not touch again, more than once, and gives up on one that never does', async () => {
      let n = 0;
      const often = await h2((stream) => {
        n += 1;
        if (n % 3 !== 0) stream.close(7);
        else stream.respond({ ':status': 200 }, { endStream: true });
      });
      // One after the other: two at a time, after a stall, would share the server's turns in another way.
      const one = { ...http2, target: { http2: true, method: 'POST' as const }, budget: { qps: 20, durationMs: 500 }, limits: { inFlight: 1 } };
      expect(await probe(often.url, one)).toMatchObject({ succeeded: 10, failed: 0 });
      expect(often.streams()).toBe(30);
      const never = await h2((stream) => stream.close(7));
      expect(await probe(never.url, one)).toMatchObject({ succeeded: 0, errors: { reset: 10 } });
      expect(never.streams()).toBe(40);
    });

    it('counts reset streams and timeouts, and goes on', async () => {
      let n = 0;
      const server = await h2((stream) => {
        n += 1;
        if (n % 4 === 0) stream.close(2);
        else if (n % 4 !== 1) {
          stream.respond({ ':status': 200 });
          stream.end();
        }
      });
      const result = await probe(server.url, { ...http2, budget: { timeoutMs: 2_500 } });
      expect(result).toMatchObject({ succeeded: 10, failed: 10, errors: { reset: 5, timeout: 5 } });
      expect(result.failures.find((f) => f.code === 'reset')!.message).toBe('the server reset the stream: INTERNAL_ERROR');
    });

    it('survives a server that goes away politely', async () => {
      const server = await h2((stream) => {
        stream.respond({ ':status': 200 });
        stream.end();
        if (stream.id! >= 9) stream.session!.close();
      });
      const result = await probe(server.url, http2);
      expect(result).toMatchObject({ sent: 20, succeeded: 20 });
      expect(server.sessions()).toBeGreaterThan(1);
    });

    it('falls back to HTTP/1.1 when the server offers no HTTP/2', async () => {
      const { port } = await https();
      expect(await probe(`https://127.0.0.1:${port}/`, http2)).toMatchObject({ sent: 20, succeeded: 20, bytes: 120 });
    });

    it('uses HTTP/1.1 on plain http', async () => {
      const server = await http((_, response) => response.end());
      expect(await probe(server.url, http2)).toMatchObject({ succeeded: 20 });
      expect(server.received).toHaveLength(20);
    });

    it('verifies the server like HTTPS', async () => {
      const server = await h2((stream) => stream.respond({ ':status': 200 }, { endStream: true }));
      const run = (ca: string) => probe(server.url, { target: { http2: true, hasTls: true }, materials: { tls: { ca } } });
      expect(await run(pki.ca)).toMatchObject({ succeeded: 20 });
      expect(await run((await makePki()).ca)).toMatchObject({ failed: 20, errors: { tls: 20 } });
    });
  });
});

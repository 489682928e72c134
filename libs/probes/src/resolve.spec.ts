import { createServer } from 'node:http';
import { createSecureServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { compilePolicy } from '@roundsman/api/policy';
import { httpTargetSchema, type HttpTarget } from '@roundsman/api';
import { ProbeError } from './errors.ts';
import { pin } from './resolve.ts';
import { runTarget } from './round.ts';
import { makePki, type TestPki } from './testing/certificates.ts';
import { closeAll, listen } from './testing/listen.ts';

let pki: TestPki;
beforeAll(async () => {
  pki = await makePki();
});
afterEach(closeAll);

const open = compilePolicy({ deny: [] });
const never = new AbortController().signal;
const pinned = (host: string, family?: 'v4' | 'v6') => pin(host, 80, family, open);

describe('an address', () => {
  it('is taken as it is, in the family asked for only', async () => {
    expect(await pinned('127.0.0.1', 'v4')).toEqual({ address: '127.0.0.1', port: 80, family: 4 });
    expect(await pinned('[fd00::1]', 'v6')).toMatchObject({ address: 'fd00::1', family: 6 });
    await expect(pinned('127.0.0.1', 'v6')).rejects.toEqual(new ProbeError('unresolved', '127.0.0.1 is not an IPv6 address'));
    await expect(pinned('fd00::1', 'v4')).rejects.toThrow('fd00::1 is not an IPv4 address');
  });
});

describe('a name', () => {
  const engines = {
    async 'HTTP/1.1'(hosts: (string | undefined)[]) {
      const port = await listen(createServer((request, response) => (hosts.push(request.headers.host), response.end('x'))));
      return { port, scheme: 'http', http2: false };
    },
    async 'HTTP/2'(hosts: (string | undefined)[]) {
      const server = createSecureServer({ ...pki.server });
      server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
        hosts.push(headers[':authority']);
        stream.on('error', () => undefined);
        stream.respond({ ':status': 200 });
        stream.end('x');
      });
      return { port: await listen(server), scheme: 'https', http2: true };
    },
  };

  for (const [engine, serve] of Object.entries(engines)) {
    it(`is resolved in the family of its target, as URL and as what is connected to: ${engine}`, async () => {
      const hosts: (string | undefined)[] = [];
      // Listens on 127.0.0.1 alone.
      const { port, scheme, http2 } = await serve(hosts);
      const probe = (target: Partial<HttpTarget> & { url: string }) =>
        runTarget(httpTargetSchema.parse({ id: 't', layer: 'ingress', probe: 'http', http2, ...target }), { durationMs: 100, qps: 100, timeoutMs: 10_000 }, { successRate: 1 }, {}, { signal: never, policy: open });
      const byUrl = { url: `${scheme}://localhost:${port}/` };
      const byConnect = { url: `${scheme}://mesh.example.com/x`, connect: { host: 'localhost', port } };
      expect(await probe({ ...byUrl, family: 'v4' })).toMatchObject({ succeeded: 10, family: 'v4' });
      expect(await probe({ ...byConnect, family: 'v4' })).toMatchObject({ succeeded: 10, family: 'v4' });
      expect(new Set(hosts)).toEqual(new Set([`localhost:${port}`, 'mesh.example.com']));
      hosts.length = 0;
      // The name may lead to ::1, where nobody listens, or to no IPv6 address at all: never to the IPv4 one.
      for (const by of [byUrl, byConnect]) {
        const { failed, errors } = await probe({ ...by, family: 'v6' });
        expect(failed).toBe(10);
        expect(Object.keys(errors).every((code) => ['unresolved', 'refused', 'unreachable'].includes(code))).toBe(true);
      }
      expect(hosts).toEqual([]);
    });
  }
});

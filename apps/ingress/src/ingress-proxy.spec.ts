import { once } from 'node:events';
import { Agent, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@roundsman/testkit';
import type { IngressProxy } from './ingress-proxy.ts';
import { ingress, resources, rule, service, slice } from './testing/objects.ts';
import { ask, Behind, ToldNetwork } from './testing/rig.ts';

function* zeros(bytes: number, tell: (soFar: number) => void): Iterable<Buffer> {
  const chunk = Buffer.alloc(1 << 16);
  for (let sent = 0; sent < bytes; sent += chunk.length) {
    tell(sent);
    yield chunk;
  }
}

describe('requests through the ingress proxy', () => {
  let told: ToldNetwork;
  let proxy: IngressProxy;
  let stopProxy: () => Promise<void>;
  let web: Behind;
  const running: Behind[] = [];
  const behind = async (...given: Parameters<typeof Behind.start>): Promise<Behind> => {
    const one = await Behind.start(...given);
    running.push(one);
    return one;
  };
  const get = (path: string, host = 'shop.example', more: Parameters<typeof ask>[3] = {}) => ask(proxy.ports.http, host, path, more);
  const shop = (annotations: Record<string, string> = {}) => ingress('shop', { rules: [rule('shop.example', { '/': 'web:80', '/named': 'web:http', '/gone': 'gone:80', '/port': 'web:81', '/empty': 'empty:80' })] }, { annotations });

  const spoken = (words: string): Promise<string> => {
    const socket = connect(proxy.ports.http, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(words);
    return text(socket);
  };

  /** The proxy anew, with other settings. Short limits are for what is refused by them: a machine that stands still for a second must not fail the others. */
  const again = async (...settings: Parameters<ToldNetwork['proxy']>): Promise<void> => {
    await stopProxy();
    ({ proxy, stop: stopProxy } = await told.proxy(...settings));
  };

  beforeAll(async () => {
    told = await ToldNetwork.start();
  });
  afterAll(() => told.stop());
  beforeEach(async () => {
    web = await behind((request, response) => response.end(JSON.stringify({ url: request.url, headers: request.headers, method: request.method })));
    told.put(resources.service, service('web'));
    told.put(resources.slice, slice('web', ['127.0.0.1'], web.port));
    told.put(resources.service, service('empty'));
    told.put(resources.ingress, shop());
    ({ proxy, stop: stopProxy } = await told.proxy({ connectMs: '1000' }));
  });
  afterEach(async () => {
    await stopProxy();
    for (const one of running.splice(0)) await one.stop();
  });

  it('reach the Service that the rules say, with Host kept and the client told', async () => {
    const { status, text } = await get('/named/x?y=1', 'shop.example:8080', { headers: { 'x-forwarded-for': '6.6.6.6', 'x-forwarded-proto': 'https', 'proxy-authorization': 'secret', connection: 'x-mine', 'x-mine': '1' } });
    expect(status).toBe(200);
    const { url, headers } = JSON.parse(text) as { url: string; headers: Record<string, string> };
    expect(url).toBe('/named/x?y=1');
    expect(headers).toMatchObject({ host: 'shop.example:8080', 'x-forwarded-for': '127.0.0.1', 'x-real-ip': '127.0.0.1', 'x-forwarded-host': 'shop.example:8080', 'x-forwarded-port': '8080', 'x-forwarded-proto': 'http', connection: 'keep-alive' });
    expect(Object.keys(headers)).not.toContain('proxy-authorization');
    expect(Object.keys(headers)).not.toContain('x-mine');
  });

  it('say nothing of the client themselves, in no spelling', async () => {
    const { headers } = JSON.parse((await get('/', 'shop.example', { headers: { forwarded: 'for=6.6.6.6', 'x-forwarded-prefix': '/evil', 'x-forwarded-server': 'evil', x_forwarded_for: '6.6.6.6', x_real_ip: '6.6.6.6', 'x-mine': 'stays' } })).text) as { headers: Record<string, string> };
    expect(JSON.stringify(headers)).not.toMatch(/6\.6\.6\.6|evil/);
    expect(headers['x-mine']).toBe('stays');
  });

  it('whose answer nobody takes are given up; the endpoint may be silent for as long as it likes', async () => {
    await again({ clientMs: '1500', responseMs: '1500' });
    let closed = 0;
    const endless = await behind((request, response) => {
      response.once('close', () => (closed += 1));
      if (request.url === '/quiet') {
        response.write('begun, ');
        return void setTimeout(() => response.end('at last'), 2_000);
      }
      return void Readable.from(zeros(1 << 30, () => undefined)).pipe(response);
    });
    told.put(resources.slice, slice('web', ['127.0.0.1'], endless.port));
    await eventually(async () => expect((await get('/quiet')).text).toBe('begun, at last'));
    const before = closed;
    const client = connect(proxy.ports.http, '127.0.0.1').pause();
    client.on('error', () => undefined);
    client.write('GET / HTTP/1.1\r\nhost: shop.example\r\n\r\n');
    await eventually(() => expect(closed).toBe(before + 1));
    client.destroy();
  });

  it('that are refused as WebSockets leave no connection behind, whatever the client does', async () => {
    const client = connect({ port: proxy.ports.http, host: '127.0.0.1', allowHalfOpen: true });
    client.on('error', () => undefined);
    client.write('GET /gone HTTP/1.1\r\nhost: shop.example\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
    const [data] = (await once(client, 'data')) as [Buffer];
    expect(String(data)).toMatch(/^HTTP\/1\.1 503/);
    await eventually(async () => expect(await proxy.measures.registry.getSingleMetricAsString('roundsman_ingress_connections')).toMatch(/connections 0$/m));
    client.destroy();
  });

  it('that lead nowhere are answered with what is missing', async () => {
    const answers = await Promise.all([get('/', 'other.example'), get('/gone'), get('/port'), get('/empty'), get('/%zz')]);
    expect(answers.map(({ status, text }) => `${status} ${text}`)).toEqual([
      '404 No Ingress has a rule for the host other.example, and none has a default backend.\n',
      '503 Service default/gone does not exist (Ingress default/shop).\n',
      '503 Service default/web has no port 81 (Ingress default/shop).\n',
      '503 Service default/empty has no ready endpoints for port 80 (Ingress default/shop).\n',
      '400 The path of the request cannot be read.\n',
    ]);
    expect(await get('/', 'other.example', { method: 'HEAD' })).toMatchObject({ status: 404, text: '' });
  });

  it('cannot get around a rule by another spelling of its path', async () => {
    expect((await get('/named/../gone/x')).status).toBe(503);
    expect((await get('/%67one')).status).toBe(503);
    expect((await get('http://shop.example/gone')).status).toBe(503);
    expect((await get('http://shop.example:81/gone', 'other.example')).status).toBe(503);
    expect(JSON.parse((await get('http://user@Shop.example:81?x', 'other.example')).text)).toMatchObject({ url: '/?x', headers: { host: 'Shop.example:81', 'x-forwarded-host': 'Shop.example:81' } });
  });

  it('are counted by Ingress as long as there is that Ingress', async () => {
    const other = ingress('passing', { rules: [rule('passing.example', { '/': 'web:80' })] });
    told.put(resources.ingress, other);
    await eventually(async () => expect((await get('/', 'passing.example')).status).toBe(200));
    const counted = () => proxy.measures.registry.getSingleMetricAsString('roundsman_ingress_requests_total');
    await eventually(async () => expect(await counted()).toContain('{ingress="default/passing",code="200"} 1'));
    told.remove(resources.ingress, other);
    await eventually(async () => expect(await counted()).not.toContain('passing'));
  });

  it('lose the prefix of their rule where the Ingress says so', async () => {
    told.put(resources.ingress, shop({ 'roundsman.io/strip-prefix': 'true' }));
    await eventually(async () => expect(JSON.parse((await get('/named/x?y')).text)).toMatchObject({ url: '/x?y', headers: { 'x-forwarded-prefix': '/named' } }));
    expect(JSON.parse((await get('/named')).text)).toMatchObject({ url: '/' });
    expect(JSON.parse((await get('/other/x')).text)).toMatchObject({ url: '/other/x' });
  });

  it('use few connections to endpoints, and go to the next endpoint when one cannot be connected to, whatever they carry', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let count = 0; count < 20; count += 1) expect((await get('/', 'shop.example', { agent })).status).toBe(200);
    expect(web.connections).toBe(1);
    // One refuses, one is silent (TEST-NET, nobody there).
    told.put(resources.slice, slice('web', ['127.0.0.9', '192.0.2.1', '127.0.0.1'], web.port));
    await eventually(async () => {
      const answers = await Promise.all(Array.from({ length: 9 }, (_, index) => get('/', 'shop.example', index % 2 === 0 ? { method: 'POST', body: 'x'.repeat(100_000) } : {})));
      expect(answers.map(({ status }) => status)).toEqual(Array(9).fill(200));
      expect(await proxy.measures.registry.getSingleMetricAsString('roundsman_ingress_endpoint_connects_failed_total')).toMatch(/total [1-9]/);
    });
    agent.destroy();
    told.put(resources.slice, slice('web', ['127.0.0.9'], web.port));
    await eventually(async () => expect(await get('/')).toMatchObject({ status: 502, text: expect.stringMatching(/^Service default\/web, port 80, could not be asked: 127\.0\.0\.9:\d+: ECONNREFUSED/) }));
  });

  it('are spread evenly over ready endpoints; those that end serve when there is no other', async () => {
    const others = await Promise.all(['127.0.0.2', '127.0.0.3'].map((host) => behind((_request, response) => response.end(host), host, web.port)));
    told.put(resources.slice, slice('web', ['127.0.0.1', '127.0.0.2', { address: '127.0.0.3', conditions: { ready: false, serving: true, terminating: true } }], web.port));
    await eventually(async () => expect((await get('/')).text).toBe('127.0.0.2'));
    const before = others[0]!.requests;
    for (let count = 0; count < 40; count += 1) await get('/');
    expect(others[0]!.requests - before).toBe(20);
    expect(others[1]!.requests).toBe(0);
    told.put(resources.slice, slice('web', [{ address: '127.0.0.3', conditions: { ready: false, serving: true, terminating: true } }], web.port));
    await eventually(async () => expect((await get('/')).text).toBe('127.0.0.3'));
  });

  it('are sent again when the kept connection just closed, if that cannot do them twice', async () => {
    const counts = { GET: 0, POST: 0 };
    // Of every connection the second request is not answered.
    const seen = new WeakMap<object, number>();
    const closing = await behind((request, response) => {
      const number = (seen.get(request.socket) ?? 0) + 1;
      seen.set(request.socket, number);
      if (number > 1) return request.socket.destroy();
      counts[request.method as 'GET'] += 1;
      return response.end('done');
    });
    told.put(resources.slice, slice('web', ['127.0.0.1'], closing.port));
    await eventually(async () => expect((await get('/')).text).toBe('done'));
    for (let count = 0; count < 10; count += 1) expect((await get('/')).status).toBe(200);
    await get('/');
    expect((await get('/', 'shop.example', { method: 'POST', body: 'x' })).status).toBe(502);
    expect(counts.POST).toBe(0);
  });

  it('that an endpoint does not answer in time end with 504, those it breaks with 502; an answer that has begun may take its time', async () => {
    await again({ responseMs: '1500' });
    const slow = await behind((request, response) => {
      if (request.url === '/never') return;
      if (request.url === '/break') return void request.socket.destroy();
      response.write('first ');
      setTimeout(() => response.end('last'), 2_000);
    });
    told.put(resources.slice, slice('web', ['127.0.0.1'], slow.port));
    await eventually(async () => expect((await get('/break', 'shop.example', { method: 'POST' })).status).toBe(502));
    expect(await get('/never')).toMatchObject({ status: 504, text: expect.stringContaining('Service default/web, port 80, did not answer in time') });
    expect(await get('/slowly')).toMatchObject({ status: 200, text: 'first last' });
  });

  it('stream large bodies both ways without holding them', async () => {
    const bytes = 64 << 20;
    const sink = await behind((request, response) => request.pipe(response));
    told.put(resources.slice, slice('web', ['127.0.0.1'], sink.port));
    await eventually(async () => expect((await get('/', 'shop.example', { method: 'POST', body: 'echo' })).text).toBe('echo'));
    const sent = request({ host: '127.0.0.1', port: proxy.ports.http, method: 'POST', path: '/', headers: { host: 'shop.example' } });
    let taken = 0;
    Readable.from(zeros(bytes, (soFar) => (taken = soFar))).pipe(sent);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    // Nobody reads the answer: what fits into the buffers on the way is all that is taken.
    for (let before = -1; before !== taken; await new Promise((resolve) => setTimeout(resolve, 200))) before = taken;
    expect(taken).toBeLessThan(bytes / 2);
    let received = 0;
    for await (const part of response) received += (part as Buffer).length;
    expect(received).toBe(bytes);
  });

  it('too large in their headers, or stopped in the midst, are refused', async () => {
    await again({ clientMs: '1500', headerBytes: '8192' });
    const reading = await behind((request, response) => request.resume().once('end', () => response.end('read')));
    told.put(resources.slice, slice('web', ['127.0.0.1'], reading.port));
    await eventually(async () => expect((await get('/')).text).toBe('read'));
    expect((await get('/', 'shop.example', { headers: { 'x-large': 'x'.repeat(9_000) } })).status).toBe(431);
    const [headers, body, smuggled] = await Promise.all([
      spoken('GET / HTTP/1.1\r\nhost: shop.example\r\n'),
      spoken('POST / HTTP/1.1\r\nhost: shop.example\r\ncontent-length: 10\r\n\r\nabc'),
      spoken('POST / HTTP/1.1\r\nhost: shop.example\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /admin HTTP/1.1\r\n\r\n'),
    ]);
    expect(headers).toContain('408');
    expect(body).toBe('');
    expect(smuggled).toMatch(/^HTTP\/1\.1 400/);
  });

  it('under way end when the proxy stops, and no new ones begin', async () => {
    await again({ drainMs: '60000' });
    let underWay: ServerResponse | undefined;
    const slow = await behind((request, response) => {
      response.write('begun ');
      if (request.url === '/last') underWay = response;
      else response.end('ended');
    });
    told.put(resources.slice, slice('web', ['127.0.0.1'], slow.port));
    await eventually(async () => expect((await get('/')).text).toBe('begun ended'));
    const last = get('/last');
    await eventually(() => underWay !== undefined);
    const { http } = proxy.ports;
    const stopped = stopProxy();
    stopProxy = () => stopped;
    await expect(ask(http, 'shop.example', '/')).rejects.toThrow('ECONNREFUSED');
    underWay?.end('ended');
    expect((await last).text).toBe('begun ended');
    await stopped;
  });

  it('of kept connections do not hold it up when it stops', async () => {
    await again({ drainMs: '60000' });
    const slow = await behind((request, response) => {
      response.write('begun ');
      setTimeout(() => response.end('ended'), 300);
    });
    told.put(resources.slice, slice('web', ['127.0.0.1'], slow.port));
    const agent = new Agent({ keepAlive: true });
    await eventually(async () => expect((await get('/', 'shop.example', { agent })).text).toBe('begun ended'));
    const before = slow.requests;
    const last = get('/', 'shop.example', { agent });
    await eventually(() => slow.requests > before);
    const begun = performance.now();
    const stopped = stopProxy();
    stopProxy = () => stopped;
    expect((await last).text).toBe('begun ended');
    await stopped;
    expect(performance.now() - begun).toBeLessThan(20_000);
    agent.destroy();
  });
});

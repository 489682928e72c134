import { connect as connectHttp2 } from 'node:http2';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@roundsman/testkit';
import { WebSocket, WebSocketServer } from 'ws';
import type { IngressProxy } from './ingress-proxy.ts';
import { tlsData } from './testing/certificates.ts';
import { ingress, resources, rule, service, slice } from './testing/objects.ts';
import { ask, Behind, ToldNetwork } from './testing/rig.ts';

describe('TLS at the ingress proxy', () => {
  let told: ToldNetwork;
  let proxy: IngressProxy;
  let stopProxy: () => Promise<void>;
  let web: Behind;
  let sockets: WebSocketServer;
  beforeAll(async () => {
    told = await ToldNetwork.start();
    web = await Behind.start((incoming, response) => {
      if (incoming.url === '/echo') return void incoming.pipe(response);
      response.setHeader('keep-alive', 'timeout=5');
      response.end(JSON.stringify({ url: incoming.url, headers: incoming.headers }));
    });
    sockets = new WebSocketServer({ server: web.server });
    sockets.on('connection', (socket, incoming) => socket.on('message', (data) => socket.send(`${incoming.url} ${incoming.headers['x-forwarded-proto']} ${String(data)}`)));
    told.put(resources.service, service('web'));
    told.put(resources.slice, slice('web', ['127.0.0.1'], web.port));
    told.put(resources.ingress, ingress('shop', { tls: [{ hosts: ['shop.example', '*.wild.example'], secretName: 'shop' }, { hosts: ['lost.example'], secretName: 'lost' }], rules: [rule('shop.example', { '/': 'web:80' }), rule('*.wild.example', { '/': 'web:80' }), rule('plain.example', { '/': 'web:80' })] }));
    told.secret('shop', await tlsData('shop', 'shop.example', '*.wild.example'));
    ({ proxy, stop: stopProxy } = await told.proxy({ clientMs: '1500' }));
    await eventually(async () => expect(await nameShown('shop.example')).toBe('shop'));
  });
  afterAll(async () => {
    sockets.close();
    await stopProxy();
    await web.stop();
    await told.stop();
  });

  /** Common name of the certificate that is shown to whoever asks for this name. */
  const nameShown = (servername: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port: proxy.ports.https, servername, rejectUnauthorized: false }, () => {
        resolve(String(socket.getPeerCertificate().subject.CN));
        socket.destroy();
      });
      socket.once('error', reject);
    });
  /** The Service has its own endpoint again, and the proxy knows it: the one that a test had put there, which answers this at once, is about to end. */
  const restored = async (): Promise<void> => {
    told.put(resources.slice, slice('web', ['127.0.0.1'], web.port));
    await eventually(async () => expect((await ask(proxy.ports.http, 'plain.example', '/short')).text).toContain('"url":"/short"'));
  };
  const get = (host: string, path: string): Promise<{ status: number; text: string }> =>
    new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port: proxy.ports.https, servername: host, path, rejectUnauthorized: false, agent: false, headers: { host } }, (response) => {
        text(response).then((body) => resolve({ status: response.statusCode ?? 0, text: body }), reject);
      });
      sent.once('error', reject).end();
    });

  it('shows the certificate of the host that is asked for, of its wildcard, and its own to others', async () => {
    expect(await Promise.all(['shop.example', 'a.wild.example', 'a.b.wild.example', 'plain.example', 'lost.example'].map(nameShown))).toEqual([
      'shop', 'shop', ...Array(3).fill('Roundsman ingress default certificate'),
    ]);
    const { status, text: body } = await get('shop.example', '/x');
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({ url: '/x', headers: { 'x-forwarded-proto': 'https', 'x-forwarded-port': '443' } });
  });

  it('what a Secret holds now is shown at once; what is missing or broken is told, and the own certificate shown', async () => {
    told.secret('shop', await tlsData('renewed', 'shop.example', '*.wild.example'));
    await eventually(async () => expect(await nameShown('shop.example')).toBe('renewed'), { within: 8_000 });
    const { 'tls.crt': cert } = await tlsData('one', 'shop.example');
    told.secret('shop', { 'tls.crt': cert, 'tls.key': (await tlsData('another', 'shop.example'))['tls.key'] });
    await eventually(async () => expect(await nameShown('shop.example')).toBe('Roundsman ingress default certificate'), { within: 8_000 });
    expect(proxy.certificateProblems).toEqual([
      expect.stringMatching(/^Ingress default\/shop: the certificate or key in Secret default\/shop cannot be used: .*key values mismatch.*; the proxy's own certificate is shown for shop\.example, \*\.wild\.example$/),
      "Ingress default/shop: Secret default/lost does not exist, or is not of type kubernetes.io/tls; the proxy's own certificate is shown for lost.example",
    ]);
    told.secret('shop', await tlsData('shop', 'shop.example'));
    await eventually(async () => expect(await nameShown('shop.example')).toBe('shop'), { within: 8_000 });
    expect(proxy.certificateProblems).toContain('Ingress default/shop: the certificate in Secret default/shop is not for *.wild.example');
  });

  it('plain requests of hosts with TLS are sent there, with method and port kept', async () => {
    const { http, https } = proxy.ports;
    expect(await ask(http, 'shop.example', '/a?b=1')).toMatchObject({ status: 308, headers: { location: 'https://shop.example/a?b=1' } });
    expect((await ask(http, `shop.example:${http}`, '/')).headers['location']).toBe(`https://shop.example:${https}/`);
    expect((await ask(http, 'plain.example', '/')).status).toBe(200);
    told.put(resources.service, { ...service('ingress', [{ name: 'http', port: 80, nodePort: 30_080 }, { name: 'https', port: 443, nodePort: 30_443 }] as never), metadata: { ...service('ingress').metadata, namespace: 'kube-system' } });
    await eventually(async () => expect((await ask(http, 'shop.example:30080', '/')).headers['location']).toBe('https://shop.example:30443/'));
    told.put(resources.ingress, ingress('other', { rules: [rule('shop.example', { '/.well-known': 'web:80' })] }, { annotations: { 'roundsman.io/ssl-redirect': 'false' } }));
    await eventually(async () => expect((await ask(http, 'shop.example', '/.well-known/x')).status).toBe(200));
    expect((await ask(http, 'shop.example', '/')).status).toBe(308);
  });

  it('clients may speak HTTP/2, many requests on one connection', async () => {
    const client = connectHttp2(`https://127.0.0.1:${proxy.ports.https}`, { rejectUnauthorized: false, servername: 'shop.example' });
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const stream = client.request({ ':method': 'POST', ':path': index === 0 ? '/x?y' : '/echo', ':authority': 'shop.example' });
        const status = new Promise((resolve) => stream.once('response', (headers) => resolve(headers[':status'])));
        stream.end(`body ${index}`);
        return `${String(await status)} ${await text(stream)}`;
      }),
    );
    expect(answers[0]).toMatch(/^200 .*"url":"\/x\?y".*"host":"shop\.example"/);
    expect(answers.slice(1)).toEqual(Array.from({ length: 19 }, (_, index) => `200 body ${index + 1}`));
    const unknown = client.request({ ':path': '/', ':authority': 'nobody.example' });
    expect(await text(unknown)).toBe('No Ingress has a rule for the host nobody.example, and none has a default backend.\n');
    client.close();
  });

  it('a body of HTTP/2 without a length is no request of its own to the endpoint', async () => {
    const urls: string[] = [];
    const counting = await Behind.start((incoming, response) => {
      urls.push(`${incoming.method} ${incoming.url}`);
      text(incoming).then((body) => response.end(`got ${body.length}`), () => undefined);
    });
    told.put(resources.slice, slice('web', ['127.0.0.1'], counting.port));
    const client = connectHttp2(`https://127.0.0.1:${proxy.ports.https}`, { rejectUnauthorized: false, servername: 'shop.example' });
    const asked = async (method: string, body: string): Promise<string> => {
      const stream = client.request({ ':method': method, ':path': `/${method}`, ':authority': 'shop.example' }, { endStream: body === '' });
      if (body !== '') stream.end(body);
      return text(stream);
    };
    await eventually(async () => expect(await asked('GET', '')).toBe('got 0'));
    urls.length = 0;
    const hidden = 'GET /hidden HTTP/1.1\r\nhost: x\r\n\r\n';
    for (const method of ['GET', 'DELETE', 'OPTIONS', 'POST']) expect(await asked(method, hidden)).toBe(`got ${hidden.length}`);
    expect(await asked('GET', '')).toBe('got 0');
    expect(urls).toEqual(['GET /GET', 'DELETE /DELETE', 'OPTIONS /OPTIONS', 'POST /POST', 'GET /GET']);
    client.close();
    await restored();
    await counting.stop();
  });

  it('an answer that nobody takes is given up, also one of many on a connection', async () => {
    let closed = 0;
    const endless = await Behind.start((incoming, response) => {
      response.once('close', () => (closed += 1));
      if (incoming.url === '/short') return void response.end('short');
      const chunk = Buffer.alloc(1 << 16);
      const more = (): void => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', more);
      return void more();
    });
    told.put(resources.slice, slice('web', ['127.0.0.1'], endless.port));
    const client = connectHttp2(`https://127.0.0.1:${proxy.ports.https}`, { rejectUnauthorized: false, servername: 'shop.example' });
    await eventually(async () => expect(await text(client.request({ ':path': '/short', ':authority': 'shop.example' }))).toBe('short'));
    const before = closed;
    // Nobody reads it.
    const stalled = client.request({ ':path': '/', ':authority': 'shop.example' });
    stalled.on('error', () => undefined);
    await eventually(() => expect(closed).toBe(before + 1), { within: 10_000 });
    expect(await text(client.request({ ':path': '/short', ':authority': 'shop.example' }))).toBe('short');
    client.destroy();
    await restored();
    await endless.stop();
  });

  it('WebSockets pass, over TLS and without, and are refused where nobody is', async () => {
    const talk = (url: string, host: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = new WebSocket(url, { headers: { host }, rejectUnauthorized: false, servername: host } as never);
        socket.once('open', () => socket.send('hello'));
        socket.once('message', (data) => {
          resolve(String(data));
          socket.close();
        });
        socket.once('error', reject);
      });
    const { http, https } = proxy.ports;
    expect(await talk(`ws://127.0.0.1:${http}/talk`, 'plain.example')).toBe('/talk http hello');
    expect(await talk(`wss://127.0.0.1:${https}/talk`, 'shop.example')).toBe('/talk https hello');
    await expect(talk(`ws://127.0.0.1:${http}/`, 'nobody.example')).rejects.toThrow('404');
    await expect(talk(`ws://127.0.0.1:${http}/`, 'shop.example')).rejects.toThrow('426');
    // A WebSocket that is open stays so when its endpoint is taken out of the Service.
    const socket = new WebSocket(`ws://127.0.0.1:${http}/stays`, { headers: { host: 'plain.example' } });
    await new Promise((resolve) => socket.once('open', resolve));
    told.put(resources.slice, slice('web', [], web.port));
    await eventually(async () => expect((await ask(http, 'plain.example', '/')).status).toBe(503));
    const said = new Promise((resolve) => socket.once('message', (data) => resolve(String(data))));
    socket.send('still');
    expect(await said).toBe('/stays http still');
    await expect(talk(`ws://127.0.0.1:${http}/`, 'plain.example')).rejects.toThrow('503');
    socket.close();
    await restored();
  });
});

import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { ClusterNetwork, KubeObject } from '@roundsman/api';
import { connectBus, endpoint, ingressIdentity, messages, serviceIdentity, type Bus } from '@roundsman/bus';
import { eventually, startNats, type TestNats } from '@roundsman/testkit';
import { pino } from 'pino';
import { IngressProxy } from '../ingress-proxy.ts';
import { settingsSchema, type Settings } from '../settings.ts';
import type { TlsSecret } from '../tls/secret.ts';
import { ingressClass, resources } from './objects.ts';

const network: ClusterNetwork = {
  podCidrs: ['10.244.0.0/16'], nodePrefixes: [24], serviceCidrs: ['10.96.0.0/16'], loadBalancerCidrs: [], nodePorts: { first: 30000, last: 32767 },
  domain: 'cluster.local', dnsAddresses: ['10.96.0.10'], backend: 'host-gw',
};
const log = pino({ level: process.env['ROUNDSMAN_TEST_LOG'] ?? 'silent' });
export const node = 'n1';

/** An intake that tells what it is given, over a real NATS with the product's permissions. */
export class ToldNetwork {
  readonly #objects = new Map<string, { resource: string; object: KubeObject }>();
  readonly #secrets = new Map<string, TlsSecret>();
  #version = 1_000;
  #told = 0;

  readonly nats: TestNats;
  readonly bus: Bus;

  private constructor(nats: TestNats, bus: Bus) {
    this.nats = nats;
    this.bus = bus;
  }

  static async start(): Promise<ToldNetwork> {
    const nats = await startNats({ identities: [serviceIdentity('intake'), ingressIdentity(node)] });
    const bus = await connectBus({ servers: nats.url, identity: 'intake', seed: nats.seed('intake'), log });
    const told = new ToldNetwork(nats, bus);
    await bus.serve({ name: 'intake', version: '1.0.0', description: 'told by a test' }, [
      endpoint(messages.networkState, () => ({ version: told.#told, network, objects: [...told.#objects.values()] as never[] })),
      endpoint(messages.ingressSecrets, () => ({ secrets: [...told.#secrets.values()] as never[] })),
    ]);
    told.put(resources.class, ingressClass('roundsman', undefined, true));
    return told;
  }

  put(resource: string, object: KubeObject | object): void {
    this.#tell(resource, object as KubeObject, this.#objects.has(keyOf(resource, object as KubeObject)) ? 'MODIFIED' : 'ADDED');
  }

  remove(resource: string, object: KubeObject | object): void {
    this.#tell(resource, object as KubeObject, 'DELETED');
  }

  secret(name: string, data: Readonly<Record<string, string>> | undefined): void {
    this.#version += 1;
    if (data === undefined) this.#secrets.delete(name);
    else this.#secrets.set(name, { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', metadata: { namespace: 'default', name, uid: name, resourceVersion: String(this.#version) }, data } as unknown as TlsSecret);
    this.bus.publish(messages.ingressSecretsChange, {}, { version: this.#version });
  }

  async proxy(settings: Partial<Record<keyof Settings, string>> = {}): Promise<{ proxy: IngressProxy; stop: () => Promise<void> }> {
    const bus = await connectBus({ servers: this.nats.url, identity: ingressIdentity(node).name, seed: this.nats.seed(ingressIdentity(node).name), log });
    const proxy = new IngressProxy(settingsSchema.parse({ node, bind: '127.0.0.1', drainMs: '500', ...settings }), bus, log);
    await proxy.start();
    await eventually(() => proxy.problem() === undefined);
    const stop = async (): Promise<void> => {
      await proxy.stop();
      expectNoViolations(bus);
      await bus.close();
    };
    return { proxy, stop };
  }

  async stop(): Promise<void> {
    await this.bus.close();
    await this.nats.stop();
  }

  #tell(resource: string, given: KubeObject, type: 'ADDED' | 'MODIFIED' | 'DELETED'): void {
    this.#version += 1;
    const object = { ...given, metadata: { ...given.metadata, resourceVersion: String(this.#version) } };
    if (type === 'DELETED') this.#objects.delete(keyOf(resource, object));
    else this.#objects.set(keyOf(resource, object), { resource, object });
    this.bus.publish(messages.networkChange, {}, { type, version: this.#version, previous: this.#told, resource, object: object as never });
    this.#told = this.#version;
  }
}

const keyOf = (resource: string, { metadata }: KubeObject): string => `${resource}/${metadata.namespace ?? ''}/${metadata.name}`;

function expectNoViolations(bus: Bus): void {
  const { violations } = bus.health();
  if (violations.length > 0) throw new Error(`NATS refused: ${violations.join(', ')}`);
}

/** A server that is behind a Service; its port is free, its address one of this machine's loopback addresses. */
export class Behind {
  readonly server: Server;
  connections = 0;
  requests = 0;

  private constructor(listener: RequestListener) {
    this.server = createServer((request, response) => {
      this.requests += 1;
      listener(request, response);
    });
    this.server.on('connection', () => (this.connections += 1));
  }

  static async start(listener: RequestListener, host = '127.0.0.1', port = 0): Promise<Behind> {
    const behind = new Behind(listener);
    behind.server.listen(port, host);
    await once(behind.server, 'listening');
    return behind;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => resolve());
      this.server.closeAllConnections();
    });
  }
}

export interface Answered {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** One request; rejects when the connection breaks. */
export function ask(port: number, host: string, path: string, options: { method?: string; headers?: Record<string, string>; body?: string; agent?: import('node:http').Agent | false } = {}): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const { method = 'GET', headers = {}, body, agent = false } = options;
    const sent = httpRequest({ host: '127.0.0.1', port, path, method, agent, headers: { host, ...headers } }, (response) => {
      buffer(response).then((bytes) => resolve({ status: response.statusCode ?? 0, headers: response.headers, text: bytes.toString() }), reject);
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

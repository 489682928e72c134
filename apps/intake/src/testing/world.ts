import { ApiError, compilePolicy, kindByGvk, resourceKey, type KubeObject, type Limits } from '@roundsman/api';
import { admit } from '../admission/admit.ts';
import type { Admitted, AdmissionView, WriteRequest } from '../admission/outcome.ts';
import { books } from './addresses.ts';

const limits: Limits = { maxQpsPerRunner: 1000, maxRequestsPerRound: 100_000, maxBodyBytes: 64 };
const policy = compilePolicy({ denyEndpoints: [{ address: '127.0.0.1', port: 4222 }, { address: '127.0.0.1', port: 5432 }] });
const now = Date.parse('2026-03-01T10:00:00.700Z');

/** Objects as a cluster of two runners has them. */
export class World implements AdmissionView {
  readonly objects = new Map<string, KubeObject>();
  readonly limits = limits;
  readonly policy = policy;
  readonly now = now;
  readonly addresses = books().addresses;
  readonly hosts = books().hosts;
  #version = 0;

  constructor() {
    this.put('namespaces', { metadata: { name: 'default' } });
    this.put('namespaces', { metadata: { name: 'shop' } });
    for (const name of ['r1', 'r2']) this.put('runners.roundsman.io', { metadata: { name }, status: { ready: true, runtime: 'default', addresses: [{ family: 'v4', address: '10.0.0.1' }, { family: 'v6', address: 'fd00::1' }] } });
    this.put('runners.roundsman.io', { metadata: { name: 'r3' }, status: { ready: false, runtime: 'default', addresses: [{ family: 'v4', address: '10.0.0.3' }] } });
    const pem = Buffer.from('-----BEGIN CERTIFICATE-----').toString('base64');
    this.put('secrets', { metadata: { name: 'good', namespace: 'default' }, data: { 'ca.crt': pem, 'tls.crt': pem, 'tls.key': pem } });
    this.put('secrets', { metadata: { name: 'none', namespace: 'default' }, data: { other: pem } });
    this.put('secrets', { metadata: { name: 'half', namespace: 'default' }, data: { 'tls.crt': pem } });
    this.put('secrets', { metadata: { name: 'empty', namespace: 'default' }, data: { 'ca.crt': '' } });
    this.put('secrets', { metadata: { name: 'garbage', namespace: 'default' }, data: { 'ca.crt': Buffer.from('hunter2').toString('base64') } });
    this.put('configmaps', { metadata: { name: 'small', namespace: 'default' }, data: { a: 'b' } });
    this.put('configmaps', { metadata: { name: 'huge', namespace: 'default' }, data: { a: 'b'.repeat(100) } });
  }
  put(resource: string, object: { metadata: { name: string; namespace?: string; labels?: object } } & Record<string, unknown>): KubeObject {
    const { name, namespace = '' } = object.metadata;
    const stored = { ...object, metadata: { uid: `uid-${name}`, generation: 1, creationTimestamp: '2026-01-01T00:00:00Z', ...object.metadata, resourceVersion: String(++this.#version) } } as unknown as KubeObject;
    this.objects.set(`${resource} ${namespace}/${name}`, stored);
    return stored;
  }
  readonly admitted = (resource: string, namespace: string | undefined, name: string): KubeObject | undefined => this.objects.get(`${resource} ${namespace ?? ''}/${name}`);
  readonly list = (resource: string): KubeObject[] => [...this.objects].filter(([key]) => key.startsWith(`${resource} `)).map(([, object]) => object);
  store(write: Partial<WriteRequest>): KubeObject {
    const { object } = admit(request(write), this);
    return this.put(write.resource!, object as unknown as Parameters<World['put']>[1]);
  }
}

export const request = (write: Partial<WriteRequest>): WriteRequest => ({ operation: 'create', resource: '', fieldValidation: 'Strict', dryRun: false, user: 'ada', ...write });
export const resourceOf = (kind: string): string => resourceKey(kindByGvk('roundsman.io', 'v1', kind)!);

export function create(kind: string, spec: unknown, more: Partial<WriteRequest> = {}, world = new World()): Admitted {
  return admit(request({ resource: resourceOf(kind), namespace: 'default', object: { metadata: { name: 'x' }, spec }, ...more }), world);
}
export function refusal(attempt: () => unknown): ApiError {
  try {
    attempt();
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error('it was admitted');
}

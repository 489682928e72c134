import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { Ingress, KubeObject, Service } from '@roundsman/api';
import type { Deps } from '../loop.ts';
import { ingresses } from './ingresses.ts';

const meta = (name: string) => ({ namespace: 'default', name, uid: name, resourceVersion: '1', creationTimestamp: 't' });
const service = (name: string, spec: object): Service => ({ apiVersion: 'v1', kind: 'Service', metadata: meta(name), spec }) as unknown as Service;
const ingress = (backend: object): Ingress => ({ apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: meta('shop'), spec: { ingressClassName: 'roundsman', defaultBackend: backend } }) as unknown as Ingress;
const roundsman = { metadata: meta('roundsman'), spec: { controller: 'roundsman.io/ingress' } };
const eventTtlMs = 3_600_000;

/** The controller of one Ingress, beside these services. */
function looking(one: Ingress, ...services: Service[]): { look: () => unknown; told: string[]; written: unknown[]; classes: object[] } {
  const told: string[] = [];
  const written: unknown[] = [];
  const classes: object[] = [roundsman];
  const cache = (...objects: object[]) => cacheOf(objects);
  const cacheOf = (objects: object[]) => ({
    list: () => objects,
    by: () => objects,
    get: (_namespace: string, name: string) => (objects as KubeObject[]).find(({ metadata }) => metadata.name === name),
    onChange: () => () => undefined,
  });
  const { reconcile } = ingresses({
    caches: { ingresses: cache(one), services: cache(...services), ingressClasses: cacheOf(classes), secrets: cache() },
    objects: { updateStatus: async (_informer: object, _object: object, status: { loadBalancer: object }) => void written.push(status.loadBalancer) },
    recorder: { from: () => (_object: object, _type: string, reason: string, message: string) => void told.push(`${reason}: ${message}`) },
    settings: { eventTtlMs },
  } as unknown as Deps);
  return { look: () => reconcile('default/shop'), told, written, classes };
}

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

it('what cannot be forwarded to is told', async () => {
  const { look, told } = looking(ingress({ resource: { kind: 'Bucket', name: 'icons' } }));
  await look();
  expect(told).toEqual(['BackendNotServed: The backend Bucket icons is no Service, and requests are forwarded to Services only (the default backend)']);
  const alias = looking(ingress({ service: { name: 'alias', port: { number: 80 } } }), service('alias', { type: 'ExternalName', externalName: 'example.com', ports: [{ port: 80 }] }));
  await alias.look();
  expect(alias.told).toEqual(['BackendNotServed: Service "alias" is of type ExternalName, and requests are forwarded to endpoints only (the default backend)']);
});

it('what is wrong is told once, and again before that event is gone', async () => {
  const { look, told } = looking(ingress({ service: { name: 'missing', port: { number: 80 } } }));
  await look();
  jest.advanceTimersByTime(eventTtlMs / 4);
  await look();
  expect(told).toHaveLength(1);
  jest.advanceTimersByTime(eventTtlMs / 4);
  await look();
  expect(told).toHaveLength(2);
});

it('its address goes with its class, unless somebody else gave it or serves it', async () => {
  const entrance = { ...service('ingress', { clusterIPs: ['10.96.0.7'] }), metadata: { ...meta('ingress'), namespace: 'roundsman-system' } } as unknown as Service;
  const shown = (...ips: string[]): Ingress => ({ ...ingress({ service: { name: 'ingress', port: { number: 80 } } }), status: { loadBalancer: { ingress: ips.map((ip) => ({ ip })) } } }) as Ingress;
  const after = async (one: Ingress, classes: object[]): Promise<unknown[]> => {
    const looked = looking(one, entrance);
    looked.classes.splice(0, 1, ...classes);
    await looked.look();
    return looked.written;
  };
  expect(await after(shown('10.96.0.7'), [roundsman])).toEqual([{ ingress: [{ ip: '10.96.0.7' }] }]);
  expect(await after(shown('10.96.0.7'), [])).toEqual([{}]);
  expect(await after(shown('192.0.2.1'), [])).toEqual([]);
  expect(await after(shown(), [])).toEqual([]);
  expect(await after(shown('10.96.0.7'), [{ ...roundsman, spec: { controller: 'example.com/other' } }])).toEqual([]);
});

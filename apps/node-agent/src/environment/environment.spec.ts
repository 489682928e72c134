import { describe, expect, it } from '@jest/globals';
import { container, podOf } from '../testing/runs.ts';
import { environmentOf } from './environment.ts';
import { expand, unresolved } from './expansion.ts';
import { needsMaterials, type Materials } from './materials.ts';
import { podField, resourceField } from './pod-fields.ts';

const facts = { podIPs: ['10.0.0.5', 'fd00::5'], hostIPs: ['192.0.2.1'], allocatable: { cpu: '4', memory: '8Gi' } };
const materials: Materials = { claims: new Map(), configMaps: new Map([['map', new Map([['a', Buffer.from('1')], ['b=', Buffer.from('2')]])]]), secrets: new Map([['secret', new Map([['k', Buffer.from('v')]])]]) };

describe('references in texts', () => {
  it('are replaced where they name a variable; two dollar signs are one', () => {
    const variables = new Map([['A', 'a'], ['B', '$(A)']]);
    expect(['$(A)', '$$(A)', '$$$(A)', '$(X)', '$A', '$(A', '$(B)', '$()', 'x$(A)y$(A)'].map((text) => expand(text, variables))).toEqual(['a', '$(A)', '$a', '$(X)', '$A', '$(A', '$(A)', '$()', 'xaya']);
    expect(unresolved('$(A)/$(X)/$$(Y)', variables)).toEqual(['X']);
  });
});

describe('fields of a pod', () => {
  const pod = { ...podOf({ containers: [container('a', { resources: { limits: { cpu: '1500m', memory: '1Gi' }, requests: { cpu: '250m' } } }), container('b')], nodeName: 'n1' }) };
  pod.metadata = { ...pod.metadata, labels: { b: '2', a: 'x"y' }, annotations: { 'k/k': 'v' } };

  it('are texts, maps one line each', () => {
    expect(['metadata.labels', "metadata.labels['b']", "metadata.annotations['k/k']", "metadata.annotations['none']", 'status.podIP', 'status.podIPs', 'status.hostIP', 'spec.nodeName'].map((path) => podField(pod, path, facts))).toEqual([
      'a="x\\"y"\nb="2"', '2', 'v', '', '10.0.0.5', '10.0.0.5,fd00::5', '192.0.2.1', 'n1',
    ]);
    expect(() => podField(pod, 'spec.unknown', facts)).toThrow('unsupported fieldPath: spec.unknown');
  });

  it('resources are rounded up in the unit asked for; without a limit the node’s', () => {
    const of = (resource: string, divisor?: string, containerName = 'a') => resourceField(pod, { resource, divisor: divisor ?? '0', containerName }, undefined, facts);
    expect([of('limits.cpu'), of('limits.cpu', '1m'), of('requests.cpu', '1m'), of('limits.memory', '1Mi'), of('limits.memory', '0', 'b'), of('limits.cpu', '0', 'b'), of('requests.cpu', '0', 'b')]).toEqual(['2', '1500', '250', '1024', '8589934592', '4', '0']);
    expect(() => of('limits.cpu', '0', 'none')).toThrow('container none not found');
  });
});

describe('the environment of a container', () => {
  const variablesOf = (more: Parameters<typeof container>[1], links: Record<string, string> = {}) => {
    const pod = podOf({ containers: [container('a', more)] });
    return environmentOf(pod, pod.spec.containers[0]!, materials, facts, new Map(Object.entries(links)));
  };

  it('takes all of an object, then its own, which go before', () => {
    const { variables, skipped } = variablesOf({ envFrom: [{ configMapRef: { name: 'map' } }, { prefix: 'S_', secretRef: { name: 'secret' } }], env: [{ name: 'a', value: '$(a)0' }] });
    expect([...variables]).toEqual([['a', '10'], ['S_k', 'v']]);
    expect([...skipped]).toEqual([['ConfigMap default/map', ['b=']]]);
  });

  it('tells where Services are, unless something else has the name', () => {
    const { variables } = variablesOf({ env: [{ name: 'URL', value: 'http://$(WEB_SERVICE_HOST):$(PORT)' }, { name: 'WEB_PORT', value: 'own' }] }, { WEB_SERVICE_HOST: '10.96.0.7', WEB_PORT: 'tcp://10.96.0.7:80' });
    expect([...variables]).toEqual([['URL', 'http://10.96.0.7:$(PORT)'], ['WEB_PORT', 'own'], ['WEB_SERVICE_HOST', '10.96.0.7']]);
  });

  it('says what is missing, in Kubernetes’ words, unless it is optional', () => {
    const from = (valueFrom: object) => () => variablesOf({ env: [{ name: 'x', valueFrom }] });
    expect(from({ configMapKeyRef: { name: 'none', key: 'a' } })).toThrow('configmap "none" not found');
    expect(from({ secretKeyRef: { name: 'none', key: 'a' } })).toThrow('secret "none" not found');
    expect(from({ configMapKeyRef: { name: 'map', key: 'none' } })).toThrow("couldn't find key none in ConfigMap default/map");
    expect([...from({ secretKeyRef: { name: 'secret', key: 'none', optional: true } })().variables]).toEqual([]);
    expect(() => variablesOf({ envFrom: [{ secretRef: { name: 'none' } }] })).toThrow('secret "none" not found');
  });

  it('is asked for only by pods that refer to something', () => {
    expect(needsMaterials(podOf({ containers: [container()] }))).toBe(false);
    expect(needsMaterials(podOf({ containers: [container('a', { env: [{ name: 'x', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] })] }))).toBe(true);
    expect(needsMaterials(podOf({ containers: [container()], volumes: [{ name: 'v', projected: { sources: [{ configMap: { name: 'm' } }] } }] }))).toBe(true);
  });
});

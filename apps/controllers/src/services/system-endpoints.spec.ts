import { expect, it } from '@jest/globals';
import type { Node, Service } from '@roundsman/api';
import { contentsOf } from './system-endpoints.ts';

const dns = { metadata: { name: 'kube-dns' }, spec: { ports: [{ name: 'dns', port: 53, protocol: 'UDP' }] } } as unknown as Service;
const node = (name: string): Node => ({ metadata: { name, uid: name }, spec: {} }) as unknown as Node;

it('no slice of a node has the name of another node’s', () => {
  const both = [{ address: '10.0.0.1', number: 53 }, { address: 'fd00::1', number: 53 }];
  const names = ['a', 'a-2', '2-a'].flatMap((name) => contentsOf(dns, node(name), both)).map(([name]) => name);
  expect(new Set(names).size).toBe(6);
});

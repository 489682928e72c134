import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { freePort } from '@roundsman/testkit';
import { forwardingTable } from './forwarding/forwarding-table.ts';
import type { ForwardingTable } from './forwarding/table.ts';
import { LocalNodePorts } from './local-node-ports.ts';
import { emptyState, endpoint, service, slice, slicesResource } from './testing/objects.ts';

const ask = (port: number): Promise<string> => fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } }).then((response) => response.text());
async function answering(text: string, port = 0): Promise<Server> {
  const server = createServer((_request, response) => response.end(text)).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
async function ended(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
}

let problems: unknown[];
let ports: LocalNodePorts;
let web: Server;
let nodePort: number;
beforeEach(async () => {
  problems = [];
  ports = new LocalNodePorts({ warn: (problem: unknown) => problems.push(problem) } as never);
  web = await answering('web');
  nodePort = await freePort();
});
afterEach(async () => {
  ports.stop();
  await ended(web);
});

/** One Service whose only endpoint is on another node. */
function tableOf(more: object = {}): ForwardingTable {
  const { port } = web.address() as AddressInfo;
  const state = emptyState();
  state.apply('ADDED', 'services', service('web', { clusterIP: '10.96.0.1', type: 'NodePort', ports: [{ port: 80, nodePort, protocol: 'TCP' }], ...more }));
  state.apply('ADDED', slicesResource, slice('web', [endpoint('127.0.0.1', 'there')], { ports: [{ name: '', protocol: 'TCP', port }] }));
  return forwardingTable(state, new Set(['here']));
}

it('node ports are answered at localhost as long as there are any', async () => {
  await ports.serve(tableOf());
  expect(await ask(nodePort)).toBe('web');
  await ports.serve(tableOf({ type: 'ClusterIP' }));
  await expect(ask(nodePort)).rejects.toThrow();
  expect(problems).toEqual([]);
});

it('who asks there is of the node itself: policies for those from outside do not count', async () => {
  await ports.serve(tableOf({ externalTrafficPolicy: 'Local', internalTrafficPolicy: 'Local' }));
  expect(await ask(nodePort)).toBe('web');
});

it('one that another program has is left to it, and told once', async () => {
  const other = await answering('other', nodePort);
  await ports.serve(tableOf());
  await ports.serve(tableOf());
  expect(problems).toEqual([{ address: '127.0.0.1', port: nodePort, code: 'EADDRINUSE' }]);
  expect(await ask(nodePort)).toBe('other');
  await ended(other);
  await ports.serve(tableOf());
  expect(await ask(nodePort)).toBe('web');
});

it('a table that cannot be served is told, and the next one is served', async () => {
  await ports.serve({ ...tableOf(), podCidrs: ['no range'] });
  expect(problems).toEqual([{ err: expect.objectContaining({ code: 'ERR_INVALID_ADDRESS' }) }]);
  await ports.serve(tableOf());
  expect(await ask(nodePort)).toBe('web');
});

it('nothing listens after the end, also of what was on its way', async () => {
  const serving = ports.serve(tableOf());
  ports.stop();
  await serving;
  await ports.serve(tableOf());
  await expect(ask(nodePort)).rejects.toThrow();
});

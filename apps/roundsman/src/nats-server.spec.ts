import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { agentIdentity, connectBus, createCredential, ingressIdentity, runnerIdentity, type Bus } from '@roundsman/bus';
import { freePort } from '@roundsman/testkit';
import { Home } from './home.ts';
import { addMember, removeMember } from './join/members.ts';
import { bringNats } from './nats-binary.ts';
import { startNats, type NatsServer } from './nats-server.ts';

let folder: string;
let home: Home;
let nats: NatsServer;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'roundsman-nats-'));
  home = new Home(join(folder, 'home'));
  home.create();
  nats = await startNats({ home, binary: bringNats(() => undefined), port: await freePort(), monitorPort: await freePort(), identities: [createCredential(agentIdentity('node-1'))] });
});
afterEach(async () => {
  await nats.stop();
  rmSync(folder, { recursive: true, force: true });
});

it('a machine may connect as soon as a reload is done, also when several join at once, and no more once it is forgotten', async () => {
  const machines = ['far', 'near', 'there'].map((node) => ({ node, agent: createCredential(agentIdentity(node)), runner: createCredential(runnerIdentity(`default-${node}`, node)), ingress: createCredential(ingressIdentity(node)) }));
  const buses: Bus[] = [];
  const lost = Promise.withResolvers<Error>();
  await Promise.all(
    machines.map(async ({ node, agent, runner, ingress }) => {
      addMember(home, { node, agentKey: agent.publicKey, runnerKey: runner.publicKey, ingressKey: ingress.publicKey });
      await nats.reload();
      for (const { name, seed } of [agent, ingress]) buses.push(await connectBus({ servers: nats.url, identity: name, seed, onFatal: (error) => lost.resolve(error) }));
    }),
  );
  expect(removeMember(home, 'far')).toBe(true);
  await nats.reload();
  expect((await lost.promise).message).toMatch(/authorization/i);
  await Promise.all(buses.map((bus) => bus.close()));
});

it('a change that NATS does not take is an error that says where to look', async () => {
  writeFileSync(home.file('keys', 'members.json'), JSON.stringify([{ node: 'far', agentKey: 'no key', runnerKey: 'no key', joinedAt: new Date().toISOString() }]));
  await expect(nats.reload()).rejects.toThrow(/NATS did not load its new configuration within 5 s; .*nats\.log says why/);
});

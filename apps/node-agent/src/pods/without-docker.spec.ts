import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Health, type ServiceContext } from '@roundsman/service';
import { eventually, startNats, type TestNats } from '@roundsman/testkit';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { absentRuntime } from '../containers/absent-runtime.ts';
import { settingsSchema, type Settings } from '../settings.ts';
import { FakeIntake } from '../testing/fake-intake.ts';
import { MemoryNetwork, networkStateOf } from '../testing/memory-network.ts';
import { PodHost } from './pod-host.ts';

describe('a node without a container runtime', () => {
  let nats: TestNats;
  let folder: string;
  let intake: FakeIntake;
  let host: PodHost;
  beforeAll(async () => {
    [nats, folder] = await Promise.all([startNats(), mkdtemp(join(tmpdir(), 'roundsman-node-'))]);
    intake = new FakeIntake(await nats.connect('intake'), 'node-1');
    await intake.start();
    const config: Settings = settingsSchema.parse({ node: 'node-1', dataDir: folder });
    const context = { config, bus: await nats.connect('agent-node-1'), databaseUrl: undefined, log: pino({ level: 'silent' }), metrics: new Registry(), health: new Health() } as unknown as ServiceContext<Settings>;
    host = new PodHost(context, absentRuntime('no Docker daemon is set'), new MemoryNetwork(), networkStateOf(), { cpu: '4', memory: '4Gi', pods: '110' });
    await host.start();
  });
  afterAll(async () => {
    await host.stop();
    await nats.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('says so as a condition, and to the pods that were bound to it all the same; they can be deleted', async () => {
    expect(host.condition()).toEqual({ type: 'ContainersRunnable', status: 'False', reason: 'NoContainerRuntime', message: 'no Docker daemon is set' });
    intake.create('stuck', { containers: [{ name: 'main', image: 'busybox:1.35' }] });
    await eventually(() => expect(intake.events('stuck')).toEqual(['FailedCreatePodSandBox: Failed to create pod sandbox: no Docker daemon is set']));
    await eventually(() => expect(intake.status('stuck')).toMatchObject({ phase: 'Pending', containerStatuses: [{ state: { waiting: { reason: 'ContainerCreating' } } }] }));
    intake.delete('stuck');
    await eventually(() => expect(intake.names).toEqual([]));
  });
});

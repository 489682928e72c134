import { createServer as createPlainServer } from 'node:http';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import { createServer as createSecureServer } from 'node:https';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import 'reflect-metadata';
import { PemConverter, X509CertificateGenerator } from '@peculiar/x509';
import type { PodSpecInput } from '@roundsman/api';
import { eventually, whenDocker } from '@roundsman/testkit';
import { NodeRig } from '../testing/node-rig.ts';

const image = 'busybox:1.35';
const within = { within: 40_000 };
type ContainerInput = PodSpecInput['containers'][number];
const container = (script: string, more: Partial<ContainerInput> = {}): ContainerInput => ({ name: 'main', image, command: ['sh', '-c', script], ...more });
/** What fails says so: nothing here is decided by how fast an answer comes. */
const often = { periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 20 };

whenDocker(describe)('probes and hooks of pods', () => {
  let rig: NodeRig;
  beforeAll(async () => {
    rig = await NodeRig.start();
    await rig.up();
  });
  afterEach(async () => {
    for (const name of rig.intake.names) rig.intake.delete(name, 1);
    await eventually(() => expect(rig.intake.names).toEqual([]), within);
  });
  afterAll(() => rig.stop());

  it('readiness by HTTP with a named port, headers and TLS settings as asked; what it says is what Ready says', async () => {
    const serve = 'mkdir /www; touch /www/ready; httpd -f -p 8080 -h /www';
    rig.intake.create('web', {
      containers: [container(serve, { ports: [{ name: 'http', containerPort: 8080 }], readinessProbe: { ...often, httpGet: { path: '/ready', port: 'http', httpHeaders: [{ name: 'X-Probe', value: 'yes' }] } } })],
      terminationGracePeriodSeconds: 1,
    });
    await eventually(() => expect(rig.container('web', 'main')).toMatchObject({ ready: true }), within);
    const id = rig.container('web', 'main')!.containerID!.replace('docker://', '');
    const session = await rig.runtime.exec(id, { command: ['rm', '/www/ready'], stdin: false, tty: false }, new AbortController().signal);
    await session.exitCode;
    await eventually(() => expect(rig.container('web', 'main')).toMatchObject({ ready: false, restartCount: 0, state: { running: {} } }), within);
    await eventually(() => expect(rig.intake.events('web')).toContain('Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 404'));
    expect(rig.intake.status('web').conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'False', reason: 'ContainersNotReady' }));
  });

  it('liveness: a failing container is ended and started again; startup holds the others back', async () => {
    rig.intake.create('live', {
      containers: [container('trap "exit 0" TERM; touch /up; sleep 1; rm /up; sleep 1000 & wait', { livenessProbe: { ...often, exec: { command: ['cat', '/up'] } } })],
      terminationGracePeriodSeconds: 30,
    });
    rig.intake.create('slow', {
      containers: [
        container('trap "exit 0" TERM; sleep 2 & wait; touch /up; sleep 1000 & wait', {
          startupProbe: { periodSeconds: 1, failureThreshold: 30, timeoutSeconds: 20, exec: { command: ['test', '-f', '/up'] } },
          livenessProbe: { ...often, exec: { command: ['test', '-f', '/up'] } },
        }),
      ],
    });
    rig.intake.create('closed', { containers: [container('sleep 1000', { livenessProbe: { ...often, failureThreshold: 2, terminationGracePeriodSeconds: 1, tcpSocket: { port: 9 } } })] });
    await eventually(() => expect(rig.container('live', 'main')?.restartCount).toBeGreaterThanOrEqual(1), within);
    await eventually(() => expect(rig.intake.events('live')).toContainEqual(expect.stringMatching(/^Unhealthy: Liveness probe failed: cat: can't open '\/up'/)));
    await eventually(() => expect(rig.intake.events('live')).toContain('Killing: Container main failed liveness probe, will be restarted'));
    await eventually(() => expect(rig.container('slow', 'main')).toMatchObject({ started: true, ready: true, restartCount: 0 }), within);
    await eventually(() => expect(rig.container('closed', 'main')?.restartCount).toBeGreaterThanOrEqual(1), within);
    await eventually(() => expect(rig.intake.events('closed')).toContain(`Unhealthy: Liveness probe failed: dial tcp ${rig.intake.status('closed').podIP}:9: connect: connection refused`));
    await eventually(() => expect(rig.intake.seenEvents('closed').find(({ reason }) => reason === 'Unhealthy')?.count).toBeGreaterThanOrEqual(2));
  });

  it('a startup that never comes ends the container', async () => {
    rig.intake.create('never-up', { containers: [container('trap "exit 0" TERM; sleep 1000 & wait', { startupProbe: { ...often, exec: { command: ['false'] } } })] });
    await eventually(() => expect(rig.container('never-up', 'main')?.restartCount).toBeGreaterThanOrEqual(1), within);
    await eventually(() => expect(rig.intake.events('never-up')).toContain('Killing: Container main failed startup probe, will be restarted'));
  });

  it('HTTPS: any certificate will do, plain HTTP will not', async () => {
    const keys = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
    const certificate = await X509CertificateGenerator.createSelfSigned({ name: 'CN=nobody', keys, signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' } });
    const key = PemConverter.encode(await crypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
    let status = 200;
    const secure = createSecureServer({ key, cert: certificate.toString('pem') }, (_, response) => response.writeHead(status).end());
    const plain = createPlainServer((_, response) => response.end());
    await Promise.all([secure, plain].map((server) => new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))));
    const probed = (server: typeof secure | typeof plain) => ({
      hostNetwork: true,
      containers: [container('sleep 1000', { readinessProbe: { ...often, httpGet: { scheme: 'HTTPS' as const, path: '/health', port: (server.address() as { port: number }).port } } })],
    });
    try {
      rig.intake.create('secure', probed(secure));
      rig.intake.create('plain', probed(plain));
      await eventually(() => expect(rig.container('secure', 'main')?.ready).toBe(true), within);
      status = 503;
      await eventually(() => expect(rig.intake.events('secure')).toContain('Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 503'), within);
      await eventually(() => expect(rig.intake.events('plain')).toContainEqual(expect.stringMatching(/^Unhealthy: Readiness probe failed: Get "https:/)), within);
      expect(rig.container('plain', 'main')?.ready).toBe(false);
    } finally {
      secure.close();
      plain.close();
    }
  });

  it('gRPC: the standard health service decides', async () => {
    let status = 1;
    const server = createServer();
    server.on('stream', (stream: ServerHttp2Stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(Buffer.from([0, 0, 0, 0, 2, 8, status]));
    });
    await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
    const { port } = server.address() as { port: number };
    try {
      // On the host's network the pod's address is this machine's.
      rig.intake.create('grpc', { hostNetwork: true, containers: [container('sleep 1000', { readinessProbe: { ...often, grpc: { port } } })] });
      await eventually(() => expect(rig.container('grpc', 'main')?.ready).toBe(true), within);
      status = 2;
      await eventually(() => expect(rig.container('grpc', 'main')?.ready).toBe(false), within);
      await eventually(() => expect(rig.intake.events('grpc')).toContain('Unhealthy: Readiness probe failed: service unhealthy (responded with "NOT_SERVING")'));
    } finally {
      server.close();
    }
  });

  it('postStart comes before the container counts as running; one that fails ends it', async () => {
    rig.intake.create('hooked', { containers: [container('until [ -s /hook ]; do sleep 0.1; done; cat /hook >/dev/termination-log', { lifecycle: { postStart: { exec: { command: ['sh', '-c', 'echo hooked >/hook'] } } } })], restartPolicy: 'Never' });
    rig.intake.create('bad-hook', { containers: [container('trap "exit 0" TERM; sleep 1000 & wait', { lifecycle: { postStart: { exec: { command: ['sh', '-c', 'exit 5'] } } } })] });
    await eventually(() => expect(rig.container('hooked', 'main')?.state.terminated?.message).toBe('hooked\n'), within);
    await eventually(() => expect(rig.intake.events('bad-hook')).toEqual(expect.arrayContaining(['FailedPostStartHook: PostStartHook failed', 'Killing: FailedPostStartHook'])), within);
    await eventually(() => expect(rig.container('bad-hook', 'main')?.restartCount).toBeGreaterThanOrEqual(1), within);
  });
});

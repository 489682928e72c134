import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Pod } from '@roundsman/api';
import { messages, type Bus, type Pipe, type PipeEnding, type PipeRequest } from '@roundsman/bus';
import { eventually, whenDocker } from '@roundsman/testkit';
import { NodeRig } from '../testing/node-rig.ts';

const within = { within: 60_000 };

interface Said extends PipeEnding {
  /** By channel. */
  readonly output: Readonly<Record<number, string>>;
}

/** What the other side says until the pipe ends. */
async function heard(pipe: Pipe): Promise<Said> {
  const output: Record<number, string> = {};
  for await (const item of pipe.incoming) if ('bytes' in item) output[item.channel] = (output[item.channel] ?? '') + Buffer.from(item.bytes).toString();
  return { output, ...(await pipe.closed) };
}

whenDocker(describe)('streams to pods', () => {
  let rig: NodeRig;
  let gateway: Bus;
  let pod: Pod;
  beforeAll(async () => {
    rig = await NodeRig.start();
    await rig.up();
    gateway = await rig.nats.connect('gateway');
    const script = 'echo hello > /tmp/index.html; httpd -p 127.0.0.1:8080 -h /tmp; echo ready; trap "exit 0" TERM; while :; do sleep 1000 & wait; done';
    pod = rig.intake.create('web', { containers: [{ name: 'main', image: 'busybox:1.35', command: ['sh', '-c', script] }] });
    rig.intake.create('failing', { containers: [{ name: 'main', image: 'busybox:1.35', command: ['sh', '-c', 'echo "a run"; exit 1'] }] });
    await eventually(() => expect(rig.container('web', 'main')?.state?.running).toBeDefined(), within);
    await eventually(async () => expect((await heard(await logs())).output).toEqual({ 1: 'ready\n' }));
  });
  afterAll(() => rig?.stop());

  const open = (purpose: PipeRequest['purpose'], of: Pod = pod): Promise<Pipe> =>
    gateway.openPipe(rig.node, { namespace: of.metadata.namespace ?? '', pod: of.metadata.name, podUid: of.metadata.uid, purpose });
  const exec = (script: string, more: { stdin?: boolean; tty?: boolean } = {}): Promise<Pipe> =>
    open({ kind: 'exec', container: 'main', command: ['sh', '-c', script], stdin: false, stdout: true, stderr: true, tty: false, ...more });
  const logs = (more: Partial<Extract<PipeRequest['purpose'], { kind: 'logs' }>> = {}, of: Pod = pod): Promise<Pipe> =>
    open({ kind: 'logs', container: 'main', follow: false, previous: false, timestamps: false, ...more }, of);

  it('exec has input, both outputs and the exit code', async () => {
    const pipe = await exec('cat; echo wrong >&2; exit 5', { stdin: true });
    await pipe.write(0, Buffer.from('some input'));
    await pipe.end(0);
    expect(await heard(pipe)).toEqual({ output: { 1: 'some input', 2: 'wrong\n' }, exitCode: 5 });
  });

  it('exec carries megabytes both ways at the pace of the slower side', async () => {
    const pipe = await exec('cat', { stdin: true });
    const bytes = 'x'.repeat(4 << 20);
    const sent = pipe.write(0, Buffer.from(bytes)).then(() => pipe.end(0));
    const said = await heard(pipe);
    await sent;
    expect(said.output[1] === bytes).toBe(true);
    expect(said.exitCode).toBe(0);
  });

  it('a terminal has the size that was told', async () => {
    const pipe = await exec('until stty size 2>/dev/null | grep -q 99; do sleep 0.1; done; stty size', { tty: true });
    await pipe.write(4, Buffer.from(JSON.stringify({ Width: 99, Height: 33 })));
    expect((await heard(pipe)).output[1]).toBe('33 99\r\n');
  });

  it('a program whose client goes away sees the end of its input', async () => {
    const pipe = await exec('cat > /dev/null; touch /tmp/client-went', { stdin: true });
    await pipe.write(0, Buffer.from('x'));
    pipe.abort('the client went away');
    await eventually(async () => expect(await heard(await exec('test -e /tmp/client-went'))).toMatchObject({ exitCode: 0 }));
  });

  it('attach reads what the container says from now on', async () => {
    const talker = rig.intake.create('talker', { restartPolicy: 'Never', containers: [{ name: 'main', image: 'busybox:1.35', stdin: true, stdinOnce: true, command: ['sh', '-c', 'read name; echo "hello $name"; exit 3'] }] });
    await eventually(() => expect(rig.container('talker', 'main')?.state?.running).toBeDefined(), within);
    const pipe = await open({ kind: 'attach', container: 'main', stdin: true, stdout: true, stderr: true, tty: false }, talker);
    await pipe.write(0, Buffer.from('you\n'));
    expect(await heard(pipe)).toEqual({ output: { 1: 'hello you\n' } });
  });

  it('logs of this run and of the one before', async () => {
    expect((await heard(await logs())).output).toEqual({ 1: 'ready\n' });
    await expect(logs({ previous: true })).rejects.toMatchObject({ code: 400, message: 'previous terminated container "main" in pod "web" not found' });
    const failing = rig.intake.get('failing');
    await eventually(() => expect(rig.container('failing', 'main')?.restartCount).toBeGreaterThan(0), within);
    expect((await heard(await logs({ previous: true }, failing))).output[1]).toBe('a run\n');
  });

  it('logs that are followed end with the container, or with who follows', async () => {
    const counting = rig.intake.create('counting', { restartPolicy: 'Never', containers: [{ name: 'main', image: 'busybox:1.35', command: ['sh', '-c', 'for i in 1 2 3; do echo $i; sleep 0.3; done'] }] });
    await eventually(() => expect(rig.container('counting', 'main')?.state?.running ?? rig.container('counting', 'main')?.state?.terminated).toBeDefined(), within);
    expect(await heard(await logs({ follow: true }, counting))).toEqual({ output: { 1: '1\n2\n3\n' } });
    const pipe = await logs({ follow: true });
    pipe.abort('seen enough');
    expect(await pipe.closed).toMatchObject({ error: 'seen enough' });
  });

  it('a forwarded port is the pod’s localhost; one where nobody listens is refused in words', async () => {
    const pipe = await open({ kind: 'port', port: 8080 });
    await pipe.write(0, Buffer.from('GET /index.html HTTP/1.0\r\n\r\n'));
    await pipe.end(0);
    expect((await heard(pipe)).output[1]).toMatch(/200 OK[^]*hello\n$/);
    await expect(open({ kind: 'port', port: 81 })).rejects.toThrow('failed to connect to localhost:81 inside the pod: connect ECONNREFUSED');
  });

  it('what is not there is refused in Kubernetes’ words', async () => {
    const other = { ...pod, metadata: { ...pod.metadata, uid: 'another-uid' } };
    await expect(logs({}, other)).rejects.toMatchObject({ code: 404, message: 'pods "web" not found' });
    const stuck = rig.intake.create('stuck', { containers: [{ name: 'main', image: '127.0.0.1:1/nothing:1' }] });
    await eventually(async () => expect(logs({}, stuck)).rejects.toMatchObject({ code: 400, message: expect.stringMatching(/container "main" in pod "stuck" is waiting to start: (image can't be pulled|trying and failing to pull image)/) as unknown }), within);
    await expect(open({ kind: 'exec', container: 'main', command: ['true'], stdin: false, stdout: true, stderr: true, tty: false }, stuck)).rejects.toThrow('container not found ("main")');
  });

  it('stats tell what the node and its pods use', async () => {
    rig.intake.create('busy', { containers: [{ name: 'main', image: 'busybox:1.35', command: ['sh', '-c', 'while :; do :; done'], resources: { requests: { cpu: '500m' } } }] });
    await eventually(() => expect(rig.container('busy', 'main')?.state?.running).toBeDefined(), within);
    // On a busy machine it gets its share of a processor a little later.
    await eventually(async () => {
      const stats = await gateway.request(messages.nodeStats, { node: rig.node }, {});
      const of = (name: string) => stats.pods.find((one) => one.name === name)?.containers[0];
      expect(stats.windowSeconds).toBeGreaterThanOrEqual(1);
      expect(of('busy')?.cpuNanoCores).toBeGreaterThan(50_000_000);
      expect(of('web')?.cpuNanoCores).toBeLessThan(of('busy')?.cpuNanoCores ?? 0);
      expect(of('web')?.memoryBytes).toBeGreaterThan(0);
      expect(stats.node.cpuNanoCores).toBeGreaterThanOrEqual(of('busy')?.cpuNanoCores ?? 0);
      expect(stats.node.memoryBytes).toBeGreaterThan(10 << 20);
    });
  });
});

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { whenDocker } from '@roundsman/testkit';
import { PodLab } from './testing/pod-lab.ts';
import { containerOf, forEver, unprivileged } from './testing/pods.ts';

whenDocker(describe)('containers on Docker', () => {
  let lab: PodLab;
  beforeAll(async () => {
    lab = await PodLab.start();
  });
  afterAll(() => lab?.stop());

  it('knows how a run went', async () => {
    const { spec, container } = await lab.run('exit 3', { annotations: { hash: 'abc' }, attempt: 2 });
    expect(container).toMatchObject({ podUid: spec.podUid, name: 'main', attempt: 2, image: 'busybox:1.35', oomKilled: false, annotations: { hash: 'abc' } });
    const ended = await lab.ended(container.id);
    expect(ended).toMatchObject({ id: container.id, state: 'exited', exitCode: 3 });
    expect(ended.pid).toBeUndefined();
    expect(Date.parse(ended.finishedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(ended.startedAt ?? ''));
    const [pod] = await lab.runtime.pods();
    expect(pod).toMatchObject({ podUid: spec.podUid, namespace: 'default', podName: 'web', sandbox: { running: true }, containers: [ended] });
    await lab.runtime.removePod(spec.podUid);
    expect(await lab.runtime.inspect(container.id)).toBeUndefined();
  });

  it('takes command and arguments as Kubernetes does', async () => {
    const image = 'busybox:entrypoint';
    const said = async (more: { command?: string[]; args?: string[] }): Promise<string> => {
      const [spec, sandbox] = await lab.pod();
      const { command: _, ...config } = containerOf(spec, sandbox.id, '', { image });
      const { id } = await lab.runtime.startContainer({ ...config, ...more });
      const printed = await lab.output(id);
      await lab.runtime.removePod(spec.podUid);
      return printed;
    };
    expect(await Promise.all([said({}), said({ args: ['a', 'b'] }), said({ command: ['/bin/echo', 'mine'] }), said({ command: ['/bin/echo', 'mine'], args: ['a'] })])).toEqual([
      'entrypoint cmd\n',
      'entrypoint a b\n',
      'mine\n',
      'mine a\n',
    ]);
  });

  it('has its environment, folder, user, groups and files', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'roundsman-mounts-'));
    mkdirSync(join(folder, 'dir'));
    writeFileSync(join(folder, 'file'), 'from the host\n');
    const { printed } = await lab.outcome('echo $NAME "$OTHER"; pwd; id -u; id -g; id -G; cat /etc/one; touch /data/made 2>&1 || echo read-only; touch /new 2>&1', {
      env: [['NAME', 'value'], ['OTHER', 'with = and spaces']],
      workingDir: '/home',
      security: { ...unprivileged, user: '1001:1002', supplementalGroups: [2000, 3000], readOnlyRootFilesystem: true },
      mounts: [
        { hostPath: join(folder, 'file'), containerPath: '/etc/one', readOnly: false },
        { hostPath: join(folder, 'dir'), containerPath: '/data', readOnly: true },
      ],
    });
    expect(printed.split('\n')).toEqual(['value with = and spaces', '/home', '1001', '1002', '1002 2000 3000', 'from the host', 'touch: /data/made: Read-only file system', 'read-only', 'touch: /new: Read-only file system', '']);
    rmSync(folder, { recursive: true });
  });

  it('refuses a mount whose source is not there', async () => {
    const [spec, sandbox] = await lab.pod();
    const start = lab.runtime.startContainer(containerOf(spec, sandbox.id, 'true', { mounts: [{ hostPath: '/no/such/folder', containerPath: '/data', readOnly: false }] }));
    await expect(start).rejects.toMatchObject({ code: 'Create', message: expect.stringContaining('bind source path does not exist: /no/such/folder') as unknown });
    await lab.runtime.removePod(spec.podUid);
  });

  it('has the capabilities it was given, and no more', async () => {
    const capabilities = async (security: Partial<typeof unprivileged>): Promise<bigint> => {
      const { printed } = await lab.outcome('grep CapEff /proc/self/status | cut -f2', { security: { ...unprivileged, ...security } });
      return BigInt(`0x${printed.trim()}`);
    };
    const netAdmin = 1n << 12n;
    const [plain, added, dropped] = await Promise.all([capabilities({}), capabilities({ addCapabilities: ['NET_ADMIN'] }), capabilities({ dropCapabilities: ['ALL'] })]);
    expect(plain & netAdmin).toBe(0n);
    expect(added).toBe(plain | netAdmin);
    expect(dropped).toBe(0n);
    const flags = await lab.outcome('grep NoNewPrivs /proc/self/status', { security: { ...unprivileged, noNewPrivileges: true } });
    expect(flags.printed).toMatch(/1$/m);
  });

  it('may be privileged where the machine lets the daemon', async () => {
    const lastCapability = Number(readFileSync('/proc/sys/kernel/cap_last_cap', 'utf8'));
    const bounding = BigInt(`0x${/^CapBnd:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'}`);
    const all = (1n << BigInt(lastCapability + 1)) - 1n;
    const privileged = lab.outcome('grep CapEff /proc/self/status | cut -f2', { security: { ...unprivileged, privileged: true } });
    if (bounding === all) expect(BigInt(`0x${(await privileged).printed.trim()}`)).toBe(all);
    else await expect(privileged).rejects.toMatchObject({ code: 'Start', message: expect.stringContaining('unable to apply caps') as unknown });
  });

  it('is held to its limits; memory beyond them ends it', async () => {
    const cgroup = 'cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu/cpu.shares 2>/dev/null || cat /sys/fs/cgroup/cpu.max /sys/fs/cgroup/cpu.weight';
    // More cores than there are is no error in Kubernetes.
    const limited = await lab.outcome(cgroup, { resources: { cpuLimitMillis: 64_500, cpuRequestMillis: 250 } });
    expect(limited.printed).toMatch(/^6450000\s+(256|100000)/);
    // Its first process outlives the one that is killed: of a container that is gone the daemon may not hear why.
    const { container } = await lab.outcome('(x=$(head -c 100000000 /dev/zero | tr "\\0" x); echo survived); code=$?; sleep 2; exit $code', { resources: { memoryLimitBytes: 16 << 20 } });
    expect(container).toMatchObject({ exitCode: 137, oomKilled: true });
  });

  it('says that a command or an image is not there', async () => {
    const [spec, sandbox] = await lab.pod();
    const config = containerOf(spec, sandbox.id, '');
    await expect(lab.runtime.startContainer({ ...config, command: ['/no/such'] })).rejects.toMatchObject({ code: 'Start', message: expect.stringContaining('/no/such') as unknown });
    expect((await lab.runtime.pods())[0]?.containers).toEqual([expect.objectContaining({ state: 'exited', exitCode: 127, problem: expect.stringContaining('no such file or directory') as unknown })]);
    await expect(lab.runtime.startContainer({ ...config, attempt: 1, image: 'no-such-image:1' })).rejects.toMatchObject({ code: 'ImageNotFound', message: 'No such image: no-such-image:1' });
    await lab.runtime.removePod(spec.podUid);
  });

  it('is made anew when an earlier agent had not come to start it', async () => {
    const [spec, sandbox] = await lab.pod();
    const config = containerOf(spec, sandbox.id, forEver);
    const { id } = await lab.runtime.startContainer(config);
    await expect(lab.runtime.startContainer(config)).rejects.toMatchObject({ code: 'Create', message: expect.stringContaining('is already in use') as unknown });
    await lab.runtime.removeContainer(id);
    await lab.docker.request('POST', `/containers/create?name=k8s_main_web_default_${spec.podUid}_0`, {
      Image: 'busybox:1.35',
      Labels: { 'roundsman.io/cluster': 'home', 'roundsman.io/node': 'node-1', 'io.kubernetes.pod.uid': spec.podUid, 'io.kubernetes.container.name': 'main' },
    });
    expect((await lab.runtime.startContainer(config)).state).toBe('running');
    await lab.runtime.removePod(spec.podUid);
  });

  it('stops by TERM, and by KILL when its time is up', async () => {
    const willing = await lab.run(forEver);
    await lab.trapped(willing.container.id);
    await lab.runtime.stopContainer(willing.container.id, 30_000);
    expect(await lab.runtime.inspect(willing.container.id)).toMatchObject({ state: 'exited', exitCode: 0 });
    const deaf = await lab.run('trap "" TERM; while :; do sleep 1000 & wait; done');
    const before = Date.now();
    await lab.runtime.stopContainer(deaf.container.id, 1_000);
    expect(Date.now() - before).toBeGreaterThan(900);
    expect(await lab.runtime.inspect(deaf.container.id)).toMatchObject({ state: 'exited', exitCode: 137 });
    const at0 = await lab.run('trap "exit 0" TERM; while :; do sleep 1000 & wait; done');
    await lab.runtime.stopContainer(at0.container.id, 0);
    expect(await lab.runtime.inspect(at0.container.id)).toMatchObject({ exitCode: 137 });
    await lab.runtime.stopContainer(at0.container.id, 0);
    await lab.runtime.stopContainer('0123456789ab', 1_000);
    await lab.runtime.removeContainer('0123456789ab');
    for (const { spec } of [willing, deaf, at0]) await lab.runtime.removePod(spec.podUid);
  });

  it('is never seen by another node of the same daemon', async () => {
    const other = lab.runtimeOf('node-2');
    const { spec, container } = await lab.run(forEver);
    expect(await other.pods()).toEqual([]);
    expect(await other.inspect(container.id)).toBeUndefined();
    await other.removePod(spec.podUid);
    expect((await lab.runtime.inspect(container.id))?.state).toBe('running');
    await expect(other.startSandbox(spec)).rejects.toMatchObject({ code: 'Sandbox', message: expect.stringContaining('belongs to another node or cluster') as unknown });
    await lab.runtime.removePod(spec.podUid);
    await other.close();
  });
});

whenDocker(describe)('images on Docker', () => {
  let lab: PodLab;
  beforeAll(async () => {
    lab = await PodLab.start();
  });
  afterAll(() => lab?.stop());

  it('are there or not', async () => {
    expect(await lab.runtime.image('busybox:1.35')).toMatchObject({ user: '', id: expect.stringContaining('sha256:') as unknown });
    expect(await lab.runtime.image('busybox')).toMatchObject({ user: '' });
    expect(await lab.runtime.image('busybox:uid1000')).toMatchObject({ user: '1000:1000' });
    expect(await lab.runtime.image('no-such-image:1')).toBeUndefined();
  });

  it('that cannot be pulled fail with the daemon’s words', async () => {
    // A registry that is not there, on this machine: no name has to be resolved.
    await expect(lab.runtime.pull('127.0.0.1:1/nothing:1')).rejects.toMatchObject({ code: 'ImagePull', message: expect.stringContaining('connection refused') as unknown });
    await expect(lab.runtime.pull('Not A Reference')).rejects.toMatchObject({ code: 'ImagePull', message: expect.stringContaining('invalid reference format') as unknown });
  });
});

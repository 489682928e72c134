import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { PodSpecInput } from '@roundsman/api';
import { eventually, whenDocker } from '@roundsman/testkit';
import { NodeRig } from '../testing/node-rig.ts';

const image = 'busybox:1.35';
const within = { within: 60_000 };

whenDocker(describe)('what a container finds', () => {
  let rig: NodeRig;
  let host: string;
  beforeAll(async () => {
    [rig, host] = await Promise.all([NodeRig.start(), mkdtemp(join(tmpdir(), 'roundsman-host-'))]);
    await rig.up();
    rig.intake.configMaps.set('settings', { color: 'blue', 'app.conf': 'a=1\n', 'not-a-name=': 'x' });
    rig.intake.secrets.set('keys', { password: 's3cret' });
  });
  afterEach(async () => {
    for (const name of rig.intake.names) rig.intake.delete(name, 1);
    await eventually(() => expect(rig.intake.names).toEqual([]), within);
    expect(await readdir(join(rig.folder, 'pods'))).toEqual([]);
  });
  afterAll(async () => {
    await rig.stop();
    await rm(host, { recursive: true, force: true });
  });

  /** Runs the script to its end; what it writes to its standard output. */
  const output = async (name: string, script: string, container: Partial<PodSpecInput['containers'][number]> = {}, spec: Partial<PodSpecInput> = {}): Promise<string> => {
    rig.intake.create(name, { restartPolicy: 'Never', ...spec, containers: [{ name: 'main', image, command: ['sh', '-c', `{ ${script}; } >/dev/termination-log 2>&1`], ...container }] }, { labels: { app: 'web', tier: 'front' } });
    await eventually(() => expect(rig.container(name, 'main')?.state.terminated).toBeDefined(), within);
    return rig.container(name, 'main')?.state.terminated?.message ?? '';
  };

  it('in its environment: values, fields, resources, keys, and what refers to them', async () => {
    const text = await output('env', 'echo "$A|$B|$NAME|$NODE|$UID_|$APP|$CPU|$MEM|$COLOR|$PASSWORD|$NONE|$pre_color|$HOST|$1"', {
      command: ['sh', '-c', '{ echo "$A|$B|$C|$NAME|$NODE|$APP|$CPU|$MEM|$COLOR|$PASSWORD|$NONE|$pre_color|$HOST|$0"; } >/dev/termination-log', '$(A)-$$(A)'],
      resources: { limits: { cpu: '500m', memory: '64Mi' } },
      envFrom: [{ prefix: 'pre_', configMapRef: { name: 'settings' } }, { configMapRef: { name: 'absent', optional: true } }],
      env: [
        { name: 'A', value: 'a' },
        { name: 'B', value: '$(A)b$(C)$$(A)' },
        { name: 'C', value: 'c' },
        { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
        { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
        { name: 'APP', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
        { name: 'HOST', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } },
        { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1m' } } },
        { name: 'MEM', valueFrom: { resourceFieldRef: { resource: 'limits.memory' } } },
        { name: 'COLOR', valueFrom: { configMapKeyRef: { name: 'settings', key: 'color' } } },
        { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'keys', key: 'password' } } },
        { name: 'NONE', valueFrom: { secretKeyRef: { name: 'keys', key: 'none', optional: true } } },
      ],
    });
    expect(text).toBe(`a|ab$(C)$(A)|c|env|node-1|web|500|67108864|blue|s3cret||blue|${rig.docker.gateway}|a-$(A)\n`);
    await eventually(() => expect(rig.intake.events('env')).toContainEqual(expect.stringContaining('Keys [pre_not-a-name=] from the EnvFrom configMap default/settings were skipped')));
  });

  it('in its volumes: keys, fields, several in one, with modes and owners; memory; a subPath; what is read only', async () => {
    await mkdir(join(host, 'data'));
    await writeFile(join(host, 'data', 'file'), 'host file\n');
    const script = [
      'cat /config/app.conf /config/sub/renamed /secret/password; echo',
      'stat -Lc "%a %u %g" /secret/password /config/sub/renamed /empty /shared',
      'cat /downward/labels; echo; cat /downward/name; echo',
      'ls /all | tr "\\n" " "',
      'cat /single; cat /host/file',
      'echo no >/host/file || true',
      'mount | grep -c "on /memory type tmpfs"',
      'df -k /memory | tail -1 | tr -s " " | cut -d" " -f2',
      'id -G',
      'ls -d /empty/by-web',
    ].join('; ');
    const text = await output(
      'volumes',
      script,
      {
        env: [{ name: 'POD', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } }],
        volumeMounts: [
          { name: 'config', mountPath: '/config' },
          { name: 'secret', mountPath: '/secret' },
          { name: 'downward', mountPath: '/downward' },
          { name: 'all', mountPath: '/all' },
          { name: 'config', mountPath: '/single', subPath: 'app.conf' },
          { name: 'host', mountPath: '/host', readOnly: true, subPath: 'data' },
          { name: 'memory', mountPath: '/memory' },
          { name: 'empty', mountPath: '/shared', subPathExpr: 'by-$(POD)' },
          { name: 'empty', mountPath: '/empty' },
        ],
      },
      {
        securityContext: { fsGroup: 4321, supplementalGroups: [77] },
        volumes: [
          { name: 'config', configMap: { name: 'settings', items: [{ key: 'app.conf', path: 'app.conf' }, { key: 'color', path: 'sub/renamed', mode: 0o400 }] } },
          { name: 'secret', secret: { secretName: 'keys', defaultMode: 0o600 } },
          { name: 'downward', downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }, { path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
          { name: 'all', projected: { sources: [{ secret: { name: 'keys' } }, { configMap: { name: 'settings', items: [{ key: 'color', path: 'color' }] } }, { downwardAPI: { items: [{ path: 'ns', fieldRef: { fieldPath: 'metadata.namespace' } }] } }] } },
          { name: 'host', hostPath: { path: host, type: 'Directory' } },
          { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
          { name: 'empty', emptyDir: {} },
        ],
      },
    );
    expect(text.split('\n')).toEqual([
      'a=1',
      'blues3cret',
      '640 0 4321',
      '440 0 4321',
      '2777 0 4321',
      '2777 0 4321',
      'app="web"',
      'tier="front"',
      'volumes',
      'color ns password a=1',
      'host file',
      expect.stringContaining('Read-only file system'),
      '1',
      '1024',
      '0 77 4321',
      '/empty/by-web',
      '',
    ]);
  });

  it('as /etc/hosts: its own names and the aliases; its host name; its rights', async () => {
    const text = await output(
      'named',
      'hostname; grep -v "^#" /etc/hosts | grep -E "box|alias"; id -u; id -g; touch /x; grep NoNewPrivs /proc/self/status; cat /etc/resolv.conf',
      { securityContext: { runAsUser: 1000, runAsGroup: 2000, readOnlyRootFilesystem: true, allowPrivilegeEscalation: false } },
      { hostname: 'box', subdomain: 'sub', hostAliases: [{ ip: '192.0.2.1', hostnames: ['alias', 'other'] }], dnsPolicy: 'None', dnsConfig: { nameservers: ['192.0.2.53'], searches: ['example.org'], options: [{ name: 'ndots', value: '3' }] } },
    );
    expect(text.split('\n')).toEqual([
      'box',
      `${rig.intake.status('named').podIP}\tbox.sub.default.svc.cluster.local\tbox`,
      '192.0.2.1\talias\tother',
      '1000',
      '2000',
      expect.stringContaining('Read-only file system'),
      'NoNewPrivs:\t1',
      expect.stringMatching(/^search example.org|^nameserver/),
      expect.stringMatching(/nameserver 192.0.2.53|search example.org/),
      'options ndots:3',
      '',
    ]);
  });

  it('follows a changed ConfigMap in its volume, all at once; a subPath leads nowhere else', async () => {
    rig.intake.create('follower', {
      containers: [{ name: 'main', image, command: ['sh', '-c', 'trap "exit 0" TERM; until grep -q green /config/color; do sleep 0.1; done; readlink /config/color >/dev/termination-log'], volumeMounts: [{ name: 'config', mountPath: '/config' }] }],
      volumes: [{ name: 'config', configMap: { name: 'settings' } }],
      restartPolicy: 'Never',
    });
    await eventually(() => expect(rig.intake.status('follower').phase).toBe('Running'), within);
    rig.intake.configMaps.set('settings', { color: 'green' });
    for (const worker of rig.host.manager.workers.values()) worker.refreshVolumes();
    await eventually(() => expect(rig.container('follower', 'main')?.state.terminated).toMatchObject({ exitCode: 0, message: '..data/color\n' }), within);

    await symlink('/etc', join(host, 'out'));
    rig.intake.create('escape', { containers: [{ name: 'main', image, volumeMounts: [{ name: 'host', mountPath: '/host', subPath: 'out/ssl' }] }], volumes: [{ name: 'host', hostPath: { path: host } }] });
    await eventually(() => expect(rig.container('escape', 'main')?.state.waiting).toMatchObject({ reason: 'CreateContainerConfigError', message: expect.stringContaining('leads out of its volume') }), within);
  });
});

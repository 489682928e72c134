import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Pod } from '@roundsman/api';
import { eventually, freePort, whenDocker } from '@roundsman/testkit';
import { SmallCluster } from './small-cluster.ts';

const image = 'busybox:1.35';
const podOf = (name: string, spec: object, labels: Record<string, string> = {}) => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name, labels: { app: name, ...labels } }, spec: { terminationGracePeriodSeconds: 0, ...spec } });

/** MiniK8s acceptance, pods: every parameter has its effect, localhost between containers, shared volumes, placement. */
whenDocker(describe)('pods of a small cluster', () => {
  let cluster: SmallCluster;
  beforeAll(async () => {
    cluster = await SmallCluster.start(['one', 'two', 'three']);
  });
  afterAll(() => cluster?.stop());

  const ready = (pod: string): Promise<string> => cluster.must(['wait', '--for=condition=Ready', `pod/${pod}`, '--timeout=60s']);
  const exec = (pod: string, container: string, script: string): Promise<string> => cluster.must(['exec', pod, '-c', container, '--', 'sh', '-c', script]);

  it('are what their manifest says, in every parameter, as Docker shows', async () => {
    const host = join(cluster.folder, 'shared');
    mkdirSync(host);
    writeFileSync(join(host, 'greeting'), 'hello\n');
    const hostPort = await freePort();
    await cluster.must(['create', 'configmap', 'settings', '--from-literal=level=high', '--from-literal=file.txt=from the map']);
    await cluster.must(['create', 'secret', 'generic', 'access', '--from-literal=password=s3cret']);
    await cluster.apply(
      podOf('full', {
        volumes: [
          { name: 'host', hostPath: { path: host, type: 'Directory' } },
          { name: 'scratch', emptyDir: {} },
          { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '8Mi' } },
          { name: 'map', configMap: { name: 'settings' } },
          { name: 'hidden', secret: { secretName: 'access' } },
          { name: 'about', downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
        ],
        initContainers: [{ name: 'prepare', image, command: ['sh', '-c', 'echo prepared > /scratch/note'], volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }] }],
        containers: [
          {
            name: 'server',
            image,
            command: ['sh', '-c'],
            args: ['echo "served by $POD_NAME" > /tmp/index.html; exec httpd -f -v -p 8080 -h /tmp'],
            workingDir: '/var',
            env: [{ name: 'LITERAL', value: 'as is' }, { name: 'COMPOSED', value: '$(LITERAL), $$(kept)' }, { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }, { name: 'LEVEL', valueFrom: { configMapKeyRef: { name: 'settings', key: 'level' } } }, { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'access', key: 'password' } } }],
            ports: [{ containerPort: 8080, hostPort }],
            resources: { requests: { cpu: '100m', memory: '16Mi' }, limits: { cpu: '250m', memory: '64Mi' } },
            volumeMounts: [{ name: 'host', mountPath: '/host' }, { name: 'scratch', mountPath: '/scratch' }, { name: 'memory', mountPath: '/fast' }, { name: 'map', mountPath: '/etc/one.txt', subPath: 'file.txt' }, { name: 'hidden', mountPath: '/hidden', readOnly: true }, { name: 'about', mountPath: '/about' }],
            securityContext: { capabilities: { add: ['NET_ADMIN'], drop: ['MKNOD'] } },
            readinessProbe: { httpGet: { port: 8080, path: '/' }, periodSeconds: 1 },
          },
          { name: 'other', image: 'busybox:1.36', command: ['sleep', '1000'], securityContext: { runAsUser: 1000, runAsGroup: 3000, readOnlyRootFilesystem: true } },
        ],
      }),
    );
    await ready('full');
    const server = await cluster.inspect('full', 'server');
    expect(server.Config).toMatchObject({ Image: expect.any(String), Entrypoint: ['sh', '-c'], WorkingDir: '/var' });
    expect(server.Config.Cmd).toEqual(['echo "served by $POD_NAME" > /tmp/index.html; exec httpd -f -v -p 8080 -h /tmp']);
    expect(server.Config.Env).toEqual(expect.arrayContaining(['LITERAL=as is', 'COMPOSED=as is, $(kept)', 'POD_NAME=full', 'LEVEL=high', 'PASSWORD=s3cret']));
    expect(server.HostConfig).toMatchObject({ CpuPeriod: 100_000, CpuQuota: 25_000, Memory: 64 << 20, CapAdd: expect.arrayContaining([expect.stringMatching(/NET_ADMIN$/)]), CapDrop: expect.arrayContaining([expect.stringMatching(/MKNOD$/)]), ReadonlyRootfs: false });
    expect(server.Mounts.find(({ Destination }) => Destination === '/host')).toMatchObject({ Source: host, RW: true });
    expect(server.Mounts.find(({ Destination }) => Destination === '/hidden')).toMatchObject({ RW: false });
    const other = await cluster.inspect('full', 'other');
    expect(other.Config.User).toBe('1000:3000');
    expect(other.HostConfig).toMatchObject({ ReadonlyRootfs: true, NetworkMode: server.HostConfig['NetworkMode'], IpcMode: server.HostConfig['IpcMode'] });
    expect((await exec('full', 'other', 'id -u; id -g; echo $IMAGE_VERSION')).trim().split('\n')).toEqual(['1000', '3000', '1.36']);

    expect(await exec('full', 'server', 'cat /host/greeting /scratch/note /etc/one.txt /hidden/password /about/labels; pwd')).toBe('hello\nprepared\nfrom the maps3cretapp="full"/var\n');
    expect(await exec('full', 'server', 'grep /fast /proc/mounts')).toMatch(/^tmpfs \/fast tmpfs .*size=8192k/);
    await exec('full', 'server', 'echo back > /host/answer');
    expect(readFileSync(join(host, 'answer'), 'utf8')).toBe('back\n');
    const hostIP = await cluster.must(['get', 'pod', 'full', '-o', 'jsonpath={.status.hostIP}']);
    expect(await (await fetch(`http://${hostIP}:${hostPort}/`)).text()).toBe('served by full\n');
    expect((await cluster.must(['get', 'pod', 'full'])).trim().split('\n')[1]).toMatch(/^full +2\/2 +Running +0 /);
    const told = [/Normal +Scheduled .* Successfully assigned default\/full to /, /Normal +Pulled .* Container image "busybox:1.36" already present on machine/, /Normal +Created .* Created container: server/, /Normal +Started .* Started container other/];
    await eventually(async () => {
      const described = await cluster.must(['describe', 'pod', 'full']);
      for (const event of told) expect(described).toMatch(event);
    });
  });

  it('share an address: containers reach each other on localhost', async () => {
    await cluster.apply(podOf('pair', { containers: [{ name: 'server', image, command: ['sh', '-c', 'echo here > /tmp/index.html; exec httpd -f -p 8000 -h /tmp'] }, { name: 'client', image, command: ['sleep', '1000'] }] }));
    await ready('pair');
    await eventually(async () => expect(await exec('pair', 'client', 'wget -qO- http://localhost:8000/')).toBe('here\n'));
    const address = await cluster.must(['get', 'pod', 'pair', '-o', 'jsonpath={.status.podIP}']);
    for (const container of ['server', 'client']) expect(await exec('pair', container, 'ip -4 addr show eth0')).toContain(address);
    // And from another pod, on whatever node.
    expect(await exec('full', 'server', `wget -qO- http://${address}:8000/`)).toBe('here\n');
  });

  it('share volumes: what one container writes the other reads', async () => {
    const mount = (path: string, more: object = {}) => ({ volumeMounts: [{ name: 'common', mountPath: path, ...more }] });
    await cluster.apply(podOf('writers', { volumes: [{ name: 'common', emptyDir: {} }], containers: [{ name: 'a', image, command: ['sleep', '1000'], ...mount('/left') }, { name: 'b', image, command: ['sleep', '1000'], ...mount('/right', { readOnly: true }) }] }));
    await ready('writers');
    await exec('writers', 'a', 'echo from a > /left/file');
    expect(await exec('writers', 'b', 'cat /right/file')).toBe('from a\n');
    const refused = await cluster.kubectl(['exec', 'writers', '-c', 'b', '--', 'sh', '-c', 'echo x > /right/file']);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('Read-only file system')]);
  });

  it('are spread over the nodes by what they ask for; who decided, and why, is told', async () => {
    const sleeper = { containers: [{ name: 'main', image, command: ['sleep', '1000'], resources: { requests: { cpu: '600m' } } }] };
    await cluster.apply(...['a', 'b', 'c'].map((name) => podOf(`spread-${name}`, sleeper)));
    for (const name of ['a', 'b', 'c']) await ready(`spread-${name}`);
    const nodesOf = async (...pods: string[]): Promise<string[]> => Promise.all(pods.map((pod) => cluster.must(['get', 'pod', pod, '-o', 'jsonpath={.spec.nodeName}'])));
    // Least allocated and balanced: each goes where most is left.
    expect((await nodesOf('spread-a', 'spread-b', 'spread-c')).sort()).toEqual(['one', 'three', 'two']);
    const [node] = await nodesOf('spread-a');
    await eventually(async () => expect(await cluster.must(['describe', 'pod', 'spread-a'])).toMatch(new RegExp(`Scheduled .* Successfully assigned default/spread-a to ${node}`)));

    // By name, by label, by keeping away from another.
    await cluster.must(['label', 'node', 'two', 'disk=ssd']);
    const apart = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: { matchLabels: { group: 'apart' } }, topologyKey: 'kubernetes.io/hostname' }] } };
    const small = { containers: [{ name: 'main', image, command: ['sleep', '1000'] }] };
    await cluster.apply(podOf('by-label', { ...small, nodeSelector: { disk: 'ssd' } }), podOf('by-name', { ...small, nodeName: 'three' }), ...['x', 'y', 'z'].map((name) => podOf(`apart-${name}`, { ...small, affinity: apart }, { group: 'apart' })));
    for (const pod of ['by-label', 'by-name', 'apart-x', 'apart-y', 'apart-z']) await ready(pod);
    expect(await nodesOf('by-label', 'by-name')).toEqual(['two', 'three']);
    expect((await nodesOf('apart-x', 'apart-y', 'apart-z')).sort()).toEqual(['one', 'three', 'two']);

    // What fits nowhere waits, says why, and goes as soon as there is room.
    await cluster.apply(podOf('too-many', { ...small, affinity: apart }, { group: 'apart' }), podOf('too-big', { containers: [{ name: 'main', image, resources: { requests: { cpu: '64' } } }] }));
    const message = (pod: string): Promise<string> => cluster.must(['get', 'pod', pod, '-o', 'jsonpath={.status.phase} {.status.conditions[?(@.type=="PodScheduled")].message}']);
    await eventually(async () => expect(await message('too-big')).toMatch(/^Pending 0\/3 nodes are available: 3 Insufficient cpu\. preemption: 0\/3 nodes are available: /));
    await eventually(async () => expect(await message('too-many')).toMatch(/^Pending 0\/3 nodes are available: 3 node\(s\) didn't match pod anti-affinity rules\./));
    await cluster.must(['delete', 'pod', 'apart-y', '--now']);
    await ready('too-many');
  });

  it('are restarted when they crash, slower and slower, and say how they ended', async () => {
    await cluster.apply(podOf('crasher', { containers: [{ name: 'main', image, command: ['sh', '-c', 'echo "attempt of $HOSTNAME"; exit 3'] }] }));
    await eventually(async () => expect((await cluster.must(['get', 'pod', 'crasher'])).trim().split('\n')[1]).toMatch(/^crasher +0\/1 +CrashLoopBackOff +[1-9]/), { within: 40_000 });
    await eventually(async () => expect((await cluster.get<Pod>('pod', 'crasher')).status?.containerStatuses?.[0]).toMatchObject({ state: { waiting: { reason: 'CrashLoopBackOff', message: expect.stringMatching(/^back-off [1248]0s restarting failed container=main pod=crasher_default\(/) } }, lastState: { terminated: { exitCode: 3, reason: 'Error' } } }));
    expect(await cluster.must(['logs', 'crasher', '--previous'])).toBe('attempt of crasher\n');
  });

  it('that cannot start say what is wrong', async () => {
    await cluster.apply(
      // Refused at once: no name server is asked, and none is waited for.
      podOf('no-image', { containers: [{ name: 'main', image: '127.0.0.1:1/nothing:1' }] }),
      podOf('no-command', { containers: [{ name: 'main', image, command: ['/no/such/program'] }] }),
      podOf('no-folder', { volumes: [{ name: 'v', hostPath: { path: '/no/such/folder', type: 'Directory' } }], containers: [{ name: 'main', image, volumeMounts: [{ name: 'v', mountPath: '/v' }] }] }),
    );
    await eventually(async () => {
      const lines = await cluster.must(['get', 'pods', 'no-image', 'no-command', 'no-folder', '--no-headers']);
      expect(lines).toMatch(/no-image +0\/1 +(ErrImagePull|ImagePullBackOff) /);
      expect(lines).toMatch(/no-command +0\/1 +(RunContainerError|CrashLoopBackOff) /);
      expect(lines).toMatch(/no-folder +0\/1 +(ContainerCreating|Pending) /);
    }, { within: 30_000 });
    await eventually(async () => expect(await cluster.must(['describe', 'pod', 'no-command'])).toContain('no such file or directory'));
    await eventually(async () => expect(await cluster.must(['describe', 'pod', 'no-folder'])).toMatch(/Warning +FailedMount .*hostPath type check failed: \/no\/such\/folder is not a directory/));
    await cluster.must(['delete', 'pod', '--all', '--now']);
    // What keeps the nodes' own networks belongs to no pod.
    await eventually(async () => {
      const left = (await cluster.docker.request('GET', '/containers/json?all=1')) as { Labels: Record<string, string> }[];
      expect(left.filter(({ Labels }) => Labels['io.kubernetes.pod.namespace'] !== '')).toEqual([]);
    });
    expect(cluster.dead()).toEqual([]);
  });
});

import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '@roundsman/api';
import { eventually, whenDocker } from '@roundsman/testkit';
import { age, SmallCluster } from './small-cluster.ts';

const within = { within: 30_000 };
const claim = (name: string, spec: object = {}) => ({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name }, spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec } });
const volume = (name: string, path: string, spec: object = {}) => ({ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name }, spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path }, ...spec } });
const user = (name: string, claimName: string, script: string, more: { mount?: object; volume?: object; pod?: object } = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: {
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 0,
    containers: [{ name: 'main', image: 'busybox:1.35', command: ['sh', '-c', script], volumeMounts: [{ name: 'data', mountPath: '/data', ...more.mount }] }],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName, ...more.volume } }],
    ...more.pod,
  },
});

/** MiniK8s acceptance, persistent storage: volumes are bound and made, data outlive pods and go only with the volume. */
whenDocker(describe)('storage in a small cluster', () => {
  let cluster: SmallCluster;
  beforeAll(async () => {
    cluster = await SmallCluster.start(['one', 'two']);
  });
  afterAll(() => cluster?.stop());

  const bound = (name: string): Promise<string> => cluster.must(['wait', '--for=jsonpath={.status.phase}=Bound', `pvc/${name}`, '--timeout=60s']);
  const gone = (what: string): Promise<string> => cluster.must(['delete', what, '--wait=true', '--timeout=60s']);
  /** Runs a pod to its end; what it says. */
  async function output(pod: ReturnType<typeof user>): Promise<string> {
    const { name } = pod.metadata;
    await cluster.apply(pod);
    await cluster.must(['wait', '--for=jsonpath={.status.phase}=Succeeded', `pod/${name}`, '--timeout=60s']);
    return (await cluster.must(['logs', name])).trim();
  }
  const volumeOf = async (name: string): Promise<PersistentVolume> => cluster.get<PersistentVolume>('pv', (await cluster.get<PersistentVolumeClaim>('pvc', name)).spec.volumeName ?? '');
  const eventsOf = async (name: string): Promise<string> => cluster.must(['get', 'events', '--field-selector', `involvedObject.name=${name}`, '-o', 'jsonpath={range .items[*]}{.reason}: {.message}{"\\n"}{end}']);

  it('a directory that is there is bound, kept by pods one after the other, and left alone at the end', async () => {
    const path = join(cluster.folder, 'disk');
    mkdirSync(path);
    await cluster.apply(volume('disk', path, { storageClassName: 'manual' }), claim('static', { storageClassName: 'manual' }));
    await bound('static');
    expect(await cluster.must(['get', 'pv,pvc'])).toMatch(new RegExp(`persistentvolume/disk +1Gi +RWO +Retain +Bound +default/static +manual +<unset> +${age}\\n[^]*persistentvolumeclaim/static +Bound +disk +1Gi +RWO +manual +<unset> +${age}`));
    await cluster.apply(claim('hopeless', { storageClassName: '' }));
    await eventually(async () => expect(await eventsOf('hopeless')).toContain('FailedBinding: no persistent volumes available for this claim and no storage class is set'), within);
    await output(user('writer', 'static', 'echo kept > /data/file'));
    expect(await output(user('reader', 'static', 'cat /data/file; touch /data/x 2>&1 || true', { volume: { readOnly: true } }))).toMatch(/^kept\ntouch: .*Read-only file system$/);
    expect(await cluster.must(['describe', 'pvc', 'static'])).toMatch(/Used By: +reader\n +writer/);
    await gone('pod/writer');
    await gone('pod/reader');
    await gone('pvc/static');
    await eventually(async () => expect((await cluster.get<PersistentVolume>('pv', 'disk')).status?.phase).toBe('Released'), within);
    expect(readFileSync(join(path, 'file'), 'utf8')).toBe('kept\n');
    await cluster.must(['delete', 'pv/disk', 'pvc/hopeless']);
  });

  it('a claim without a volume gets one on the node of its pod; it outlives pods, and its directory goes with it', async () => {
    await cluster.apply(claim('fresh'));
    expect((await cluster.get<PersistentVolumeClaim>('pvc', 'fresh')).spec.storageClassName).toBe('local');
    await eventually(async () => expect(await eventsOf('fresh')).toContain('WaitForFirstConsumer: waiting for first consumer to be created before binding'), within);
    expect(await output(user('a', 'fresh', 'echo from-a > /data/file; id; stat -c %g /data', { pod: { securityContext: { runAsUser: 1000, fsGroup: 2000 } } }))).toMatch(/groups=.*2000[^]*\n2000$/);
    const made = await volumeOf('fresh');
    const path = made.spec.hostPath?.path ?? '';
    const { nodeName } = (await cluster.get<Pod>('pod', 'a')).spec;
    expect(readFileSync(join(path, 'file'), 'utf8')).toBe('from-a\n');
    expect(await output(user('b', 'fresh', 'cat /data/file; echo from-b >> /data/file'))).toBe('from-a');
    expect((await cluster.get<Pod>('pod', 'b')).spec.nodeName).toBe(nodeName);
    // A pod that may not be where its data are waits, and says why.
    await cluster.apply(user('elsewhere', 'fresh', 'true', { pod: { nodeSelector: { 'kubernetes.io/hostname': nodeName === 'one' ? 'two' : 'one' } } }));
    await eventually(async () => expect(await eventsOf('elsewhere')).toContain('1 node(s) had volume node affinity conflict'), within);
    for (const pod of ['a', 'b', 'elsewhere']) await gone(`pod/${pod}`);
    await cluster.apply(user('later', 'fresh', 'cat /data/sub; sleep 600', { mount: { subPath: 'file', mountPath: '/data/sub' } }));
    await cluster.must(['wait', '--for=condition=Ready', 'pod/later', '--timeout=60s']);
    await eventually(async () => expect((await cluster.must(['logs', 'later'])).trim()).toBe('from-a\nfrom-b'));
    // It stays while a pod has it.
    await cluster.must(['delete', 'pvc/fresh', '--wait=false']);
    expect(await cluster.must(['get', 'pvc', 'fresh'])).toContain('Terminating');
    await gone('pod/later');
    await eventually(async () => expect([(await cluster.kubectl(['get', 'pv', made.metadata.name])).code, existsSync(path)]).toEqual([1, false]), within);
  });

  it('a volume that is to be retained keeps its data though claim and volume go, and another claim gets them', async () => {
    await cluster.apply({ apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name: 'kept' }, provisioner: 'roundsman.io/local', reclaimPolicy: 'Retain', volumeBindingMode: 'WaitForFirstConsumer' }, claim('precious', { storageClassName: 'kept' }));
    expect(await cluster.must(['describe', 'sc', 'kept'])).toMatch(/Provisioner: +roundsman\.io\/local\n[^]*ReclaimPolicy: +Retain\nVolumeBindingMode: +WaitForFirstConsumer/);
    await output(user('first', 'precious', 'echo kept > /data/file'));
    const made = await volumeOf('precious');
    const path = made.spec.hostPath?.path ?? '';
    expect(await cluster.must(['describe', 'pv', made.metadata.name])).toMatch(/StorageClass: +kept\nStatus: +Bound\nClaim: +default\/precious\nReclaim Policy: +Retain[^]*Node Affinity:[^]*Path: +\/.*pvc-/);
    expect(await cluster.must(['explain', 'pv.spec.persistentVolumeReclaimPolicy'])).toMatch(/ENUM:\n +Delete\n +Recycle\n +Retain\n/);
    await gone('pod/first');
    await gone('pvc/precious');
    await eventually(async () => expect((await cluster.get<PersistentVolume>('pv', made.metadata.name)).status?.phase).toBe('Released'), within);
    await gone(`pv/${made.metadata.name}`);
    expect(readFileSync(join(path, 'file'), 'utf8')).toBe('kept\n');
    await cluster.apply(volume('again', path, { nodeAffinity: made.spec.nodeAffinity }), claim('again', { storageClassName: '' }));
    await bound('again');
    expect(await output(user('second', 'again', 'cat /data/file'))).toBe('kept');
    await gone('pod/second');
    await gone('pvc/again');
    await gone('pv/again');
    expect(existsSync(join(path, 'file'))).toBe(true);
  });

  it('a stateful set finds its data again after it was scaled down and up', async () => {
    const labels = { app: 'db' };
    await cluster.apply({
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'db' },
      spec: {
        replicas: 2,
        serviceName: 'db',
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: 'busybox:1.35', command: ['sh', '-c', 'echo run >> /data/runs; sleep 600'], volumeMounts: [{ name: 'data', mountPath: '/data' }] }] } },
        volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10Mi' } } } }],
      },
    });
    const ready = (count: number): Promise<string> => cluster.must(['rollout', 'status', 'sts/db', '--timeout=60s'], { timeoutMs: 70_000 }).then((said) => (count > 0 ? said : ''));
    await ready(2);
    await cluster.must(['scale', 'sts/db', '--replicas=1']);
    await eventually(async () => expect((await cluster.kubectl(['get', 'pod', 'db-1'])).code).toBe(1), within);
    expect((await cluster.must(['get', 'pvc', '-o', 'name'])).trim().split('\n')).toEqual(['persistentvolumeclaim/data-db-0', 'persistentvolumeclaim/data-db-1']);
    await cluster.must(['scale', 'sts/db', '--replicas=2']);
    await ready(2);
    await eventually(async () => expect(await cluster.must(['exec', 'db-1', '--', 'cat', '/data/runs'])).toBe('run\nrun\n'), within);
    await cluster.must(['delete', 'sts/db']);
    await cluster.must(['delete', 'pvc', '--all', '--timeout=60s'], { timeoutMs: 70_000 });
  });

  it('a volume on a server that this machine cannot mount says what is missing', async () => {
    await cluster.apply(
      { ...volume('remote', '', { storageClassName: 'manual' }), spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteMany'], storageClassName: 'manual', nfs: { server: '127.0.0.1', path: '/nowhere' } } },
      claim('remote', { storageClassName: 'manual', accessModes: ['ReadWriteMany'] }),
      user('hopeful', 'remote', 'true'),
    );
    await eventually(async () => expect(await eventsOf('hopeful')).toContain('FailedMount: MountVolume.SetUp failed for volume "data" : mounting 127.0.0.1:/nowhere failed'), within);
    await gone('pod/hopeful');
  });
});

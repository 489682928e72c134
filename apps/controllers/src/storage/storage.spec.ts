import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { storageAnnotations, volumesFolderAnnotation, type KubeObject, type Node, type PersistentVolume, type PersistentVolumeClaim, type Pod } from '@roundsman/api';
import { messages } from '@roundsman/bus';
import { TestCluster } from '../testing/cluster.ts';

const settings = { ROUNDSMAN_CONTROLLERS_NODE_LOST_MS: '1500' };
let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start(settings);
  cluster.nodes.tells = (node) => ({ annotations: { [volumesFolderAnnotation]: `/volumes/${node}` } });
  cluster.nodes.join('n1');
  await cluster.until(async () => expect((await cluster.get('nodes', 'n1'))?.metadata.annotations?.[volumesFolderAnnotation]).toBe('/volumes/n1'));
});
afterAll(() => cluster.stop());

const claims = 'persistentvolumeclaims';
const volumes = 'persistentvolumes';
const volume = (name: string, spec: object = {}) =>
  cluster.create<PersistentVolume>({ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name }, spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: `/data/${name}` }, storageClassName: 'manual', ...spec } });
const claim = (name: string, spec: object = {}) =>
  cluster.create<PersistentVolumeClaim>({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name }, spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, storageClassName: 'manual', ...spec } });
const storageClass = (name: string, body: object) => cluster.create({ apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name }, ...body });
const user = (name: string, claimName: string) =>
  cluster.create<Pod>({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'c', image: 'x' }], volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }] } });
const stateOf = async (name: string) => {
  const found = await cluster.get<PersistentVolumeClaim>(claims, name);
  return found && [found.status?.phase, found.spec.volumeName];
};
const phaseOf = async (name: string) => (await cluster.get<PersistentVolume>(volumes, name))?.status?.phase;
const select = (name: string, node: string) => cluster.edit<PersistentVolumeClaim>(claims, name, ({ metadata }) => void (metadata.annotations = { ...metadata.annotations, [storageAnnotations.selectedNode]: node }));
/** What the agent of a node is to remove; it says that it has. */
async function agentRemoves(node: string): Promise<string[]> {
  const { volumes: asked } = await cluster.bus.request(messages.nodeVolumes, { node }, {});
  for (const { metadata } of asked) await cluster.bus.request(messages.nodeWrite, { node }, { operation: 'volumeRemoved', name: metadata.name, uid: metadata.uid ?? '' });
  return asked.map(({ metadata }) => metadata.name);
}

afterEach(async () => {
  for (const resource of ['pods', claims, volumes]) for (const { metadata } of await cluster.list(resource)) await cluster.delete(resource, metadata.name).catch(() => undefined);
  await cluster.until(async () => {
    await agentRemoves('n1');
    expect([...(await cluster.list(claims)), ...(await cluster.list(volumes))].map(({ metadata }) => metadata.name)).toEqual([]);
  });
});

describe('volumes that are there', () => {
  it('are bound to the claims that they fit, and kept when these go', async () => {
    await volume('large', { capacity: { storage: '5Gi' } });
    await volume('small');
    await cluster.until(async () => expect([await phaseOf('large'), await phaseOf('small')]).toEqual(['Available', 'Available']));
    await claim('first');
    await cluster.until(async () => expect([await stateOf('first'), await phaseOf('small')]).toEqual([['Bound', 'small'], 'Bound']));
    expect(await cluster.get(claims, 'first')).toMatchObject({
      metadata: { annotations: { [storageAnnotations.bindCompleted]: 'yes', [storageAnnotations.boundByController]: 'yes' } },
      status: { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } },
    });
    const unlucky = await claim('huge', { resources: { requests: { storage: '50Gi' } } });
    await cluster.until(async () => expect(await cluster.events(unlucky)).toEqual([expect.stringContaining('ProvisioningFailed: storageclass.storage.k8s.io "manual" not found')]));
    // As soon as there is one, it gets it.
    await volume('huge', { capacity: { storage: '50Gi' } });
    await cluster.until(async () => expect(await stateOf('huge')).toEqual(['Bound', 'huge']));
    await cluster.delete(claims, 'first');
    await cluster.until(async () => expect([await stateOf('first'), await phaseOf('small')]).toEqual([undefined, 'Released']));
    // Nobody gets what another has left in it.
    await claim('next');
    await cluster.until(async () => expect(await stateOf('next')).toEqual(['Bound', 'large']));
  });

  it('are bound by name, or not and it is said why', async () => {
    await volume('mine', { claimRef: { namespace: 'default', name: 'owner' } });
    const other = await claim('other', { volumeName: 'mine' });
    const classless = await claim('classless', { storageClassName: '' });
    await cluster.until(async () => expect(await cluster.events(other)).toEqual(['FailedBinding: volume "mine" already bound to a different claim.']));
    await cluster.until(async () => expect(await cluster.events(classless)).toEqual(['FailedBinding: no persistent volumes available for this claim and no storage class is set']));
    await claim('owner');
    await cluster.until(async () => expect(await stateOf('owner')).toEqual(['Bound', 'mine']));
  });

  it('stay while a claim has them, and the claim while a pod has it', async () => {
    await volume('used');
    await cluster.until(async () => expect(await phaseOf('used')).toBe('Available'));
    await claim('busy');
    await cluster.until(async () => expect(await stateOf('busy')).toEqual(['Bound', 'used']));
    await user('reader', 'busy');
    await cluster.until(async () => expect(await cluster.readyPods()).toHaveLength(1));
    await cluster.delete(volumes, 'used');
    await cluster.delete(claims, 'busy');
    await cluster.until(async () => expect((await cluster.get(claims, 'busy'))?.metadata.finalizers).toEqual(['kubernetes.io/pvc-protection']));
    await claim('probe', { storageClassName: '' });
    expect([await phaseOf('used'), (await stateOf('busy'))?.[0]]).toEqual(['Bound', 'Bound']);
    await cluster.delete('pods', 'reader');
    await cluster.until(async () => expect([await stateOf('busy'), await phaseOf('used')]).toEqual([undefined, undefined]));
  });

  it('are not taken for a pod whose node has gone: they may be out of its reach', async () => {
    await storageClass('waiting', { provisioner: 'kubernetes.io/no-provisioner', volumeBindingMode: 'WaitForFirstConsumer' });
    await volume('near', { storageClassName: 'waiting', nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['n1'] }] }] } } });
    await cluster.until(async () => expect(await phaseOf('near')).toBe('Available'));
    await claim('early', { storageClassName: 'waiting' });
    await select('early', 'n9');
    await cluster.until(async () => expect((await cluster.get(claims, 'early'))?.metadata.annotations?.[storageAnnotations.selectedNode]).toBeUndefined());
    expect([await stateOf('early'), await phaseOf('near')]).toEqual([['Pending', undefined], 'Available']);
  });

  it('are missed when somebody takes them away', async () => {
    await volume('gone');
    // Seen before the claim comes: else the claim rightly looks for a class first, and says that there is none.
    await cluster.until(async () => expect(await phaseOf('gone')).toBe('Available'));
    const made = await claim('left');
    await cluster.until(async () => expect(await stateOf('left')).toEqual(['Bound', 'gone']));
    await cluster.delete(volumes, 'gone');
    await cluster.edit<PersistentVolume>(volumes, 'gone', ({ metadata }) => void (metadata.finalizers = []));
    await cluster.until(async () => expect(await cluster.events(made)).toEqual(['ClaimLost: Bound claim has lost its PersistentVolume. Data on the volume is lost!']));
    expect(await stateOf('left')).toEqual(['Lost', 'gone']);
  });
});

describe('volumes that are made', () => {
  it('lie on the node of the first pod, and go with their claims once the node has removed what is in them', async () => {
    const made = await claim('dynamic', { storageClassName: undefined });
    expect(made.spec.storageClassName).toBe('local');
    await cluster.until(async () => expect(await cluster.events(made)).toEqual(['WaitForFirstConsumer: waiting for first consumer to be created before binding']));
    await select('dynamic', 'n1');
    const name = `pvc-${made.metadata.uid}`;
    await cluster.until(async () => expect(await stateOf('dynamic')).toEqual(['Bound', name]));
    await cluster.until(async () => expect(await cluster.events(made)).toContain(`ProvisioningSucceeded: Successfully provisioned volume ${name}`));
    expect(await cluster.get(volumes, name)).toMatchObject({
      spec: { hostPath: { path: `/volumes/n1/${name}` }, persistentVolumeReclaimPolicy: 'Delete', nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['n1'] }] }] } } },
    });
    await cluster.edit<PersistentVolumeClaim>(claims, 'dynamic', ({ spec }) => void (spec.resources.requests = { storage: '3Gi' }));
    await cluster.until(async () => expect((await cluster.get<PersistentVolumeClaim>(claims, 'dynamic'))?.status?.capacity).toEqual({ storage: '3Gi' }));
    await cluster.delete(claims, 'dynamic');
    await cluster.until(async () => expect((await cluster.get(volumes, name))?.metadata.finalizers).toEqual(['roundsman.io/volume-directory']));
    // No other node may say that it is gone.
    const { uid } = (await cluster.get(volumes, name))!.metadata;
    await expect(cluster.bus.request(messages.nodeWrite, { node: 'n2' }, { operation: 'volumeRemoved', name, uid })).rejects.toMatchObject({ code: 403 });
    const said = { name, uid, message: 'the directory of the volume is not removed: it is busy' };
    await expect(cluster.bus.request(messages.nodeWrite, { node: 'n2' }, { operation: 'volumeKept', ...said })).rejects.toMatchObject({ code: 403 });
    await cluster.bus.request(messages.nodeWrite, { node: 'n1' }, { operation: 'volumeKept', ...said });
    expect((await cluster.get<PersistentVolume>(volumes, name))?.status).toMatchObject({ phase: 'Failed', message: said.message });
    expect(await agentRemoves('n1')).toEqual([name]);
    await cluster.until(async () => expect(await cluster.get(volumes, name)).toBeUndefined());
  });

  it('keep what is in them when they are to be retained', async () => {
    await storageClass('kept', { provisioner: 'roundsman.io/local', volumeBindingMode: 'WaitForFirstConsumer', reclaimPolicy: 'Retain' });
    const made = await claim('precious', { storageClassName: 'kept' });
    await select('precious', 'n1');
    const name = `pvc-${made.metadata.uid}`;
    await cluster.until(async () => expect(await stateOf('precious')).toEqual(['Bound', name]));
    await cluster.delete(claims, 'precious');
    await cluster.until(async () => expect(await phaseOf(name)).toBe('Released'));
    await cluster.delete(volumes, name);
    await cluster.until(async () => expect(await cluster.get(volumes, name)).toBeUndefined());
    expect(await agentRemoves('n1')).toEqual([]);
  });

  it('stay while a pod has them, though their claim was taken away from under it', async () => {
    await storageClass('server-used', { provisioner: 'roundsman.io/nfs', parameters: { server: '10.0.0.9', path: '/exports' } });
    const made = await claim('torn', { storageClassName: 'server-used' });
    const name = `pvc-${made.metadata.uid}`;
    await cluster.until(async () => expect(await stateOf('torn')).toEqual(['Bound', name]));
    await user('holder', 'torn');
    await cluster.until(async () => expect(await cluster.readyPods()).toHaveLength(1));
    await cluster.delete(claims, 'torn');
    await cluster.edit<PersistentVolumeClaim>(claims, 'torn', ({ metadata }) => void (metadata.finalizers = []));
    await cluster.until(async () => expect((await cluster.get<PersistentVolume>(volumes, name))?.status).toMatchObject({ phase: 'Failed', message: 'volume is still used by pods: default/holder' }));
    expect((await cluster.get(volumes, name))?.metadata.deletionTimestamp).toBeUndefined();
    await cluster.delete('pods', 'holder');
    await cluster.until(async () => expect(await agentRemoves('n1')).toEqual([name]));
  });

  it('of a node that is gone wait for it, or go without their directory when a person says so', async () => {
    cluster.nodes.join('n7');
    await cluster.until(async () => expect((await cluster.get('nodes', 'n7'))?.metadata.annotations?.[volumesFolderAnnotation]).toBe('/volumes/n7'));
    const made = await claim('stranded', { storageClassName: 'local' });
    await select('stranded', 'n7');
    const name = `pvc-${made.metadata.uid}`;
    await cluster.until(async () => expect(await stateOf('stranded')).toEqual(['Bound', name]));
    cluster.nodes.lose('n7');
    // All of its heartbeats have come: none makes it anew.
    await cluster.until(async () => expect((await cluster.get<Node>('nodes', 'n7'))?.status?.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'Unknown' })));
    await cluster.delete('nodes', 'n7');
    await cluster.delete(claims, 'stranded');
    await cluster.until(async () =>
      expect((await cluster.get<PersistentVolume>(volumes, name))?.status).toMatchObject({ phase: 'Failed', message: `node "n7", on which the directory of the volume lies, is not there: the volume goes when the node is back. If it is gone for good: kubectl delete pv ${name}` }),
    );
    const volume = (await cluster.get<PersistentVolume>(volumes, name))!;
    expect(volume.metadata.deletionTimestamp).toBeUndefined();
    await cluster.delete(volumes, name);
    await cluster.until(async () => expect(await cluster.get(volumes, name)).toBeUndefined());
    await cluster.until(async () => expect(await cluster.events(volume)).toContain(`VolumeDirectoryLeft: node "n7" is not there: the volume goes, its directory /volumes/n7/${name} stays on that machine`));
  });

  it('are told to nobody for removal from the moment on that they are to be retained', async () => {
    const made = await claim('rescued', { storageClassName: 'local' });
    await select('rescued', 'n1');
    const name = `pvc-${made.metadata.uid}`;
    await cluster.until(async () => expect(await stateOf('rescued')).toEqual(['Bound', name]));
    await cluster.delete(claims, 'rescued');
    await cluster.until(async () => expect((await cluster.bus.request(messages.nodeVolumes, { node: 'n1' }, {})).volumes).toHaveLength(1));
    // At once, not only when the controllers have seen it.
    await cluster.stopControllers();
    try {
      await cluster.edit<PersistentVolume>(volumes, name, ({ spec }) => void (spec.persistentVolumeReclaimPolicy = 'Retain'));
      expect(await agentRemoves('n1')).toEqual([]);
    } finally {
      await cluster.startControllers(settings);
    }
    await cluster.until(async () => expect(await cluster.get(volumes, name)).toBeUndefined());
  });

  it('go with the namespace of their claims', async () => {
    await cluster.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'short' } });
    const made = await cluster.create<PersistentVolumeClaim>({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'inside', namespace: 'short', annotations: { [storageAnnotations.selectedNode]: 'n1' } }, spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, storageClassName: 'local' } });
    const name = `pvc-${made.metadata.uid}`;
    await cluster.until(async () => expect(await phaseOf(name)).toBe('Bound'));
    await cluster.delete('namespaces', 'short');
    await cluster.until(async () => expect([...(await agentRemoves('n1')), await cluster.get('namespaces', 'short'), await cluster.get(volumes, name)]).toEqual([undefined, undefined]));
  });

  it('are within reach of every node on a server, at once', async () => {
    await storageClass('server', { provisioner: 'roundsman.io/nfs', parameters: { server: '10.0.0.9', path: '/exports/' } });
    const made = await claim('everywhere', { storageClassName: 'server', accessModes: ['ReadWriteMany'] });
    const name = `pvc-${made.metadata.uid}`;
    await cluster.until(async () => expect(await stateOf('everywhere')).toEqual(['Bound', name]));
    const { spec } = (await cluster.get<PersistentVolume>(volumes, name))!;
    expect([spec.nfs, spec.nodeAffinity]).toEqual([{ server: '10.0.0.9', path: `/exports/${name}` }, undefined]);
  });

  it('that cannot be made are said to be so, and another node is chosen', async () => {
    const made = await claim('nowhere', { storageClassName: 'local' });
    await select('nowhere', 'n9');
    await cluster.until(async () => expect(await cluster.events(made)).toContain('ProvisioningFailed: failed to provision volume with StorageClass "local": node "n9" not found'));
    await cluster.until(async () => expect((await cluster.get(claims, 'nowhere'))?.metadata.annotations?.[storageAnnotations.selectedNode]).toBeUndefined());
  });

  it('belong to the pod that they are ephemeral for', async () => {
    const pod = await cluster.create<Pod>({
      apiVersion: 'v1', kind: 'Pod', metadata: { name: 'scratch' },
      spec: { containers: [{ name: 'c', image: 'x' }], volumes: [{ name: 'tmp', ephemeral: { volumeClaimTemplate: { metadata: { labels: { a: 'b' } }, spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } } } }] },
    });
    await cluster.until(async () => expect(await cluster.get<KubeObject>(claims, 'scratch-tmp')).toMatchObject({ metadata: { labels: { a: 'b' }, ownerReferences: [{ uid: pod.metadata.uid, controller: true }] } }));
    await cluster.delete('pods', 'scratch');
    await cluster.until(async () => expect(await cluster.get(claims, 'scratch-tmp')).toBeUndefined());
  });
});

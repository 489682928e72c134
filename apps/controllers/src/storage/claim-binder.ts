import {
  classOfClaim, compareQuantities, defaultClassOf, isBoundClaim, isClaimedBy, mismatch, storageAnnotations, volumeFor, waitsForConsumer, claimsOf,
  type KubeObject, type PersistentVolume, type PersistentVolumeClaim, type Pod, type StorageClass,
} from '@roundsman/api';
import { byKey, keysOf, objectKey, onChange, onOwnChange, type Deps, type LoopDefinition } from '../loop.ts';
import { isNameTaken } from '../workloads/pods.ts';
import { boundClaim, boundStatus, claimedVolume, fateOfBound, volumeStatus } from './binding.ts';
import { isOwnProvisioner, provisionedName, provisionedVolume, ProvisioningProblem } from './provision.ts';

const noProvisioner = 'kubernetes.io/no-provisioner';
/** A claim that nothing can satisfy is told again so often. */
const resyncMs = 15_000;

/** Gives claims their volumes: one that is there, or one that is made for it. A key is a claim; what is done twice does no harm, each step is looked at anew. */
export function claimBinder({ caches, objects, recorder, log }: Deps): LoopDefinition {
  const tell = recorder.from('persistentvolume-controller');
  const { claims, persistentVolumes: volumes } = caches;

  const classOf = (claim: PersistentVolumeClaim): (StorageClass & KubeObject) | undefined => {
    const name = classOfClaim(claim) ?? '';
    return name === '' ? undefined : caches.storageClasses.get(undefined, name);
  };
  const setStatus = (claim: PersistentVolumeClaim, status: PersistentVolumeClaim['status']): Promise<unknown> => objects.updateStatus(claims, claim, status);
  const pending = (claim: PersistentVolumeClaim): Promise<unknown> => setStatus(claim, { phase: 'Pending' });

  /** First the volume says whose it is, so that no other claim gets it; then the claim. Broken off in between, it is taken up here again. */
  async function bind(claim: PersistentVolumeClaim, volume: PersistentVolume): Promise<void> {
    let given = claimedVolume(volume, claim);
    if (given !== volume) given = await objects.update(volumes, given);
    await objects.updateStatus(volumes, given, volumeStatus(given, 'Bound'));
    const draft = boundClaim(claim, given);
    const next = draft === claim ? claim : await objects.update(claims, draft);
    await setStatus(next, boundStatus(given));
    log.info({ claim: objectKey(claim), volume: given.metadata.name }, 'claim bound');
  }

  async function sync(claim: PersistentVolumeClaim): Promise<void> {
    if (claim.metadata.deletionTimestamp !== undefined) return;
    if (claim.metadata.annotations?.[storageAnnotations.bindCompleted] !== undefined) return syncBound(claim);
    return (claim.spec.volumeName ?? '') === '' ? syncFree(claim) : syncNamed(claim, claim.spec.volumeName ?? '');
  }

  async function syncBound(claim: PersistentVolumeClaim): Promise<void> {
    const name = claim.spec.volumeName ?? '';
    // A volume that the cache has not heard of is not lost.
    const volume = name === '' ? undefined : (volumes.get(undefined, name) ?? ((await caches.stored('persistentvolumes', undefined, name)) as PersistentVolume | undefined));
    const fate = fateOfBound(claim, volume);
    if (fate === 'bind' && volume !== undefined) return bind(claim, volume);
    if (fate === 'keep' && volume !== undefined) return keep(claim, volume);
    if (typeof fate === 'string' || claim.status?.phase === 'Lost') return;
    await setStatus(claim, { phase: 'Lost' });
    tell(claim, 'Warning', fate.reason, fate.message);
  }

  /** Of a directory the size is only written down: a claim that may grow has grown at once. */
  async function keep(claim: PersistentVolumeClaim, volume: PersistentVolume): Promise<void> {
    const asked = claim.spec.resources.requests?.['storage'] ?? '0';
    let given = volume;
    if (compareQuantities(asked, volume.spec.capacity?.['storage'] ?? '0') > 0 && isOwnProvisioner(volume.metadata.annotations?.[storageAnnotations.provisionedBy] ?? '')) {
      given = await objects.update(volumes, { ...volume, spec: { ...volume.spec, capacity: { ...volume.spec.capacity, storage: asked } } });
      tell(claim, 'Normal', 'VolumeResizeSuccessful', `Resize volume succeeded: from ${volume.spec.capacity?.['storage']} to ${asked}`);
    }
    if (given.status?.phase !== 'Bound') await objects.updateStatus(volumes, given, volumeStatus(given, 'Bound'));
    await setStatus(claim, boundStatus(given));
  }

  /** A person has said which volume. */
  async function syncNamed(claim: PersistentVolumeClaim, name: string): Promise<void> {
    const volume = volumes.get(undefined, name);
    if (volume === undefined) return void (await pending(claim));
    if (volume.spec.claimRef !== undefined && !isClaimedBy(volume, claim)) {
      tell(claim, 'Warning', 'FailedBinding', `volume ${JSON.stringify(name)} already bound to a different claim.`);
      return void (await pending(claim));
    }
    const problem = volume.spec.claimRef?.uid === claim.metadata.uid ? undefined : mismatch(volume, claim);
    if (problem === undefined) return bind(claim, volume);
    tell(claim, 'Warning', 'VolumeMismatch', `Cannot bind to requested volume ${JSON.stringify(name)}: ${problem}`);
    await pending(claim);
  }

  async function syncFree(claim: PersistentVolumeClaim): Promise<void> {
    const named = await withClass(claim);
    const own = classOf(named);
    const node = named.metadata.annotations?.[storageAnnotations.selectedNode];
    const delayed = waitsForConsumer(own) && node === undefined;
    const at = node === undefined ? undefined : caches.nodes.get(undefined, node);
    // Of a node that is gone nobody knows what it reaches.
    const volume = volumeFor(named, volumes.list(), { onlyReserved: delayed || (node !== undefined && at === undefined), node: at });
    if (volume !== undefined) return bind(named, volume);
    await pending(named);
    if (delayed) tellWaiting(named);
    else await provision(named, own, node);
  }

  /** Claims from before there was a default class get it when there is one. */
  async function withClass(claim: PersistentVolumeClaim): Promise<PersistentVolumeClaim> {
    if (classOfClaim(claim) !== undefined) return claim;
    const usual = defaultClassOf(caches.storageClasses.list());
    return usual === undefined ? claim : objects.update(claims, { ...claim, spec: { ...claim.spec, storageClassName: usual.metadata.name } });
  }

  const usersOf = (claim: PersistentVolumeClaim): Pod[] => caches.pods.by('namespace', claim.metadata.namespace ?? '').filter((pod) => claimsOf(pod).includes(claim.metadata.name));

  function tellWaiting(claim: PersistentVolumeClaim): void {
    const [pod] = usersOf(claim).filter(({ spec }) => (spec.nodeName ?? '') === '');
    if (pod === undefined) tell(claim, 'Normal', 'WaitForFirstConsumer', 'waiting for first consumer to be created before binding');
    else tell(claim, 'Normal', 'WaitForPodScheduled', `waiting for pod ${pod.metadata.name} to be scheduled`);
  }

  async function provision(claim: PersistentVolumeClaim, own: (StorageClass & KubeObject) | undefined, nodeName: string | undefined): Promise<void> {
    const name = classOfClaim(claim) ?? '';
    if (name === '') return tell(claim, 'Normal', 'FailedBinding', 'no persistent volumes available for this claim and no storage class is set');
    if (own === undefined) return tell(claim, 'Warning', 'ProvisioningFailed', `storageclass.storage.k8s.io ${JSON.stringify(name)} not found`);
    if (own.provisioner === noProvisioner) {
      if (nodeName !== undefined) await reschedule(claim);
      return tell(claim, 'Warning', 'ProvisioningFailed', `no persistent volumes available for this claim: storage class ${JSON.stringify(name)} makes none (${noProvisioner})`);
    }
    if (!isOwnProvisioner(own.provisioner)) return provisionElsewhere(claim, own.provisioner);
    try {
      const node = nodeName === undefined ? undefined : caches.nodes.get(undefined, nodeName);
      if (nodeName !== undefined && node === undefined) throw new ProvisioningProblem(`node ${JSON.stringify(nodeName)} not found`);
      const made = await makeVolume(claim, own, node);
      tell(claim, 'Normal', 'ProvisioningSucceeded', `Successfully provisioned volume ${made.metadata.name}`);
      await bind(claim, made);
    } catch (error) {
      if (!(error instanceof ProvisioningProblem)) throw error;
      tell(claim, 'Warning', 'ProvisioningFailed', `failed to provision volume with StorageClass ${JSON.stringify(name)}: ${error.message}`);
      if (nodeName !== undefined) await reschedule(claim);
    }
  }

  async function makeVolume(claim: PersistentVolumeClaim, own: StorageClass, node: Parameters<typeof provisionedVolume>[2]): Promise<PersistentVolume> {
    const draft = provisionedVolume(claim, own, node);
    try {
      return await objects.create(volumes, draft);
    } catch (error) {
      // Made before, by a leader that did not get further.
      const made = isNameTaken(error) ? ((await caches.stored('persistentvolumes', undefined, provisionedName(claim))) as PersistentVolume | undefined) : undefined;
      if (made === undefined) throw error;
      return made;
    }
  }

  /** A program of its own makes the volume, and finds the claim by these. */
  async function provisionElsewhere(claim: PersistentVolumeClaim, provisioner: string): Promise<void> {
    const wanted = { [storageAnnotations.provisioner]: provisioner, [storageAnnotations.betaProvisioner]: provisioner };
    const { annotations = {} } = claim.metadata;
    if (Object.entries(wanted).some(([key, value]) => annotations[key] !== value)) await objects.update(claims, { ...claim, metadata: { ...claim.metadata, annotations: { ...annotations, ...wanted } } });
    tell(claim, 'Normal', 'ExternalProvisioning', `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`);
  }

  /** The scheduler chooses another node. */
  async function reschedule(claim: PersistentVolumeClaim): Promise<void> {
    const current = claims.byUid(claim.metadata.uid) ?? claim;
    const { [storageAnnotations.selectedNode]: _node, ...annotations } = current.metadata.annotations ?? {};
    await objects.update(claims, { ...current, metadata: { ...current.metadata, annotations } });
  }

  const unbound = (): string[] => claims.list().filter((claim) => !isBoundClaim(claim)).map(objectKey);
  return {
    name: 'persistent-volume-claims',
    resyncMs,
    keys: keysOf(claims),
    wakes: [
      onOwnChange(claims),
      // A volume that is free may be for any claim that waits; one that has a claim is that one's business.
      onChange(volumes, ({ object: { spec, metadata } }) => [...(spec.claimRef === undefined ? unbound() : [`${spec.claimRef.namespace}/${spec.claimRef.name}`]), ...claims.list().filter((claim) => claim.spec.volumeName === metadata.name).map(objectKey)]),
      onChange(caches.storageClasses, unbound),
      onChange(caches.pods, ({ type, object, before }) =>
        type === 'ADDED' || object.spec.nodeName !== before?.spec.nodeName ? claimsOf(object).map((name) => `${object.metadata.namespace}/${name}`) : [],
      ),
    ],
    async reconcile(key) {
      const claim = byKey(claims, key);
      if (claim !== undefined) await sync(claim);
    },
  };
}

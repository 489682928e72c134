import type { WireObject } from '@roundsman/bus';
import { claimsOf, type PersistentVolume, type PersistentVolumeClaim, type Pod } from '@roundsman/api';

/** A claim, and the volume that it is bound to. */
export interface ClaimedVolume {
  readonly claim: PersistentVolumeClaim;
  readonly volume: PersistentVolume | undefined;
}

/** The ConfigMaps and Secrets that a pod refers to and that exist, keys to bytes; and its claims, by name. */
export interface Materials {
  readonly configMaps: ReadonlyMap<string, ReadonlyMap<string, Buffer>>;
  readonly secrets: ReadonlyMap<string, ReadonlyMap<string, Buffer>>;
  readonly claims: ReadonlyMap<string, ClaimedVolume>;
}

/** As intake gives them. */
export interface MaterialObjects {
  readonly configMaps: readonly WireObject[];
  readonly secrets: readonly WireObject[];
  readonly persistentVolumeClaims: readonly WireObject[];
  readonly persistentVolumes: readonly WireObject[];
}

export const noMaterials: Materials = { configMaps: new Map(), secrets: new Map(), claims: new Map() };

type Texts = Readonly<Record<string, string>> | undefined;

const bytes = (texts: Texts, encoding: 'utf8' | 'base64'): [string, Buffer][] => Object.entries(texts ?? {}).map(([key, text]) => [key, Buffer.from(text, encoding)]);

export function materialsOf(reply: MaterialObjects): Materials {
  const member = (object: WireObject, name: string): Texts => object[name] as Texts;
  const volumes = new Map((reply.persistentVolumes as unknown as PersistentVolume[]).map((volume) => [volume.metadata.name, volume]));
  const claims = reply.persistentVolumeClaims as unknown as PersistentVolumeClaim[];
  return {
    claims: new Map(claims.map((claim) => [claim.metadata.name, { claim, volume: volumes.get(claim.spec.volumeName ?? '') }])),
    configMaps: new Map(reply.configMaps.map((object) => [object.metadata.name, new Map([...bytes(member(object, 'data'), 'utf8'), ...bytes(member(object, 'binaryData'), 'base64')])])),
    secrets: new Map(reply.secrets.map((object) => [object.metadata.name, new Map(bytes(member(object, 'data'), 'base64'))])),
  };
}

/** Whether it refers to any: else nobody needs to be asked. */
export function needsMaterials(pod: Pod): boolean {
  const { spec } = pod;
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  const byEnvironment = containers.some(
    ({ env = [], envFrom = [] }) => envFrom.length > 0 || env.some(({ valueFrom }) => valueFrom?.configMapKeyRef !== undefined || valueFrom?.secretKeyRef !== undefined),
  );
  return byEnvironment || hasMaterialVolumes({ spec }) || (spec.imagePullSecrets ?? []).length > 0 || claimsOf(pod).length > 0;
}

export const hasMaterialVolumes = ({ spec }: Pick<Pod, 'spec'>): boolean =>
  (spec.volumes ?? []).some(
    ({ configMap, secret, projected }) => configMap !== undefined || secret !== undefined || (projected?.sources ?? []).some((source) => source.configMap !== undefined || source.secret !== undefined),
  );

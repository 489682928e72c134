import type { WireObject } from '@roundsman/bus';
import type { Pod } from '@roundsman/api';

/** The ConfigMaps and Secrets that a pod refers to and that exist; keys to bytes. */
export interface Materials {
  readonly configMaps: ReadonlyMap<string, ReadonlyMap<string, Buffer>>;
  readonly secrets: ReadonlyMap<string, ReadonlyMap<string, Buffer>>;
}

export const noMaterials: Materials = { configMaps: new Map(), secrets: new Map() };

type Texts = Readonly<Record<string, string>> | undefined;

const bytes = (texts: Texts, encoding: 'utf8' | 'base64'): [string, Buffer][] => Object.entries(texts ?? {}).map(([key, text]) => [key, Buffer.from(text, encoding)]);

export function materialsOf(reply: { readonly configMaps: readonly WireObject[]; readonly secrets: readonly WireObject[] }): Materials {
  const member = (object: WireObject, name: string): Texts => object[name] as Texts;
  return {
    configMaps: new Map(reply.configMaps.map((object) => [object.metadata.name, new Map([...bytes(member(object, 'data'), 'utf8'), ...bytes(member(object, 'binaryData'), 'base64')])])),
    secrets: new Map(reply.secrets.map((object) => [object.metadata.name, new Map(bytes(member(object, 'data'), 'base64'))])),
  };
}

/** Whether it refers to any: else nobody needs to be asked. */
export function needsMaterials({ spec }: Pick<Pod, 'spec'>): boolean {
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  const byEnvironment = containers.some(
    ({ env = [], envFrom = [] }) => envFrom.length > 0 || env.some(({ valueFrom }) => valueFrom?.configMapKeyRef !== undefined || valueFrom?.secretKeyRef !== undefined),
  );
  return byEnvironment || hasMaterialVolumes({ spec }) || (spec.imagePullSecrets ?? []).length > 0;
}

export const hasMaterialVolumes = ({ spec }: Pick<Pod, 'spec'>): boolean =>
  (spec.volumes ?? []).some(
    ({ configMap, secret, projected }) => configMap !== undefined || secret !== undefined || (projected?.sources ?? []).some((source) => source.configMap !== undefined || source.secret !== undefined),
  );

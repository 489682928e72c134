import type { Cause } from '../../kind.ts';
import type { VolumeProjection } from '../../kinds/pod/projection.ts';
import type { DownwardAPIVolumeFile, KeyToPath } from '../../kinds/pod/files.ts';
import { volumeSources, type Volume } from '../../kinds/pod/volume.ts';
import { labelProblem } from '../../names.ts';
import { duplicate, forbiddenField, invalidValue, named, required } from '../causes.ts';
import { claimSpecCauses } from '../storage/claim.ts';
import { fieldRefCauses, resourceRefCauses, volumeFields } from './environment.ts';

/** What is wrong with volumes; `known` are the names of those that are good, which is all that may be mounted. */
export function volumeCauses(volumes: readonly Volume[], field: string): { causes: Cause[]; known: Map<string, Volume> } {
  const known = new Map<string, Volume>();
  const causes = volumes.flatMap((volume, index) => {
    const at = `${field}[${index}]`;
    const found = sourceCauses(volume, at);
    if (volume.name === '') found.push(required(`${at}.name`, ''));
    else found.push(...named(`${at}.name`, volume.name, labelProblem(volume.name)));
    if (known.has(volume.name)) found.push(duplicate(`${at}.name`, volume.name));
    if (found.length === 0) known.set(volume.name, volume);
    return found;
  });
  return { causes, known };
}

/** A volume has one source (emptyDir where none is named); the order is that in which Kubernetes looks. */
const order = ['emptyDir', 'hostPath', 'secret', 'nfs', 'persistentVolumeClaim', 'downwardAPI', 'configMap', 'projected', 'csi', 'ephemeral', 'image'] as const satisfies readonly (typeof volumeSources)[number][];

function sourceCauses(volume: Volume, at: string): Cause[] {
  const given = order.filter((source) => volume[source] !== undefined);
  const [first, ...others] = given;
  if (first === undefined) return [];
  return [...causesOfSource(volume, first, `${at}.${first}`), ...others.map((source) => forbiddenField(`${at}.${source}`, 'may not specify more than 1 volume type'))];
}

function causesOfSource(volume: Volume, source: (typeof order)[number], field: string): Cause[] {
  const { emptyDir, hostPath, secret, configMap, downwardAPI, projected, nfs, persistentVolumeClaim } = volume;
  if (source === 'emptyDir' && emptyDir?.sizeLimit?.startsWith('-') === true) return [forbiddenField(`${field}.sizeLimit`, 'SizeLimit field must be a valid resource quantity')];
  if (source === 'hostPath' && hostPath !== undefined) return hostPath.path === '' ? [required(`${field}.path`, '')] : noBacksteps(`${field}.path`, hostPath.path);
  if (source === 'secret' && secret !== undefined) return [...needed(`${field}.secretName`, secret.secretName), ...modeCauses(`${field}.defaultMode`, secret.defaultMode), ...itemCauses(secret.items, field)];
  if (source === 'configMap' && configMap !== undefined) return [...needed(`${field}.name`, configMap.name), ...modeCauses(`${field}.defaultMode`, configMap.defaultMode), ...itemCauses(configMap.items, field)];
  if (source === 'downwardAPI' && downwardAPI !== undefined) return [...modeCauses(`${field}.defaultMode`, downwardAPI.defaultMode), ...fileCauses(downwardAPI.items, field)];
  if (source === 'projected' && projected !== undefined) return [...modeCauses(`${field}.defaultMode`, projected.defaultMode), ...projectionCauses(projected.sources ?? [], field)];
  if (source === 'persistentVolumeClaim') return needed(`${field}.claimName`, persistentVolumeClaim?.claimName);
  if (source === 'ephemeral') {
    const template = volume.ephemeral?.volumeClaimTemplate;
    return template === undefined ? [required(`${field}.volumeClaimTemplate`, '')] : claimSpecCauses(template.spec, `${field}.volumeClaimTemplate.spec`);
  }
  if (source === 'nfs' && nfs !== undefined) {
    const absolute = nfs.path === '' || nfs.path.startsWith('/') ? [] : [invalidValue(`${field}.path`, nfs.path, 'must be an absolute path')];
    return [...needed(`${field}.server`, nfs.server), ...needed(`${field}.path`, nfs.path), ...absolute];
  }
  return [];
}

const needed = (field: string, value: string | undefined): Cause[] => ((value ?? '') === '' ? [required(field, '')] : []);
const modeCauses = (field: string, mode: number | undefined): Cause[] =>
  mode !== undefined && (mode < 0 || mode > 0o777) ? [invalidValue(field, mode, 'must be a number between 0 and 0777 (octal), both inclusive')] : [];

export const noBacksteps = (field: string, path: string): Cause[] => (path.split('/').includes('..') ? [invalidValue(field, path, "must not contain '..'")] : []);
/** Below the root of the volume. */
export const descending = (field: string, path: string): Cause[] => [...(path.startsWith('/') ? [invalidValue(field, path, 'must be a relative path')] : []), ...noBacksteps(field, path)];
/** The same, and not one of the names that are kept for writing volumes at one stroke. */
const unreserved = (field: string, path: string): Cause[] => [...descending(field, path), ...(path.startsWith('..') && !path.startsWith('../') && path !== '..' ? [invalidValue(field, path, "must not start with '..'")] : [])];

const itemCauses = (items: readonly KeyToPath[] | undefined, field: string): Cause[] =>
  (items ?? []).flatMap(({ key, path, mode }, index) => {
    const at = `${field}.items[${index}]`;
    return [...needed(`${at}.key`, key), ...needed(`${at}.path`, path), ...unreserved(`${at}.path`, path), ...modeCauses(`${at}.mode`, mode)];
  });

const fileCauses = (items: readonly DownwardAPIVolumeFile[] | undefined, field: string): Cause[] =>
  (items ?? []).flatMap(({ path, fieldRef, resourceFieldRef, mode }) => {
    const causes = [...needed(`${field}.path`, path), ...unreserved(`${field}.path`, path)];
    if (fieldRef !== undefined) causes.push(...fieldRefCauses(fieldRef, volumeFields, `${field}.fieldRef`));
    if (fieldRef !== undefined && resourceFieldRef !== undefined) causes.push(invalidValue(field, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously'));
    else if (resourceFieldRef !== undefined) causes.push(...resourceRefCauses(resourceFieldRef, `${field}.resourceFieldRef`, true));
    else if (fieldRef === undefined) causes.push(required(field, 'one of fieldRef and resourceFieldRef is required'));
    return [...causes, ...modeCauses(`${field}.mode`, mode)];
  });

/** A source of a projected volume is one thing; two files cannot have one path. */
function projectionCauses(sources: readonly VolumeProjection[], field: string): Cause[] {
  const paths = new Set<string>();
  return sources.flatMap((source, index) => {
    const at = `${field}.sources[${index}]`;
    const { secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle } = source;
    const given = [secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle].filter((one) => one !== undefined).length;
    if (given > 1) return [forbiddenField(at, 'may not specify more than 1 volume type per source')];
    const causes: Cause[] = [];
    if (secret !== undefined) causes.push(...needed(`${at}.secret.name`, secret.name), ...itemCauses(secret.items, `${at}.secret`));
    if (configMap !== undefined) causes.push(...needed(`${at}.configMap.name`, configMap.name), ...itemCauses(configMap.items, `${at}.configMap`));
    if (downwardAPI !== undefined) causes.push(...fileCauses(downwardAPI.items, `${at}.downwardAPI`));
    if (serviceAccountToken !== undefined) causes.push(...tokenCauses(serviceAccountToken, `${at}.serviceAccountToken`, `${field}.path`));
    const files = [...(secret?.items ?? []), ...(configMap?.items ?? [])].map(({ path }) => ({ path, whose: secret?.name ?? configMap?.name }));
    for (const { path, whose } of [...files, ...(downwardAPI?.items ?? []).map((file) => ({ path: file.path, whose: file.path }))]) {
      if (paths.has(path)) causes.push(invalidValue(field, whose, 'conflicting duplicate paths'));
      paths.add(path);
    }
    return causes;
  });
}

function tokenCauses({ path, expirationSeconds }: { readonly path: string; readonly expirationSeconds: number }, field: string, pathField: string): Cause[] {
  const causes = expirationSeconds < 600 ? [invalidValue(`${field}.expirationSeconds`, expirationSeconds, 'may not specify a duration less than 10 minutes')] : [];
  return [...causes, ...(path === '' ? [required(pathField, '')] : unreserved(pathField, path))];
}

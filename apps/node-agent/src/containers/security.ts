import type { Container, Pod } from '@roundsman/api';
import type { ContainerConfig, ImageStatus } from '@roundsman/containers';
import { ConfigProblem } from '../environment/environment.ts';

const describe = ({ metadata }: Pod, container: Container): string => `(pod: "${metadata.name}_${metadata.namespace}(${metadata.uid})", container: ${container.name})`;

/** The rights of a container: its own settings go before those of its pod. Throws ConfigProblem when it would run as root and must not. */
export function securityOf(pod: Pod, container: Container, image: Pick<ImageStatus, 'user'>): ContainerConfig['security'] {
  const ofPod = pod.spec.securityContext ?? {};
  const own = container.securityContext ?? {};
  const uid = own.runAsUser ?? ofPod.runAsUser;
  const gid = own.runAsGroup ?? ofPod.runAsGroup;
  if ((own.runAsNonRoot ?? ofPod.runAsNonRoot) === true) refuseRoot(pod, container, uid, image.user);
  const user = uid === undefined ? (gid === undefined ? undefined : `${image.user.split(':')[0] || '0'}:${gid}`) : gid === undefined ? String(uid) : `${uid}:${gid}`;
  return {
    ...(user === undefined ? {} : { user }),
    supplementalGroups: [...new Set([...(ofPod.supplementalGroups ?? []), ...(ofPod.fsGroup === undefined ? [] : [ofPod.fsGroup])])],
    privileged: own.privileged === true,
    addCapabilities: own.capabilities?.add ?? [],
    dropCapabilities: own.capabilities?.drop ?? [],
    readOnlyRootFilesystem: own.readOnlyRootFilesystem === true,
    noNewPrivileges: own.allowPrivilegeEscalation === false,
  };
}

function refuseRoot(pod: Pod, container: Container, uid: number | undefined, imageUser: string): void {
  const problem = (text: string): ConfigProblem => new ConfigProblem(`${text} ${describe(pod, container)}`);
  if (uid !== undefined) {
    if (uid === 0) throw problem("container's runAsUser breaks non-root policy");
    return;
  }
  const user = imageUser.split(':')[0] ?? '';
  if (user === '' || user === '0') throw problem('container has runAsNonRoot and image will run as root');
  if (!/^\d+$/.test(user)) throw problem(`container has runAsNonRoot and image has non-numeric user (${user}), cannot verify user is non-root`);
}

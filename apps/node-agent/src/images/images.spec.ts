import { describe, expect, it } from '@jest/globals';
import { RuntimeProblem, type ImageStatus } from '@roundsman/containers';
import { noMaterials } from '../environment/materials.ts';
import { container, podOf } from '../testing/runs.ts';
import { credentialsFor } from './credentials.ts';
import { Images } from './images.ts';
import { fullReference } from './reference.ts';

const status: ImageStatus = { id: 'sha256:1', digest: 'sha256:1', user: '', bytes: 42 };

describe('names of images', () => {
  it('get a tag where they name none; what is no name is refused in Docker’s words', () => {
    const digest = `sha256:${'a'.repeat(64)}`;
    expect(['busybox', 'busybox:1', 'localhost:5000/a/b', 'docker.io/library/x:y', `x@${digest}`, 'a_b/c-d.e'].map(fullReference)).toEqual(['busybox:latest', 'busybox:1', 'localhost:5000/a/b:latest', 'docker.io/library/x:y', `x@${digest}`, 'a_b/c-d.e:latest']);
    for (const wrong of ['', 'Upper', 'a b', 'x:', '-x', 'x@sha256:short', 'a//b']) expect(() => fullReference(wrong)).toThrow(`couldn't parse image name "${wrong}": invalid reference format`);
  });
});

describe('getting an image', () => {
  const rig = (present: boolean, pull: () => Promise<ImageStatus>) => {
    const told: string[] = [];
    const images = new Images({ image: () => Promise.resolve(present ? status : undefined), pull }, { record: (_pod, type, reason, message) => void told.push(`${type} ${reason}: ${message}`) });
    const ensure = (imagePullPolicy: 'Always' | 'IfNotPresent' | 'Never', uid = 'uid-1') => {
      const pod = podOf({ containers: [container('a', { imagePullPolicy })] });
      return images.ensure({ ...pod, metadata: { ...pod.metadata, uid } }, pod.spec.containers[0]!, () => Promise.resolve(noMaterials));
    };
    return { told, ensure };
  };

  it('follows the policy', async () => {
    const pulled: number[] = [];
    const pull = () => Promise.resolve(void pulled.push(1)).then(() => status);
    const there = rig(true, pull);
    expect([await there.ensure('IfNotPresent'), await there.ensure('Never'), pulled.length]).toEqual([status, status, 0]);
    await there.ensure('Always');
    expect(there.told.slice(-2)).toEqual(['Normal Pulling: Pulling image "busybox:1.35"', expect.stringMatching(/^Normal Pulled: Successfully pulled image "busybox:1.35" in [\d.]+m?s \([\d.]+m?s including waiting\)\. Image size: 42 bytes\.$/)]);
    await expect(rig(false, pull).ensure('Never')).rejects.toMatchObject({ reason: 'ErrImageNeverPull' });
  });

  it('that fails waits, for each pod; a daemon that is away is no failed pull', async () => {
    let away = false;
    const failing = rig(false, () => Promise.reject(new RuntimeProblem(away ? 'Unavailable' : 'ImagePull', 'no such host')));
    await expect(failing.ensure('IfNotPresent')).rejects.toMatchObject({ reason: 'ErrImagePull', message: 'no such host' });
    await expect(failing.ensure('IfNotPresent')).rejects.toMatchObject({ reason: 'ImagePullBackOff', message: 'Back-off pulling image "busybox:1.35": ErrImagePull: no such host', retryAfterMs: expect.any(Number) });
    await expect(failing.ensure('IfNotPresent', 'another')).rejects.toMatchObject({ reason: 'ErrImagePull' });
    away = true;
    await expect(failing.ensure('IfNotPresent', 'third')).rejects.toMatchObject({ code: 'Unavailable' });
  });

  it('is done once for all who want it at the same time', async () => {
    let pulls = 0;
    const { ensure } = rig(false, async () => {
      pulls += 1;
      await new Promise((resolve) => setImmediate(resolve));
      return status;
    });
    await Promise.all(['a', 'b', 'c'].map((uid) => ensure('Always', uid)));
    expect(pulls).toBe(1);
  });
});

describe('credentials of registries', () => {
  const pod = podOf({ containers: [container()], imagePullSecrets: [{ name: 'pull' }, { name: 'absent' }] });
  const held = (image: string, auths: object) => credentialsFor(image, pod, { claims: new Map(), configMaps: new Map(), secrets: new Map([['pull', new Map([['.dockerconfigjson', Buffer.from(JSON.stringify({ auths }))]])]]) }).map(({ username, password }) => `${username}:${password}`);
  const auth = Buffer.from('me:se:cret').toString('base64');

  it('are those of the image’s registry, the most specific first', () => {
    expect(held('local:5000/a/b:1', { 'local:5000': { username: 'u', password: 'p' }, 'https://local:5000/a': { auth }, 'local:5000/b': { auth }, local: { auth } })).toEqual(['me:se:cret', 'u:p']);
    expect(held('local:5000/a/b:1', { 'local:5000/a/b': { auth } })).toEqual(['me:se:cret']);
    expect(held('eu.example.com/a', { '*.example.com': { auth }, 'example.com': { auth }, '*.eu.example.com': { auth } })).toEqual(['me:se:cret']);
    expect(held('busybox:1', { 'https://index.docker.io/v1/': { auth } })).toEqual(['me:se:cret']);
    expect(held('docker.io/me/private', { 'other.io': { auth } })).toEqual([]);
  });

  it('do not show in the error for a secret that is broken', () => {
    const broken = { claims: new Map(), configMaps: new Map(), secrets: new Map([['pull', new Map([['.dockerconfigjson', Buffer.from('secret words')]])]]) };
    expect(() => credentialsFor('busybox', pod, broken)).toThrow(/^imagePullSecret "pull" holds no JSON$/);
  });
});

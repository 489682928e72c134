import { describe, expect, it } from '@jest/globals';
import type { KubeObject, PodTemplateSpec } from '@roundsman/api';
import { ServiceError } from '@roundsman/bus';
import type { Deps } from '../loop.ts';
import { podFrom, Pods } from './pods.ts';

const owner = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'sum', namespace: 'default', uid: 'u' } } as KubeObject;
const draft = podFrom(owner, { metadata: {}, spec: { containers: [] } } as unknown as PodTemplateSpec);

describe('a pod that cannot be made', () => {
  const told = async (error: ServiceError): Promise<string[]> => {
    const events: string[] = [];
    const objects = {
      create: async () => {
        throw error;
      },
    };
    const pods = new Pods({ objects, caches: {} } as unknown as Deps, (_object, _type, reason, message) => void events.push(`${reason}: ${message}`));
    await expect(pods.create(owner, draft)).rejects.toBe(error);
    return events;
  };

  it('is told of, with why', async () => {
    expect(await told(new ServiceError(422, 'no'))).toEqual(['FailedCreate: Error creating: no']);
  });

  it('is no news where its namespace ends, or where it was made already by the leader before', async () => {
    expect(await told(new ServiceError(403, 'unable to create new content in namespace default because it is being terminated'))).toEqual([]);
    expect(await told(new ServiceError(409, 'pods "sum-abcde" already exists', { reason: 'AlreadyExists' }))).toEqual([]);
  });
});

import { describe, expect, it } from '@jest/globals';
import { impersonated } from './impersonation.ts';

const admin = { name: 'roundsman:admin', groups: ['system:masters', 'system:authenticated'] };
const as = (headers: Record<string, string[]>): unknown => impersonated(admin, { headersDistinct: headers });

describe('the user of a request', () => {
  it('is who sent it unless another is named', () => {
    expect(as({})).toBe(admin);
    expect(as({ 'impersonate-user': ['ada'] })).toEqual({ name: 'ada', groups: ['system:authenticated'] });
    expect(as({ 'impersonate-user': ['ada'], 'impersonate-group': ['dev', 'ops, all'], 'impersonate-uid': ['7'], 'impersonate-extra-a%2fb': ['c', 'd'] })).toEqual({
      name: 'ada',
      groups: ['dev', 'ops, all', 'system:authenticated'],
      uid: '7',
      extra: { 'a/b': ['c', 'd'] },
    });
    expect(as({ 'impersonate-user': ['system:serviceaccount:shop:web'] })).toMatchObject({ groups: ['system:serviceaccounts', 'system:serviceaccounts:shop', 'system:authenticated'] });
    expect(as({ 'impersonate-user': ['system:anonymous'] })).toMatchObject({ groups: ['system:unauthenticated'] });
  });

  it('is never one of the services, whoever asks', () => {
    for (const name of ['system:roundsman:scheduler', 'system:node:node-1']) {
      expect(() => as({ 'impersonate-user': [name] })).toThrow(expect.objectContaining({ code: 403, message: expect.stringContaining(`users "${name}" is forbidden: User "roundsman:admin" cannot impersonate resource "users"`) }) as unknown as Error);
    }
    expect(() => as({ 'impersonate-group': ['dev'] })).toThrow(expect.objectContaining({ code: 400 }) as unknown as Error);
  });
});

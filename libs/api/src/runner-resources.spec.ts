import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { compareQuantities } from './quantity.ts';
import { runnerResources } from './runner-resources.ts';

describe('resources of a runner', () => {
  it.each<[what: string, given: Parameters<typeof runnerResources>[0], all: ReturnType<typeof runnerResources>]>([
    ['nothing', undefined, { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '1Gi' } }],
    ['nothing in it', { limits: {}, requests: {} }, { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '1Gi' } }],
    ['a limit', { limits: { memory: '256Mi' } }, { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '256Mi' } }],
    ['a limit below the default request', { limits: { memory: '32Mi', cpu: '5m' } }, { requests: { cpu: '5m', memory: '32Mi' }, limits: { memory: '32Mi', cpu: '5m' } }],
    ['a request', { requests: { cpu: '2' } }, { requests: { cpu: '2', memory: '64Mi' }, limits: { memory: '1Gi' } }],
    ['a request above the default limit', { requests: { memory: '2Gi' } }, { requests: { cpu: '10m', memory: '2Gi' }, limits: { memory: '2Gi' } }],
    ['another resource', { limits: { 'example.com/device': '1' } }, { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '1Gi', 'example.com/device': '1' } }],
  ])('%s given', (_what, given, all) => {
    expect(runnerResources(given)).toEqual(all);
  });

  it('are what is given, and never a request above its limit', () => {
    const amounts = fc.record({ cpu: fc.constantFrom('1m', '10m', '100m', '2'), memory: fc.constantFrom('8Mi', '64Mi', '1Gi', '4Gi') }, { requiredKeys: [] });
    const fits = (requests: Readonly<Record<string, string>>, limits: Readonly<Record<string, string>>): boolean => Object.entries(requests).every(([name, amount]) => limits[name] === undefined || compareQuantities(amount, limits[name]) <= 0);
    fc.assert(
      fc.property(amounts, amounts, (requests, limits) => {
        fc.pre(fits(requests, limits));
        const all = runnerResources({ requests, limits });
        expect(all).toMatchObject({ requests, limits });
        expect(fits(all.requests, all.limits)).toBe(true);
      }),
    );
  });
});

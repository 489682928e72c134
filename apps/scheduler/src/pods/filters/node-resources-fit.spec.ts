import { describe, expect, it } from '@jest/globals';
import { info, nodeWith, said, type PodParts } from '../testing/objects.ts';
import { nodeResourcesFit } from './node-resources-fit.ts';

const verdict = (parts: PodParts, allocatable: Record<string, string> = {}, there: PodParts[] = []): string =>
  said(nodeResourcesFit, info('p', parts), [nodeWith('n', there.map((one, index) => info(`there-${index}`, one)), { allocatable })])[0] ?? '';
const requests = (cpu: string) => ({ resources: { requests: { cpu } } });

describe('resources', () => {
  it('are what is allocatable less what is requested already', () => {
    expect(verdict({ requests: { cpu: '500m', memory: '1Gi' } }, { cpu: '1', memory: '2Gi' }, [{ requests: { cpu: '500m', memory: '1Gi' } }])).toBe('ok');
    expect(verdict({ requests: { cpu: '501m', memory: '1Gi' } }, { cpu: '1', memory: '2Gi' }, [{ requests: { cpu: '500m', memory: '1Gi' } }])).toBe('!Insufficient cpu');
    expect(verdict({ requests: { cpu: '2', memory: '3Gi', 'ephemeral-storage': '1Gi', 'nvidia.com/gpu': '1' } }, { cpu: '1', memory: '2Gi' })).toBe(
      '!Insufficient cpu, Insufficient memory, Insufficient ephemeral-storage, Insufficient nvidia.com/gpu',
    );
    expect(verdict({ requests: { 'nvidia.com/gpu': '2' } }, { 'nvidia.com/gpu': '2' })).toBe('ok');
  });

  it('count pods, also those that ask for nothing', () => {
    expect(verdict({}, { pods: '2' }, [{}])).toBe('ok');
    expect(verdict({}, { pods: '2' }, [{}, {}])).toBe('!Too many pods');
    expect(verdict({ requests: { cpu: '0' } }, { cpu: '1', pods: '2' }, [{ requests: { cpu: '2' } }])).toBe('ok');
  });

  it('of a pod are the sum of its containers, or its hungriest init container', () => {
    expect(verdict({ containers: [requests('600m'), requests('400m')] }, { cpu: '1' })).toBe('ok');
    expect(verdict({ containers: [requests('600m'), requests('401m')] }, { cpu: '1' })).toBe('!Insufficient cpu');
    expect(verdict({ containers: [requests('100m')], initContainers: [requests('1'), requests('900m')] }, { cpu: '1' })).toBe('ok');
    expect(verdict({ containers: [requests('100m')], initContainers: [requests('1001m')] }, { cpu: '1' })).toBe('!Insufficient cpu');
  });

  it('of sidecars run beside the containers, and beside the init containers after them', () => {
    const sidecar = { ...requests('300m'), restartPolicy: 'Always' as const };
    expect(verdict({ containers: [requests('700m')], initContainers: [sidecar] }, { cpu: '1' })).toBe('ok');
    expect(verdict({ containers: [requests('701m')], initContainers: [sidecar] }, { cpu: '1' })).toBe('!Insufficient cpu');
    expect(verdict({ containers: [requests('1m')], initContainers: [sidecar, requests('701m')] }, { cpu: '1' })).toBe('!Insufficient cpu');
    expect(verdict({ containers: [requests('1m')], initContainers: [requests('1'), sidecar] }, { cpu: '1' })).toBe('ok');
  });

  it('of the overhead come on top', () => {
    expect(verdict({ containers: [requests('900m')], overhead: { cpu: '100m' } }, { cpu: '1' })).toBe('ok');
    expect(verdict({ containers: [requests('901m')], overhead: { cpu: '100m' } }, { cpu: '1' })).toBe('!Insufficient cpu');
  });
});

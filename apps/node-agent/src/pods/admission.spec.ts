import { describe, expect, it } from '@jest/globals';
import type { PodSpecInput } from '@roundsman/api';
import { container, podOf } from '../testing/runs.ts';
import { refusal, requestOf } from './admission.ts';

const asks = (cpu: string, memory = '0') => ({ resources: { requests: { cpu, memory } } });
const named = (uid: string, spec: PodSpecInput, phase?: 'Succeeded') => {
  const pod = podOf(spec, phase === undefined ? undefined : { phase });
  return { ...pod, metadata: { ...pod.metadata, uid } };
};
const node = { cpu: '2', memory: '1Gi', pods: '3' };

describe('what a node takes', () => {
  it('a pod asks for its containers together, or for its largest init container', () => {
    const spec = { initContainers: [container('i', asks('3')), container('s', { ...asks('500m'), restartPolicy: 'Always' as const })], containers: [container('a', asks('1')), container('b', asks('250m'))] };
    expect(requestOf(podOf(spec), 'cpu')).toBe(3000);
    expect(requestOf(podOf({ ...spec, initContainers: spec.initContainers.slice(1) }), 'cpu')).toBe(1750);
    expect(requestOf(podOf({ containers: [container('a')], overhead: { cpu: '100m' } }), 'cpu')).toBe(100);
  });

  it('is bounded by what it has, less what runs on it', () => {
    const big = named('big', { containers: [container('a', asks('1500m'))] });
    const done = named('done', { containers: [container('a', asks('1500m'))] }, 'Succeeded');
    expect(refusal(big, [done, big], node)).toBeUndefined();
    expect(refusal(big, [named('other', big.spec)], node)).toEqual({ reason: 'OutOfcpu', message: "Node didn't have enough resource: cpu, requested: 1500, used: 1500, capacity: 2000" });
    expect(refusal(named('x', { containers: [container('a', asks('0', '2Gi'))] }), [], node)?.reason).toBe('OutOfmemory');
    const small = { containers: [container('a')] };
    expect(refusal(named('x', small), ['1', '2', '3'].map((uid) => named(uid, small)), node)).toEqual({ reason: 'OutOfpods', message: "Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3" });
  });

  it('no port of the node twice', () => {
    const on = (uid: string, hostIP?: string, hostPort = 8080) => named(uid, { containers: [container('a', { ports: [{ containerPort: 80, hostPort, hostIP }] })] });
    expect(refusal(on('x'), [on('y')], node)?.reason).toBe('NodePorts');
    expect(refusal(on('x', '192.0.2.1'), [on('y', '192.0.2.2')], node)).toBeUndefined();
    expect(refusal(on('x', '192.0.2.1'), [on('y')], node)?.reason).toBe('NodePorts');
    expect(refusal(on('x'), [on('y', undefined, 8081)], node)).toBeUndefined();
  });
});

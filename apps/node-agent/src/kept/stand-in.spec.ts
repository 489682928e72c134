import { describe, expect, it } from '@jest/globals';
import { nodeNetworkAnnotations } from '@roundsman/api';
import { NetworkState } from '@roundsman/network';
import { pino } from 'pino';
import { networkStateOf } from '../testing/memory-network.ts';
import { StandIn } from './stand-in.ts';

const node = (annotations: Record<string, string>, resourceVersion: string): object => ({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', uid: 'n1', resourceVersion, annotations }, spec: {}, status: { addresses: [], conditions: [] } });
const withPods = { [nodeNetworkAnnotations.nats]: '10.0.0.1:4222' };

function rig(state: NetworkState): { standIn: StandIn; calls: string[] } {
  const calls: string[] = [];
  const runner = {
    start: () => Promise.resolve(void calls.push('start')),
    stop: (ends: boolean) => Promise.resolve(void calls.push(`stop ${ends}`)),
    problem: () => 'it hangs',
    condition: () => ({ type: 'RunnerRunning', status: 'False' as const, reason: 'RunnerEnded', message: 'it hangs' }),
    restarts: 0,
  };
  return { standIn: new StandIn({ runner, state, log: pino({ level: 'silent' }) }), calls };
}

describe('a runner that stands in for pods', () => {
  it('is there as long as the cluster has none in pods', async () => {
    const state = networkStateOf();
    const { standIn, calls } = rig(state);
    await standIn.start();
    expect([calls, standIn.problem()]).toEqual([['start'], 'it hangs']);
    state.apply('ADDED', 'nodes', node(withPods, '5'));
    state.apply('MODIFIED', 'nodes', node(withPods, '6'));
    await standIn.stop(false);
    expect([calls, standIn.problem(), standIn.condition()]).toEqual([['start', 'stop true'], undefined, undefined]);
    const again = rig(state);
    await again.standIn.start();
    state.apply('MODIFIED', 'nodes', node({}, '7'));
    await again.standIn.stop(true);
    expect(again.calls).toEqual(['start', 'stop true']);
  });

  it('waits until it is known what the cluster has', async () => {
    const { standIn, calls } = rig(new NetworkState());
    await standIn.start();
    await standIn.stop(true);
    expect(calls).toEqual([]);
  });
});

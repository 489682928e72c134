import { describe, expect, it } from '@jest/globals';
import type { Bus, Change } from '@roundsman/bus';
import type { ChangeFeed } from '@roundsman/reconcile';
import { reportUid, type ReportChange, type ReportList, type Reports } from '@roundsman/reports';
import type { ObjectEvent } from './reader.ts';
import { ReportFeed } from './report-feed.ts';
import type { Tasks } from './tasks.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const report = { metadata: { name: 'netreach-mesh', namespace: 'default', uid: reportUid('u1') }, status: { kind: 'NetReach', task: 'mesh', taskUid: 'u1', round: 1 } };

describe('a watch of the last reports', () => {
  it('shows none any more of a task that was deleted while its report was read', async () => {
    const reading = Promise.withResolvers<ReportList>();
    const asked = Promise.withResolvers<void>();
    const reports = {
      changes: async (after: number) => ({ changes: after === 0 ? [{ type: 'closed', version: 1, report } as unknown as ReportChange] : [], more: false }),
      listLatest: () => (asked.resolve(), reading.promise),
    } as unknown as Reports;
    const tasks = { head: async () => 5, ofReport: async () => ({ object: { metadata: { uid: 'u1' } } }) } as unknown as Tasks;
    const followers = new Map<string | undefined, (change: Change) => void>();
    const changes = { follow: (follower: { resource?: string; change: (change: Change) => void }) => (followers.set(follower.resource, follower.change), { position: 5, stop: () => undefined }) } as unknown as ChangeFeed;
    const feed = new ReportFeed({ bus: {} as Bus, reports, tasks, changes, log: { warn: () => undefined } });
    const events: ObjectEvent[] = [];
    const source = feed.followLatest(undefined, 0, { event: (event) => void events.push(event), expired: () => undefined, ready: async () => undefined });
    await asked.promise;
    await turn();
    followers.get('netreaches.roundsman.io')?.({ type: 'DELETED', resource: 'netreaches.roundsman.io', namespace: 'default', name: 'mesh', uid: 'u1', version: 6 } as Change);
    reading.resolve({ version: 1, items: [report], remaining: 0 } as unknown as ReportList);
    await turn();
    expect([source.position, events.map(({ type, object }) => [type, object.metadata.uid])]).toEqual([1, [['DELETED', report.metadata.uid]]]);
    source.stop();
  });
});

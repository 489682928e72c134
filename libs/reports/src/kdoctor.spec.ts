import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { roundResult, startPostgres, targetResult, type TestPostgres } from '@roundsman/testkit';
import type { Pool } from 'pg';
import { closeRound } from './close.ts';
import { Ingest } from './ingest.ts';
import { migrateReports } from './migrate.ts';
import { reportPool } from './pool.ts';
import { openReports, type Reports } from './read.ts';

let server: TestPostgres;
let pool: Pool;
let reports: Reports;
const start = new Date(Math.floor(Date.now() / 1000) * 1000).toISOString();
const uid = '7b0f7a3e-0000-4000-8000-000000000001';

beforeAll(async () => {
  server = await startPostgres({ prepare: migrateReports });
  const url = await server.createDatabase();
  pool = reportPool(url, { name: 'test', connections: 2, onError: () => undefined });
  reports = openReports(url);
});
afterAll(async () => {
  await reports.close();
  await pool.end();
  await server.stop();
});

const silent = () => ({ state: 'missing' as const, reason: 'silent' });

describe("kdoctor's report", () => {
  it('has its fields for HTTP kinds', async () => {
    const ingest = new Ingest(pool, { retentionMs: 30 * 86_400_000 });
    const failing = targetResult('node-2', { planned: 100, failed: 5, ok: false, reason: 'success rate 0.95 (95 of 100) is below 1', errors: { timeout: 5 }, statusCodes: { '200': 95 } });
    await ingest.store([roundResult('runner-1', [targetResult('node-1'), failing], { roundStart: start, round: 3 })]);
    await closeRound(pool, { taskUid: uid, round: 3, cause: 'deadline', silent });
    const report = await reports.kdoctor({ uid, kind: 'NetReach', name: 'mesh', creationTimestamp: '2026-03-02T08:00:00Z', spec: { request: { qps: 10 } }, expectedRound: 5, doneRound: 3, finished: false });
    const reason = 'success rate 0.95 (95 of 100) is below 1';
    expect(report).toEqual({
      apiVersion: 'system.kdoctor.io/v1beta1',
      kind: 'KdoctorReport',
      metadata: { name: 'netreach-mesh', creationTimestamp: '2026-03-02T08:00:00Z' },
      status: { totalRoundNumber: 5, roundFinishedNumber: 3, status: 'NotFinished', roundNumber: 3 },
      task: { name: 'mesh', kind: 'NetReach', spec: { netReach: { request: { qps: 10 } } } },
      report: {
        latestRoundReport: [
          {
            roundNumber: 3, roundResult: 'fail', nodeName: 'node-1', podName: 'runner-1', reasonsForFailure: reason,
            roundStartTimeStamp: '2026-11-21T10:00:00Z', roundEndTimeStamp: '2026-11-21T10:00:02Z', roundDuration: '2s',
            taskNetReach: {
              targetType: 'NetReach', targetNumber: 2, reasonsForFailure: reason, roundSucceed: false,
              systemResource: { maxCPU: '5.000%', meanCPU: '5.000%', maxMemory: '47.68MB' },
              runningLoadTotal: { appHttpHealthyQPS: 0, netReachQPS: 5, netDnsQPS: 0 },
              roundTaskDetail: [
                {
                  name: 'AgentPodV4IP_node-2_127.0.0.1', url: 'http://127.0.0.1:8080/', method: 'GET', requestSucceed: false, requestSucceedRate: 0.95, requestMeanDelay: expect.any(Number), failureReason: reason,
                  requestTargetMetrics: {
                    requestStartTime: '2026-11-21T10:00:00Z', requestEndTime: '2026-11-21T10:00:02Z', requestDuration: '2s', requestCounts: 100, successCounts: 95, tps: 50, errors: { timeout: 5 },
                    latencies: { p50InMs: expect.any(Number), p90InMs: expect.any(Number), p95InMs: expect.any(Number), p99InMs: expect.any(Number), maxInMs: expect.any(Number), minInMs: 1, meanInMs: expect.any(Number) },
                    existsNotSendRequests: false, totalDataSize: '9500 byte', statusCodes: { '200': 95, '0': 5 },
                  },
                },
                expect.objectContaining({ name: 'AgentPodV4IP_node-1_127.0.0.1', requestSucceed: true }),
              ],
            },
          },
        ],
      },
    });
  });

  it('has its fields for DNS', async () => {
    const taskUid = 'dddddddd-1';
    const ingest = new Ingest(pool, { retentionMs: 30 * 86_400_000 });
    const { targetNode: _node, ...target } = targetResult('x', { target: 'dns/udp/10.0.0.10:53', layer: 'dns', address: '10.0.0.10:53/A/example.com', method: 'udp', statusCodes: {}, replyCodes: { NOERROR: 10 } });
    await ingest.store([roundResult('runner-1', [target], { roundStart: start, kind: 'NetDNS', task: 'names', taskUid })]);
    await closeRound(pool, { taskUid, round: 1, cause: 'deadline', silent });
    const report = await reports.kdoctor({ uid: taskUid, kind: 'NetDNS', name: 'names', creationTimestamp: start, spec: {}, expectedRound: 1, doneRound: 1, finished: true });
    expect(report).toMatchObject({ metadata: { name: 'netdns-names' }, task: { kind: 'Netdns', spec: { netDns: {} } }, status: { status: 'Finished' } });
    const [agent] = report!.report.latestRoundReport as { taskNetDns: { roundTaskDetail: unknown[] } }[];
    expect(agent!.taskNetDns.roundTaskDetail).toEqual([
      {
        name: 'typeA_10.0.0.10:53_example.com', requestServer: '10.0.0.10:53', protocol: 'udp', requestSucceed: true, requestSucceedRate: 1, requestMeanDelay: expect.any(Number), reasonsForFailure: null,
        requestTargetMetrics: expect.objectContaining({ domain: 'example.com', server: '10.0.0.10:53', method: 'udp', failedCounts: 0, replyCode: { NOERROR: 10 } }),
      },
    ]);
  });
});

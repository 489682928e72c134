import { describe, expect, it } from '@jest/globals';
import { verdictSchema, verdictStates } from '@roundsman/api';
import * as fc from 'fast-check';
import { good, roundOf, type Cluster, type Layer, type Probe } from '../testing/cluster.ts';
import { resultOf, type ResultOptions } from '../testing/results.ts';
import type { RunnerOutcome } from './observation.ts';
import { verdictOf } from './verdict.ts';

const every: Layer[] = ['endpoint', 'clusterIP', 'nodePort', 'loadBalancer', 'ingress'];
const cluster: Cluster = { nodes: ['node-1', 'node-2', 'node-3', 'node-4'], families: ['v4', 'v6'], layers: every, interfaces: [] };
const refused: ResultOptions = { failed: 2, error: 'refused' };
const timedOut: ResultOptions = { failed: 2, error: 'connect-timeout' };
const lossy: ResultOptions = { latenciesUs: [900], failed: 1, error: 'refused' };
const told = 'the runner was told to end (SIGTERM) during the round; measured until 2026-01-02T03:04:05.000Z';

/** What is left of a result when the round is broken off: the rest was under way, or not sent. */
const brokenOff = [{ unsent: 6 }, { latenciesUs: [800, 900], unsent: 4 }, { canceled: 1, unsent: 5 }, { latenciesUs: [800], canceled: 1 }] as const satisfies ResultOptions[];

/** A round in which the runners of some nodes ended: they broke off, and others lost what they sent to them. */
function roundWith(ended: ReadonlySet<string>, cut: readonly ResultOptions[], lost: readonly ResultOptions[], fault: (probe: Probe) => ResultOptions | undefined = () => undefined): RunnerOutcome[] {
  let n = 0;
  const runners = roundOf(cluster, (probe) => {
    n += 1;
    if (ended.has(probe.from)) return fault(probe) === undefined ? cut[n % cut.length] : { unsent: 6 };
    if (probe.layer === 'endpoint') return ended.has(probe.to!) ? lost[n % lost.length] : fault(probe);
    return fault(probe) ?? (ended.size > 0 ? [good, lossy][n % 2] : undefined);
  });
  return runners.map((runner) => (ended.has(runner.node) ? { ...runner, state: 'error', cut: 'ended', reason: told } : runner));
}
const judged = (...parameters: Parameters<typeof verdictOf>) => verdictSchema.parse(verdictOf(...parameters));
const some = fc.shuffledSubarray(cluster.nodes, { minLength: 1, maxLength: 2 }).map((nodes) => new Set(nodes));
const kinds = <T>(all: readonly T[]) => fc.array(fc.constantFrom(...all), { minLength: 1, maxLength: 5 });

describe('verdict of a round in which runners ended', () => {
  it('accuses nobody of it: neither by what was not sent, nor by what was sent to them', () => {
    fc.assert(
      fc.property(some, kinds<ResultOptions>(brokenOff), kinds([good, refused, timedOut, lossy]), (ended, cut, lost) => {
        const { state, findings } = judged(roundWith(ended, cut, lost));
        expect({ state, findings: findings.map(({ code, subject }) => `${code} ${subject}`) }).toEqual({ state: 'incomplete', findings: [...ended].sort().map((node) => `runner-ended runner runner-${node}`) });
      }),
      { numRuns: 60 },
    );
  });

  it('still finds what is broken between those that lasted', () => {
    fc.assert(
      fc.property(some, kinds<ResultOptions>(brokenOff), kinds([good, refused, timedOut]), fc.boolean(), (ended, cut, lost, whole) => {
        const [from, to] = cluster.nodes.filter((node) => !ended.has(node));
        const runners = roundWith(ended, cut, lost, (probe) => (whole ? (probe.layer === 'ingress' ? timedOut : undefined) : probe.layer === 'endpoint' && probe.from === from && probe.to === to ? timedOut : undefined));
        const critical = judged(runners).findings.filter(({ severity }) => severity === 'critical');
        expect(critical).toMatchObject(whole ? [{ code: 'ingress-down' }] : [{ code: 'path-broken', subject: `path ${from!} -> ${to!}` }]);
      }),
      { numRuns: 40 },
    );
  });

  it('counts the failures that a runner met before its end, and what was good', () => {
    const url = (own: ResultOptions): string => judged([
      { runner: 'a', node: 'node-1', state: 'error', cut: 'ended', reason: told, targets: [resultOf('url', own)] },
      { runner: 'b', node: 'node-2', state: 'ok', targets: [resultOf('url', good)] },
    ]).findings.map(({ code, subject }) => `${code} ${subject}`).join();
    expect(url({ ...refused, canceled: 1, unsent: 40 })).toBe('path-broken path node-1 -> url,runner-ended runner a');
    expect(url({ latenciesUs: [800], canceled: 1, unsent: 40 })).toBe('runner-ended runner a');
  });

  it('says it first, in one sentence, also when all of them ended and their Service with them', () => {
    const [first] = cluster.nodes;
    const verdict = judged(roundWith(new Set([first!]), brokenOff, [refused]));
    expect(verdict.summary).toBe(`Runner runner-node-1 on node node-1 ended during the round: ${told}. What failed at it since then is left out.`);
    const gone = roundOf(cluster, ({ layer }) => (layer === 'endpoint' ? brokenOff[2] : { failed: 1, error: 'status', statusCodes: { '404': 1 }, canceled: 1, unsent: 4 })).map((runner): RunnerOutcome => ({ ...runner, state: 'error', cut: 'ended', reason: told }));
    expect(new Set(judged(gone).findings.map(({ code }) => code))).toEqual(new Set(['runner-ended']));
    const slow = judged([...roundWith(new Set([first!]), brokenOff, [refused]), { runner: 'x', node: 'node-9', state: 'failed', targets: [resultOf('url', { latenciesUs: [9000], expect: { meanAccessDelayInMs: 1 } })] }]);
    expect(slow.findings.map(({ code }) => code)).toEqual(['runner-ended', 'slow']);
  });

  it('leaves out only the one of several on a node that ended, and one that was replaced without a word', () => {
    const round = (state: RunnerOutcome['state'], fails: string): RunnerOutcome[] => [
      { runner: 'a.ns', node: 'node-1', state: 'failed', targets: ['a.ns', 'b.ns', 'c.ns'].map((name) => resultOf(`endpoint/v4/node-1/${name}`, { node: 'node-1', ...(name === fails ? refused : good) })) },
      { runner: 'b.ns', node: 'node-1', state, cut: 'ended', targets: [] },
      { runner: 'c.ns', node: 'node-1', state: 'ok', targets: [] },
    ];
    for (const state of ['error', 'missing'] as const) expect(judged(round(state, 'b.ns')).findings).toMatchObject([{ code: 'runner-ended', subject: 'runner b.ns' }]);
    expect(judged(round('error', 'c.ns')).findings).toMatchObject([{ code: 'target-down' }, { code: 'runner-ended' }]);
  });

  it('does not excuse by an end what it does not explain: slowness, wrong answers, what failed before, and more of a Service than was its part', () => {
    const nodes = Array.from({ length: 10 }, (_, i) => `n${i}`);
    const at = (seconds: number): string => new Date(Date.parse('2026-01-02T03:04:05.000Z') + seconds * 1_000).toISOString();
    const round = (id: string, layer: Layer, own: ResultOptions, cut: 'ended' | 'restarted'): string[] =>
      judged(nodes.map((node): RunnerOutcome => ({
        runner: node, node, state: node === 'n9' ? 'error' : 'failed', targets: node === 'n0' ? [resultOf(id, { layer, ...(layer === 'endpoint' ? { node: 'n9' } : {}), ...own })] : node === 'n9' ? [] : [resultOf(id, { layer, ...(layer === 'endpoint' ? { node: 'n9' } : {}), latenciesUs: [800] })],
        ...(node === 'n9' ? { cut, reason: told, goneAt: at(30) } : {}),
      }))).findings.map(({ code }) => code);
    for (const cut of ['ended', 'restarted'] as const) {
      const end = `runner-${cut}`;
      const endpoint = (own: ResultOptions): string[] => round('endpoint/v4/n9', 'endpoint', own, cut);
      expect(endpoint({ ...refused, failedAt: at(31) })).toEqual([end]);
      expect(endpoint({ ...timedOut, failedAt: at(29), failedAfterMs: 2_000 })).toEqual([end]);
      expect(endpoint({ ...refused, failedAt: at(3) })).toEqual(['path-broken', end]);
      expect(endpoint({ ...refused, latenciesUs: [800], failedAt: at(3) })).toEqual([end]);
      expect(endpoint({ latenciesUs: [9_000], expect: { meanAccessDelayInMs: 1 } })).toEqual([end, 'slow']);
      expect(endpoint({ failed: 2, error: 'status', statusCodes: { '500': 2 } })).toEqual(['path-broken', end]);
      const many = (good: number, failed: number): ResultOptions => ({ latenciesUs: Array.from({ length: good }, () => 800), failed, error: 'connect-timeout' });
      expect(round('clusterIP/v4', 'clusterIP', many(80, 20), cut)).toEqual([end]);
      expect(round('clusterIP/v4', 'clusterIP', many(30, 70), cut)).toEqual([end, 'path-degraded']);
      expect(round('ingress/v4', 'ingress', { latenciesUs: [800], failed: 1, error: 'status', statusCodes: { '503': 1 } }, cut)).toEqual([end]);
      expect(round('ingress/v4', 'ingress', { latenciesUs: [800], failed: 1, error: 'status', statusCodes: { '404': 1 } }, cut)).toEqual([end, 'path-degraded']);
    }
  });

  it('excuses by the end of all of them what is behind a Service, but not that it was slow, nor what failed before the first one', () => {
    const round = (own: ResultOptions, ...goneAt: (string | undefined)[]): string[] =>
      judged(goneAt.map((at, i): RunnerOutcome => ({ runner: `r${i}`, node: `n${i}`, state: 'failed', cut: 'restarted', reason: told, ...(at === undefined ? {} : { goneAt: at }), targets: [resultOf('clusterIP/v4', { layer: 'clusterIP', ...own })] })))
        .findings.map(({ code }) => code).filter((code) => code !== 'runner-restarted');
    const failed: ResultOptions = { failed: 2, error: 'status', statusCodes: { '500': 2 }, failedAt: '2026-01-02T03:04:10.000Z' };
    const [soon, late] = ['2026-01-02T03:04:09.000Z', '2026-01-02T03:04:40.000Z'];
    expect(round(failed, soon)).toEqual([]);
    expect(round(failed, soon, late)).toEqual([]);
    expect(round(failed, undefined, late)).toEqual([]);
    expect(round(failed, late)).toEqual(['wrong-status']);
    expect(round(failed, late, late)).toEqual(['wrong-status']);
    expect(round({ latenciesUs: [9_000], expect: { meanAccessDelayInMs: 1 } }, soon)).toEqual(['slow']);
  });

  it('tells of one that was started again and carried its part to the end, and leaves out what failed at it meanwhile', () => {
    const reason = 'its container ended at 2026-01-02T03:04:10Z with exit code 137 (OOMKilled)';
    const runners = roundOf(cluster, ({ layer, from, to }) => (layer === 'endpoint' && to === 'node-2' && from !== to ? { latenciesUs: [800], failed: 1, error: 'refused' } : undefined));
    const verdict = judged(runners.map((runner): RunnerOutcome => (runner.node === 'node-2' ? { ...runner, cut: 'restarted', reason, goneAt: '2026-01-02T03:04:10.000Z' } : runner)));
    expect(verdict).toMatchObject({ state: 'incomplete', findings: [{ code: 'runner-restarted', subject: 'runner runner-node-2' }] });
    expect(verdict.summary).toBe(`Runner runner-node-2 on node node-2 was started again during the round: ${reason}. What failed at it since then is left out.`);
    // Requests that it did not send are its own limits, as those of any other. Where runners send nothing to each other, nothing of the kind is left out.
    const unsent = judged([{ runner: 'a', node: 'n', state: 'failed', cut: 'restarted', reason, targets: [resultOf('url', { latenciesUs: [800], unsent: 20 })] }]);
    expect(unsent.findings.map(({ code }) => code)).toEqual(['runner-restarted', 'prober-exhausted']);
    expect(unsent.summary).toBe(`Runner a on node n was started again during the round: ${reason} (and 1 more).`);
  });

  it('names twenty, and counts the rest', () => {
    const all = Array.from({ length: 25 }, (_, i): RunnerOutcome => ({ runner: `r${i}`, node: `n${i}`, state: 'error', cut: 'ended', reason: told, targets: [] }));
    expect(judged(all).findings).toHaveLength(21);
    expect(judged(all).findings.find(({ subject }) => subject === '5 more runners')).toMatchObject({ code: 'runner-ended' });
  });

  it('says what a runner did not finish, and what it could not even begin', () => {
    const cut = (targets: RunnerOutcome['targets']): string => judged([{ runner: 'a', node: 'n', state: 'error', cut: 'deadline', reason: 'cut off at its deadline, with 9 of 15 requests sent', targets }]).summary;
    expect(cut([resultOf('url', { latenciesUs: Array.from({ length: 9 }, () => 900), unsent: 6 })])).toBe('Runner a on node n could not finish the round: cut off at its deadline, with 9 of 15 requests sent.');
    expect(cut([])).toMatch(/could not run the round/);
  });
});

describe('verdict of a canceled round', () => {
  const reason = 'the task was deleted';
  const canceled: RunnerOutcome = { runner: 'a', node: 'n', state: 'canceled', reason, targets: [resultOf('url', { canceled: 1, unsent: 5 })] };
  const starvation = { suspect: true, reasons: ['it stood still'], loopDelayP99Ms: 80, cpuShare: 1, rssBytes: 1 };

  it('says first that it was canceled, whatever else there is to say', () => {
    expect(judged([{ ...canceled, starvation }, { ...canceled, runner: 'b' }])).toMatchObject({ state: 'incomplete', summary: 'The round was canceled before its end: the task was deleted (and 1 more).', findings: [{ code: 'round-canceled', subject: 'round' }, { code: 'prober-starved' }] });
    const down: RunnerOutcome = { runner: 'c', node: 'm', state: 'failed', targets: [resultOf('url', timedOut)] };
    expect(judged([canceled, down])).toMatchObject({ state: 'broken', summary: expect.stringMatching(/^The round was canceled before its end; until then: url .* fails from every node/), findings: [{ code: 'target-down' }, { code: 'round-canceled' }] });
    for (const nothing of ['the round was canceled', 'canceled before it began']) expect(judged([{ ...canceled, reason: nothing }]).summary).toBe('The round was canceled before its end.');
    expect(judged([{ ...canceled, reason: 'the round was canceled' }, canceled]).summary).toBe('The round was canceled before its end: the task was deleted.');
    expect(judged([{ runner: 'a', node: 'n', state: 'missing', reason: 'it did not stop in time', targets: [] }], [], true).summary).toBe('The round was canceled before its end (and 1 more).');
  });
});

describe('verdict of starved probers', () => {
  const rank = (state: string): number => verdictStates.indexOf(state as never);
  const broken: ((probe: Probe) => boolean)[] = [
    ({ layer, from, to }) => layer === 'endpoint' && from === 'node-1' && to === 'node-2',
    ({ layer, to }) => layer === 'endpoint' && to === 'node-3',
    ({ layer }) => layer === 'loadBalancer',
    ({ layer, from }) => layer === 'clusterIP' && from === 'node-4',
  ];

  it('names total failures that no stall explains, and none that one may', () => {
    fc.assert(
      fc.property(fc.constantFrom(...broken), fc.integer({ min: 1, max: 20_000 }), fc.integer({ min: 21, max: 5000 }), fc.constantFrom<'timeout' | 'connect-timeout'>('timeout', 'connect-timeout'), (fails, longestStallMs, failedAfterMs, error) => {
        const measured = roundOf(cluster, (probe) => (fails(probe) ? { failed: 3, error, failedAfterMs } : undefined));
        const starved = measured.map((runner): RunnerOutcome => ({ ...runner, starvation: { suspect: true, reasons: ['it stood still'], loopDelayP99Ms: 80, longestStallMs, stalledShare: 0.03, cpuShare: 1, rssBytes: 1 } }));
        const told = (runners: RunnerOutcome[]): string[] => judged(runners).findings.filter(({ severity }) => severity === 'critical').map(({ code, subject }) => `${code} ${subject}`);
        expect(told(measured).length).toBeGreaterThan(0);
        expect(told(starved)).toEqual(longestStallMs < failedAfterMs / 2 ? told(measured) : []);
        expect(rank(judged(starved).state)).toBeLessThan(rank('healthy'));
      }),
      { numRuns: 60 },
    );
  });

  it('does not believe timeouts of a target that answered too, nor of a prober that stood still most of the time', () => {
    const one = (options: ResultOptions, stalledShare: number): string => judged([{ runner: 'a', node: 'n', state: 'failed', targets: [resultOf('url', { failedAfterMs: 2000, ...options })], starvation: { suspect: true, reasons: ['it stood still'], loopDelayP99Ms: 80, longestStallMs: 200, stalledShare, cpuShare: 1, rssBytes: 1 } }]).state;
    expect(one({ failed: 9 }, 0.03)).toBe('broken');
    expect(one({ failed: 9, latenciesUs: [900] }, 0.03)).toBe('suspect');
    expect(one({ failed: 9 }, 0.7)).toBe('suspect');
  });
});

describe('words', () => {
  const wrong: ResultOptions = { failed: 2, error: 'status', statusCodes: { '404': 2 }, message: 'status 404, expected 200 to 399' };
  it.each<[string, (probe: Probe) => boolean]>([
    ['of a layer', ({ layer }) => layer === 'clusterIP'],
    ['of a layer on one node', ({ layer, from }) => layer === 'clusterIP' && from === 'node-1'],
    ['of a way to a layer', ({ layer, from }) => layer === 'loadBalancer' && from === 'node-1'],
    ['of all node ports', ({ layer }) => layer === 'nodePort'],
    ['of a node port', ({ layer, to }) => layer === 'nodePort' && to === 'node-2'],
    ['of a node', ({ layer, to }) => layer === 'endpoint' && to === 'node-2'],
    ['of a node by itself', ({ layer, from, to }) => layer === 'endpoint' && from === 'node-2' && to === 'node-2'],
  ])('never call silent who answers wrongly: %s', (_, fails) => {
    const { summary } = judged(roundOf(cluster, (probe) => (fails(probe) ? wrong : undefined)));
    expect(summary).toMatch(/do(es)? not answer as expected.*404/);
    expect(summary).not.toMatch(/not answer(?! as expected)|not reach|unreachable/);
  });
});

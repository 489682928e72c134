import { describe, expect, it } from '@jest/globals';
import { verdictSchema, type Starvation } from '@roundsman/api';
import { resultOf, type ResultOptions } from '../testing/results.ts';
import type { RunnerOutcome } from './observation.ts';
import { verdictOf } from './verdict.ts';

type Path = (from: string, to: string, family: 'v4' | 'v6') => ResultOptions;

const good: ResultOptions = { latenciesUs: [800, 900] };
const dead: ResultOptions = { failed: 2, error: 'connect-timeout' };
const nodes = ['node-1', 'node-2', 'node-3'];

/** A NetReach round of every node to every node, itself included. */
function mesh(path: Path, { families = ['v4'] as ('v4' | 'v6')[], names = nodes } = {}): RunnerOutcome[] {
  return names.map((from) => {
    const targets = families.flatMap((family) => names.map((to) => resultOf(`endpoint/${family}/${to}`, { node: to, family, ...path(from, to, family) })));
    return { runner: `runner-${from}`, node: from, state: targets.every((t) => t.ok) ? 'ok' : 'failed', targets };
  });
}

const codes = (runners: RunnerOutcome[]): string[] => judgeAll(runners).findings.map((f) => `${f.code} ${f.subject}`);

function judgeAll(runners: RunnerOutcome[]) {
  return verdictSchema.parse(verdictOf(runners));
}

const starved: Starvation = { suspect: true, reasons: ['event-loop delay p99 80.0 ms is above 20 ms'], loopDelayP99Ms: 80, cpuShare: 1, rssBytes: 1 };

describe('verdict of a mesh', () => {
  it('is healthy when everything held', () => {
    expect(judgeAll(mesh(() => good))).toEqual({ state: 'healthy', summary: 'All 3 targets are good from all 3 runners.', findings: [] });
  });

  it('names a node that nobody reaches', () => {
    const verdict = judgeAll(mesh((from, to) => (to === 'node-3' && from !== to ? dead : good)));
    expect(verdict.state).toBe('broken');
    expect(verdict.findings.map((f) => f.code)).toEqual(['node-unreachable']);
    expect(verdict.findings[0]).toMatchObject({ subject: 'node node-3', severity: 'critical' });
    expect(verdict.summary).toContain('Node node-3 is unreachable');
    expect(verdict.summary).toContain('It answers on the node itself');
    expect(verdict.findings[0]!.evidence[0]).toContain('node-1 -> endpoint/v4/node-3 (http://endpoint/v4/node-3): 0 of 2 succeeded, connect-timeout 2');
  });

  it('says when the echo target is dead on the node itself, too', () => {
    const verdict = judgeAll(mesh((_, to) => (to === 'node-2' ? { failed: 2, error: 'refused' } : good)));
    expect(verdict.findings).toHaveLength(1);
    expect(verdict.summary).toContain('so the echo target is broken');
    expect(verdict.summary).toContain('connections are refused');
  });

  it('names a node that cannot reach out', () => {
    expect(codes(mesh((from, to) => (from === 'node-2' && from !== to ? dead : good)))).toEqual(['node-no-egress node node-2']);
  });

  it('names a node that is cut off in both directions', () => {
    expect(codes(mesh((from, to) => (from !== to && (from === 'node-1' || to === 'node-1') ? dead : good)))).toEqual(['node-isolated node node-1']);
  });

  it('names a single broken path', () => {
    expect(codes(mesh((from, to) => (from === 'node-1' && to === 'node-3' ? dead : good)))).toEqual(['path-broken path node-1 -> node-3']);
  });

  it('says when no node reaches any other', () => {
    const verdict = judgeAll(mesh((from, to) => (from === to ? good : dead)));
    expect(verdict.findings.map((f) => f.code)).toEqual(['all-down']);
    expect(verdict.summary).toContain('each node reaches only itself');
  });

  it('cannot blame a node with one witness only, so it names the path', () => {
    expect(codes(mesh((from, to) => (from === 'a' && to === 'b' ? dead : good), { names: ['a', 'b'] }))).toEqual(['path-broken path a -> b']);
  });

  it('finds a node down although its runner is silent as well', () => {
    const runners = mesh((_, to) => (to === 'node-3' ? dead : good)).map((r): RunnerOutcome => (r.node === 'node-3' ? { ...r, state: 'missing', reason: 'no heartbeat since 03:00', targets: [] } : r));
    expect(codes(runners)).toEqual(['node-unreachable node node-3', 'runner-missing runner runner-node-3']);
  });

  it('tells a dead address family from dead nodes', () => {
    expect(codes(mesh((from, to, family) => (family === 'v6' ? dead : good), { families: ['v4', 'v6'] }))).toEqual(['family-down IPv6']);
    const verdict = judgeAll(mesh((from, to, family) => (family === 'v6' && to === 'node-2' && from !== to ? dead : good), { families: ['v4', 'v6'] }));
    expect(verdict.summary).toContain('Node node-2 is unreachable over IPv6');
  });

  it('calls partial loss and slowness degraded, for the node that they have in common', () => {
    const lossy: ResultOptions = { latenciesUs: [500], failed: 1, error: 'timeout' };
    expect(judgeAll(mesh((from, to) => (to === 'node-2' && from !== to ? lossy : good)))).toMatchObject({ state: 'degraded', findings: [{ code: 'node-degraded', subject: 'node node-2', severity: 'warning' }] });
    const slow: ResultOptions = { latenciesUs: [90_000], expect: { meanAccessDelayInMs: 50 } };
    expect(judgeAll(mesh((from, to) => (from === 'node-1' && to === 'node-2' ? slow : good)))).toMatchObject({ state: 'degraded', findings: [{ code: 'slow', subject: 'path node-1 -> node-2' }] });
  });

  it('lists no more than twenty pairs and counts the rest', () => {
    const names = Array.from({ length: 12 }, (_, i) => `n${i}`);
    const index = (name: string): number => Number(name.slice(1));
    const verdict = judgeAll(mesh((from, to) => ((index(from) + index(to)) % 4 === 1 ? dead : good), { names }));
    expect(verdict.findings.length).toBe(21);
    expect(verdict.findings.at(-1)!.subject).toMatch(/more paths$/);
  });
});

describe('verdict of layered NetReach', () => {
  const layered = (path: (from: string, layer: 'endpoint' | 'clusterIP') => ResultOptions): RunnerOutcome[] =>
    nodes.map((from) => ({
      runner: from,
      node: from,
      state: 'ok',
      targets: [...nodes.map((to) => resultOf(`endpoint/v4/${to}`, { node: to, ...path(from, 'endpoint') })), resultOf('clusterIP/v4', { layer: 'clusterIP', ...path(from, 'clusterIP') })],
    }));

  it('blames the service forwarding of the node where only that fails', () => {
    expect(codes(layered((from, layer) => (layer === 'clusterIP' && from === 'node-2' ? dead : good)))).toEqual(['service-forwarding node node-2']);
  });

  it('blames the service when its endpoints answer and it fails everywhere', () => {
    expect(codes(layered((_, layer) => (layer === 'clusterIP' ? dead : good)))).toEqual(['service-down layer clusterIP']);
  });

  it('does not blame the service for a node that reaches nothing', () => {
    const runners = layered(() => good).map((r): RunnerOutcome => (r.node !== 'node-3' ? r : { ...r, targets: r.targets.map((t) => (t.targetNode === 'node-3' ? t : resultOf(t.target, { ...dead, layer: t.layer, ...(t.targetNode === undefined ? {} : { node: t.targetNode }) }))) }));
    expect(codes(runners)).toEqual(['node-no-egress node node-3']);
  });
});

describe('verdict of targets outside the mesh', () => {
  const url = (path: (from: string) => ResultOptions, target = 'url'): RunnerOutcome[] => nodes.map((from) => ({ runner: from, node: from, state: 'ok', targets: [resultOf(target, path(from))] }));

  it.each([
    [{ failed: 2, error: 'timeout' }, 'target-down', 'no answer in time'],
    [{ failed: 2, error: 'refused' }, 'target-refused', 'nothing listens'],
    [{ failed: 2, error: 'unresolved', message: 'getaddrinfo ENOTFOUND shop' }, 'name-unresolved', 'ENOTFOUND shop'],
    [{ failed: 2, error: 'tls', message: 'certificate has expired' }, 'tls-failed', 'certificate has expired'],
    [{ failed: 2, error: 'status', statusCodes: { '503': 2 }, message: 'status 503, expected 200 to 399' }, 'wrong-status', 'status 503, expected 200 to 399'],
    [{ failed: 2, error: 'rcode', replyCodes: { SERVFAIL: 2 }, message: 'reply code SERVFAIL, expected NOERROR' }, 'wrong-rcode', 'reply code SERVFAIL, expected NOERROR'],
    [{ failed: 2, error: 'answer' }, 'wrong-answer', 'lack what is expected'],
    [{ failed: 2, error: 'forbidden' }, 'target-forbidden', 'policy forbids'],
  ] as [ResultOptions, string, string][])('names the target with the cause that dominates: %j', (path, code, text) => {
    const verdict = judgeAll(url(() => path));
    expect(verdict.state).toBe('broken');
    expect(verdict.findings.map((f) => `${f.code} ${f.subject}`)).toEqual([`${code} target url`]);
    expect(verdict.summary).toContain(text);
  });

  it('counts the reasons, the most frequent first, where none dominates', () => {
    const mixed = (path: ResultOptions, errors: Record<string, number>): RunnerOutcome[] => url(() => path).map((r) => ({ ...r, targets: r.targets.map((t) => ({ ...t, errors })) }));
    expect(judgeAll(mixed({ failed: 5 }, { timeout: 2, refused: 3 })).summary).toMatch(/ fails from every node that tried: 9 refused, 6 without an answer in time\.$/);
    expect(judgeAll(mixed({ latenciesUs: [900], failed: 9 }, { timeout: 1, 'connect-timeout': 3, refused: 2, reset: 1, closed: 1, tls: 1 }))).toMatchObject({
      state: 'degraded',
      findings: [{ code: 'target-degraded', message: expect.stringMatching(/some requests fail: 9 with connections not made in time, 6 refused, 3 closed without an answer, 3 reset, 6 for other reasons\.$/) }],
    });
    expect(judgeAll(mesh((from, to) => (from !== to && to === 'node-3' ? { failed: 2 } : good)).map((r) => ({ ...r, targets: r.targets.map((t) => (t.ok ? t : { ...t, errors: { refused: 1, reset: 1 } })) }))).summary).toContain('every node fails to reach it; 2 refused, 2 reset.');
  });

  it.each([
    ['http://shop.default.svc:8080/', 'or a rule rejects it, or the Service has no ready endpoints or no such port.'],
    ['kube-dns.kube-system.svc.cluster.local:53', 'or a rule rejects it, or the Service has no ready endpoints or no such port.'],
    ['http://10.96.0.7/', 'or a rule rejects it, or it is the address of a Service that has no ready endpoints or no such port.'],
  ])('says what else refuses where it may be a Service: %s', (address, words) => {
    expect(judgeAll(url(() => ({ failed: 2, error: 'refused', address }))).summary).toMatch(new RegExp(`${words}$`));
  });

  it('names the path when one node fails only', () => {
    expect(codes(url((from) => (from === 'node-2' ? dead : good)))).toEqual(['path-broken path node-2 -> url']);
  });

  it('names the node when it fails at several targets that others reach', () => {
    const runners = nodes.map((from): RunnerOutcome => ({ runner: from, node: from, state: 'ok', targets: ['dns/a', 'dns/b'].map((t) => resultOf(t, from === 'node-2' ? dead : good)) }));
    expect(codes(runners)).toEqual(['node-no-egress node node-2']);
  });

  it('tells slow from failing', () => {
    expect(judgeAll(url(() => ({ latenciesUs: [9000], expect: { meanAccessDelayInMs: 1 } })))).toMatchObject({ state: 'degraded', findings: [{ code: 'slow' }] });
    expect(judgeAll(url(() => ({ latenciesUs: [9000], failed: 1, error: 'status', statusCodes: { '200': 1, '502': 1 } })))).toMatchObject({ state: 'degraded', findings: [{ code: 'wrong-status' }] });
  });
});

describe('verdict of runners', () => {
  it('is incomplete when a runner is silent, and names it with the reason', () => {
    const runners = mesh(() => good);
    const verdict = judgeAll([...runners.slice(0, 2), { runner: 'runner-node-3', node: 'node-3', state: 'missing', reason: 'no result by the deadline', targets: [] }]);
    expect(verdict.state).toBe('incomplete');
    expect(verdict.summary).toBe('Runner runner-node-3 on node node-3 did not report: no result by the deadline.');
  });

  it('names a silent runner before what is degraded at its node, and after what is down', () => {
    const reason = 'no heartbeat since 03:00 (9 s before the close); it was running the round then';
    const of = (path: ResultOptions): string[] => codes(mesh((from, to) => (to === 'node-3' && from !== to ? path : good)).map((r): RunnerOutcome => (r.node === 'node-3' ? { ...r, state: 'missing', reason, targets: [] } : r)));
    expect(of({ latenciesUs: [900], failed: 1 })).toEqual(['runner-missing runner runner-node-3', 'node-degraded node node-3']);
    expect(of(dead)).toEqual(['node-unreachable node node-3', 'runner-missing runner runner-node-3']);
    const elsewhere = mesh((from, to) => (from === 'node-1' && to === 'node-2' ? { latenciesUs: [900], failed: 1 } : good)).map((r): RunnerOutcome => (r.node === 'node-3' ? { ...r, state: 'missing', reason, targets: [] } : r));
    expect(codes(elsewhere)).toEqual(['path-degraded path node-1 -> node-2', 'runner-missing runner runner-node-3']);
  });

  it('is suspect, never healthy, when a starved prober found nothing bad', () => {
    const verdict = judgeAll(mesh(() => good).map((r) => (r.node === 'node-1' ? { ...r, starvation: starved } : r)));
    expect(verdict).toMatchObject({ state: 'suspect', findings: [{ code: 'prober-starved', subject: 'runner runner-node-1' }] });
    expect(verdict.summary).toContain('event-loop delay');
  });

  it('does not accuse a target on the word of starved probers', () => {
    const verdict = judgeAll(mesh((from) => (from === 'node-1' ? dead : good)).map((r) => (r.node === 'node-1' ? { ...r, starvation: starved } : r)));
    expect(verdict.state).toBe('suspect');
    expect(verdict.summary).toContain('3 of its 3 targets seemed bad, which is left out');
  });

  it('names what starved probers were told on the wire, before it doubts them', () => {
    const all = nodes.map((node): RunnerOutcome => ({ runner: node, node, state: 'failed', starvation: starved, targets: [resultOf('url', { failed: 60, error: 'refused' })] }));
    const verdict = judgeAll(all);
    expect(verdict.state).toBe('broken');
    expect(verdict.findings.map((f) => f.code)).toEqual(['target-refused', 'prober-starved', 'prober-starved', 'prober-starved']);
    expect(verdict.summary).toContain('connections are refused');
  });

  it.each(['closed', 'reset', 'tls'] as const)('names what fails for all of them by %s, for no reason of time, unless one was served', (error) => {
    const found = (of: (node: string) => ResultOptions): string[] => judgeAll(nodes.map((node): RunnerOutcome => ({ runner: node, node, state: 'failed', starvation: starved, targets: [resultOf('url', of(node))] }))).findings.map(({ code }) => code).filter((code) => code !== 'prober-starved');
    expect(found(() => ({ failed: 18, error }))).toEqual([error === 'tls' ? 'tls-failed' : 'target-down']);
    // One that was served, or one request that was: the others may have been too late.
    if (error !== 'tls') for (const other of [good, { latenciesUs: [900], failed: 17, error }, dead]) expect(found((node) => (node === 'node-1' ? other : { failed: 18, error }))).toEqual([]);
  });

  it('lets the success of one starved prober clear a target that another finds refusing', () => {
    const all = nodes.map((node): RunnerOutcome => ({ runner: node, node, state: 'failed', starvation: starved, targets: [resultOf('url', node === 'node-1' ? { failed: 60, error: 'refused' } : good)] }));
    expect(judgeAll(all).findings.map((f) => f.subject)).toEqual(['path node-1 -> url', 'runner node-1', 'runner node-2', 'runner node-3']);
  });

  it.each([
    ['its own system refused', { failed: 5, error: 'local', message: 'socket EMFILE' }, 'socket EMFILE'],
    ['its own system refused some', { latenciesUs: [900, 900], failed: 5, error: 'local' }, '5 of 7 requests could not be sent'],
    ['it could not send all', { latenciesUs: [900], unsent: 3 }, '3 of 4 requests could not be sent in time'],
    ['it sent late', { latenciesUs: [600_000, 640_000], sendLagsUs: [400_000, 440_000], expect: { meanAccessDelayInMs: 500 } }, 'requests were sent 420.0 ms late in the mean, which is part of the mean latency of 620.0 ms'],
  ] as [string, ResultOptions, string][])('is suspect and accuses nobody when %s', (_, path, text) => {
    for (const runners of [mesh((from) => (from === 'node-1' ? path : good)), mesh(() => path)]) {
      const verdict = judgeAll(runners);
      expect(verdict.state).toBe('suspect');
      expect(new Set(verdict.findings.map((f) => f.code))).toEqual(new Set(['prober-exhausted']));
      expect(verdict.findings[0]).toMatchObject({ subject: 'runner runner-node-1', severity: 'warning' });
      expect(verdict.summary).toContain('reached its own limits, what it measured at 3 of its 3 targets cannot be trusted; endpoint/v4/node-1: ');
      expect(verdict.summary).toContain(text);
    }
  });

  it('still accuses a target that answered nothing, or is slow by itself', () => {
    const verdict = (path: ResultOptions): string[] => codes([{ runner: 'a', node: 'n', state: 'failed', targets: [resultOf('url', path)] }]);
    expect(verdict({ failed: 10, error: 'timeout', unsent: 90 })).toEqual(['target-down target url']);
    expect(verdict({ failed: 3, error: 'local', latenciesUs: [1], unsent: 0, expect: { successRate: 1 } })).toEqual(['prober-exhausted runner a']);
    expect(verdict({ failed: 10, error: 'timeout', latenciesUs: [900], unsent: 2 })).toEqual(['target-degraded target url']);
    expect(verdict({ latenciesUs: [600_000], sendLagsUs: [3_000], expect: { meanAccessDelayInMs: 500 } })).toEqual(['slow target url']);
  });

  it('accuses a target that others found bad, whatever one prober lacks', () => {
    const targets = (from: string): RunnerOutcome => ({ runner: from, node: from, state: 'failed', targets: [resultOf('url', from === 'node-1' ? { failed: 5, error: 'local' } : dead)] });
    expect(codes(nodes.map(targets))).toEqual(['target-down target url', 'prober-exhausted runner node-1']);
  });

  it('stays broken when others prove it', () => {
    const verdict = judgeAll(mesh((from, to) => (to === 'node-3' ? dead : good)).map((r) => (r.node === 'node-3' ? { ...r, starvation: starved } : r)));
    expect(verdict.state).toBe('broken');
    expect(verdict.findings.map((f) => f.code)).toEqual(['node-unreachable', 'prober-starved']);
  });

  it('is incomplete by what could not be tested, also when nothing else was asked for', () => {
    const parts = ['spec.target.loadBalancer: the Service has no load balancer address', 'spec.target.ipv6: no runner has an IPv6 address'];
    const verdict = verdictSchema.parse(verdictOf(mesh(() => good), parts));
    expect(verdict).toMatchObject({ state: 'incomplete', summary: 'Not tested: spec.target.loadBalancer: the Service has no load balancer address (and 1 more).' });
    expect(verdict.findings.map((f) => `${f.code} ${f.subject}`)).toEqual(['not-tested spec.target.loadBalancer', 'not-tested spec.target.ipv6']);
    expect(verdictOf(mesh(() => good).map((r) => ({ ...r, targets: [] })), parts)).toMatchObject({ state: 'incomplete', findings: [{ code: 'not-tested' }, { code: 'not-tested' }] });
    expect(verdictOf(mesh((_, to) => (to === 'node-3' ? dead : good)), parts)).toMatchObject({ state: 'broken', findings: [{ code: 'node-unreachable' }, { code: 'not-tested' }, { code: 'not-tested' }] });
  });

  it('says in its summary why nobody at all took part', () => {
    const pending = (runner: string, reason: string): RunnerOutcome => ({ runner, node: '', state: 'missing', reason, targets: [] });
    const unready = 'it was not ready when the round started: 0/3 nodes are available: 3 Insufficient cpu';
    expect(judgeAll([pending('a', unready), pending('b', unready)]).summary).toBe(`The round measured nothing: none of its 2 runners reported: ${unready} (and 2 more).`);
    // Whoever gave the reason may have ended it as a sentence.
    expect(judgeAll([pending('a', `${unready}.`), pending('b', unready)]).summary).toBe(`The round measured nothing: none of its 2 runners reported: ${unready} (and 2 more).`);
    expect(judgeAll([pending('a', `${unready}.`)]).summary).toBe(`Runner a did not report: ${unready}.`);
    expect(judgeAll([pending('a', `${unready}.`), pending('b', 'gone.')]).findings[0]?.message).toMatch(/cpu \(1\); gone \(1\)\.$/);
    expect(judgeAll([pending('a', unready), pending('b', unready), pending('c', 'no heartbeat')])).toMatchObject({ state: 'incomplete', summary: expect.stringContaining(`${unready} (2); no heartbeat (1) (and 3 more).`) });
    expect(judgeAll([pending('a', unready)]).summary).toBe(`Runner a did not report: ${unready}.`);
  });

  it('reports runners that could not run, cancellation, and a round that measured nothing', () => {
    expect(codes([{ runner: 'a', node: 'n', state: 'error', reason: 'no TLS files', targets: [] }])).toEqual(['runner-error runner a']);
    expect(judgeAll([{ runner: 'a', node: 'n', state: 'canceled', targets: [resultOf('url', dead)] }])).toMatchObject({ state: 'incomplete', findings: [{ code: 'round-canceled' }] });
    expect(judgeAll([])).toMatchObject({ state: 'incomplete', findings: [{ code: 'no-targets' }] });
  });
});

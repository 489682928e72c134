import { describe, expect, it } from '@jest/globals';
import { verdictSchema, verdictStates } from '@roundsman/api';
import * as fc from 'fast-check';
import { roundOf, type Cluster, type Family, type Layer, type Probe } from '../testing/cluster.ts';
import type { ResultOptions } from '../testing/results.ts';
import { verdictOf } from './verdict.ts';

const timedOut: ResultOptions = { failed: 2, error: 'connect-timeout' };
const refused: ResultOptions = { failed: 2, error: 'refused' };
const status = (code: string): ResultOptions => ({ failed: 2, error: 'status', statusCodes: { [code]: 2 }, message: `status ${code}, expected 200 to 399` });
const unresolved: ResultOptions = { failed: 2, error: 'unresolved', message: 'getaddrinfo ENOTFOUND lb.example' };
const lossy: ResultOptions = { latenciesUs: [900], failed: 1, error: 'timeout' };
const every: Layer[] = ['endpoint', 'clusterIP', 'nodePort', 'loadBalancer', 'ingress'];
const three: Cluster = { nodes: ['node-1', 'node-2', 'node-3'], families: ['v4'], layers: every, interfaces: [] };
const dual: Cluster = { ...three, families: ['v4', 'v6'] };

/** One thing that is broken: what it does to each measurement, and what the first and only finding has to say. */
interface Fault {
  name: string;
  does: (probe: Probe, at: { x: string; y: string; n: number }) => ResultOptions | undefined;
  finding: (at: { x: string; y: string }) => { code: string; subject: string; layer: Layer };
  /** It is there only with an interface of this name. */
  interface?: string;
}
const isPod = (probe: Probe): boolean => probe.layer === 'endpoint' && probe.interface === undefined;
/** Behind a Service one endpoint of n is missing. */
const oneOf = (n: number): ResultOptions => ({ latenciesUs: Array.from({ length: n - 1 }, () => 900), failed: 1, error: 'connect-timeout' });

const faults: Fault[] = [
  { name: 'the pod network of everything', does: ({ layer, interface: i }) => (i === undefined ? (layer === 'ingress' ? status('503') : timedOut) : undefined), finding: () => ({ code: 'all-down', subject: 'mesh', layer: 'endpoint' }) },
  {
    name: 'all ways to node X', does: ({ layer, to, from }, { x, n }) => (layer === 'endpoint' || layer === 'nodePort' ? (to === x && from !== x ? timedOut : undefined) : from === x ? undefined : oneOf(n)),
    finding: ({ x }) => ({ code: 'node-unreachable', subject: `node ${x}`, layer: 'endpoint' }),
  },
  { name: 'the echo target of node X', does: (probe, { x, n }) => (isPod(probe) ? (probe.to === x ? refused : undefined) : probe.layer === 'endpoint' ? undefined : oneOf(n)), finding: ({ x }) => ({ code: 'node-unreachable', subject: `node ${x}`, layer: 'endpoint' }) },
  { name: 'all ways out of node X', does: ({ from, to }, { x }) => (from === x && to !== x ? timedOut : undefined), finding: ({ x }) => ({ code: 'node-no-egress', subject: `node ${x}`, layer: 'endpoint' }) },
  {
    name: 'the path from X to Y', does: ({ layer, from, to }, { x, y, n }) => (from !== x ? undefined : layer === 'endpoint' || layer === 'nodePort' ? (to === y ? timedOut : undefined) : layer === 'ingress' ? undefined : oneOf(n)),
    finding: ({ x, y }) => ({ code: 'path-broken', subject: `path ${x} -> ${y}`, layer: 'endpoint' }),
  },
  {
    name: 'the service forwarding of node X', does: ({ layer, from, to }, { x }) => (layer === 'endpoint' ? undefined : layer === 'nodePort' ? (to === x ? refused : undefined) : from === x ? timedOut : undefined),
    finding: ({ x }) => ({ code: 'service-forwarding', subject: `node ${x}`, layer: 'clusterIP' }),
  },
  { name: 'the endpoints of the Service', does: ({ layer }) => (layer === 'endpoint' ? undefined : layer === 'ingress' ? status('503') : refused), finding: () => ({ code: 'service-down', subject: 'layer clusterIP', layer: 'clusterIP' }) },
  { name: 'the node port of node X', does: ({ layer, to }, { x }) => (layer === 'nodePort' && to === x ? timedOut : undefined), finding: ({ x }) => ({ code: 'node-port-forwarding', subject: `node ${x}`, layer: 'nodePort' }) },
  { name: 'the firewall before node X', does: ({ layer, from, to }, { x }) => (layer === 'nodePort' && to === x && from !== x ? timedOut : undefined), finding: ({ x }) => ({ code: 'node-port-forwarding', subject: `node ${x}`, layer: 'nodePort' }) },
  { name: 'the way from X to the node port of Y', does: ({ layer, from, to }, { x, y }) => (layer === 'nodePort' && from === x && to === y ? timedOut : undefined), finding: ({ x, y }) => ({ code: 'path-broken', subject: `path ${x} -> nodePort ${y}`, layer: 'nodePort' }) },
  { name: 'the way from X to all node ports', does: ({ layer, from, to }, { x }) => (layer === 'nodePort' && from === x && to !== x ? timedOut : undefined), finding: ({ x }) => ({ code: 'path-broken', subject: `path ${x} -> nodePort`, layer: 'nodePort' }) },
  { name: 'all node ports', does: ({ layer }) => (layer === 'nodePort' ? timedOut : undefined), finding: () => ({ code: 'node-port-down', subject: 'layer nodePort', layer: 'nodePort' }) },
  { name: 'all node ports, and the load balancer that needs them', does: ({ layer }) => (layer === 'nodePort' || layer === 'loadBalancer' ? timedOut : undefined), finding: () => ({ code: 'node-port-down', subject: 'layer nodePort', layer: 'nodePort' }) },
  { name: 'the load balancer', does: ({ layer }) => (layer === 'loadBalancer' ? timedOut : undefined), finding: () => ({ code: 'load-balancer-down', subject: 'layer loadBalancer', layer: 'loadBalancer' }) },
  { name: 'what announces load balancers', does: ({ layer }) => (layer === 'loadBalancer' || layer === 'ingress' ? timedOut : undefined), finding: () => ({ code: 'load-balancer-down', subject: 'layer loadBalancer', layer: 'loadBalancer' }) },
  { name: 'the name of the load balancer', does: ({ layer }) => (layer === 'loadBalancer' ? unresolved : undefined), finding: () => ({ code: 'name-unresolved', subject: 'layer loadBalancer', layer: 'loadBalancer' }) },
  { name: 'the name of the load balancer on node X', does: ({ layer, from }, { x }) => (layer === 'loadBalancer' && from === x ? unresolved : undefined), finding: ({ x }) => ({ code: 'name-unresolved', subject: `path ${x} -> loadBalancer`, layer: 'loadBalancer' }) },
  { name: 'the way from X to the load balancer', does: ({ layer, from }, { x }) => (layer === 'loadBalancer' && from === x ? timedOut : undefined), finding: ({ x }) => ({ code: 'path-broken', subject: `path ${x} -> loadBalancer`, layer: 'loadBalancer' }) },
  { name: 'the ingress controller', does: ({ layer }) => (layer === 'ingress' ? refused : undefined), finding: () => ({ code: 'ingress-down', subject: 'layer ingress', layer: 'ingress' }) },
  { name: 'the rule of the ingress', does: ({ layer }) => (layer === 'ingress' ? status('404') : undefined), finding: () => ({ code: 'ingress-no-rule', subject: 'layer ingress', layer: 'ingress' }) },
  ...['502', '503', '504'].map((code): Fault => ({ name: `the backend of the ingress (${code})`, does: ({ layer }) => (layer === 'ingress' ? status(code) : undefined), finding: () => ({ code: 'ingress-backend', subject: 'layer ingress', layer: 'ingress' }) })),
  { name: 'the way from X to the ingress', does: ({ layer, from }, { x }) => (layer === 'ingress' && from === x ? timedOut : undefined), finding: ({ x }) => ({ code: 'path-broken', subject: `path ${x} -> ingress`, layer: 'ingress' }) },
  { name: 'an interface', interface: 'net1', does: ({ interface: i, from, to }) => (i === 'net1' && from !== to ? timedOut : undefined), finding: () => ({ code: 'interface-down', subject: 'interface net1', layer: 'endpoint' }) },
  { name: 'an interface of node X', interface: 'net1', does: ({ interface: i, from, to }, { x }) => (i === 'net1' && to === x && from !== x ? timedOut : undefined), finding: ({ x }) => ({ code: 'interface-down', subject: `interface net1 of node ${x}`, layer: 'endpoint' }) },
  { name: 'the path of an interface', interface: 'net1', does: ({ interface: i, from, to }, { x, y }) => (i === 'net1' && from === x && to === y ? timedOut : undefined), finding: ({ x, y }) => ({ code: 'path-broken', subject: `path ${x} -> ${y} (net1)`, layer: 'endpoint' }) },
  { name: 'some packets of the Service', does: ({ layer }) => (layer === 'clusterIP' ? lossy : undefined), finding: () => ({ code: 'target-degraded', subject: 'layer clusterIP', layer: 'clusterIP' }) },
];

const clusters = fc.record({ size: fc.integer({ min: 3, max: 5 }), families: fc.constantFrom<Family[]>(['v4'], ['v6'], ['v4', 'v6']), interfaces: fc.constantFrom<string[]>([], ['net1'], ['net1', 'net2']) }).map(({ size, families, interfaces }): Cluster => ({ nodes: Array.from({ length: size }, (_, i) => `node-${i + 1}`), families, layers: every, interfaces }));

describe('verdict over layers', () => {
  it('is healthy when nothing is broken', () => {
    fc.assert(fc.property(clusters, (cluster) => {
      expect(verdictOf(roundOf(cluster, () => undefined))).toMatchObject({ state: 'healthy', findings: [] });
    }), { numRuns: 8 });
  });

  it.each(faults)('names $name, and nothing else', ({ does, finding, interface: needed }) => {
    fc.assert(
      fc.property(clusters, fc.nat(), fc.nat(), fc.constantFrom('v4', 'v6', 'both'), (base, i, j, broken) => {
        const cluster = needed === undefined || base.interfaces.includes(needed) ? base : { ...base, interfaces: [needed] };
        const { nodes, families } = cluster;
        const x = nodes[i % nodes.length]!;
        const y = nodes[(i + 1 + (j % (nodes.length - 1))) % nodes.length]!;
        const concerned = families.length === 1 || broken === 'both' ? families : [broken as Family];
        const verdict = verdictSchema.parse(verdictOf(roundOf(cluster, (probe) => (concerned.includes(probe.family) ? does(probe, { x, y, n: nodes.length }) : undefined))));
        // Nothing goes by that family at all: the family is what is named.
        const { code, subject, layer } = finding({ x, y });
        const wholeFamily = code === 'all-down' && concerned.length < families.length;
        const named = wholeFamily ? { code: 'family-down', subject: `IP${concerned[0]!}`, layer } : { code, subject, layer };
        expect(verdict.findings).toEqual([{ ...named, ...(concerned.length < families.length ? { family: concerned[0] } : {}), severity: code === 'target-degraded' ? 'warning' : 'critical', message: expect.any(String), evidence: expect.any(Array) }]);
        const [{ message, evidence }] = verdict.findings as [(typeof verdict.findings)[number]];
        expect(evidence.length).toBeGreaterThan(0);
        if (concerned.length < families.length) expect(message).toContain(`${families.find((f) => !concerned.includes(f)) === 'v4' ? 'IPv4' : 'IPv6'} works.`);
        else expect(message).not.toContain('works.');
        expect(message).not.toMatch(/undefined|\(\)|  |\.\./);
      }),
      { numRuns: 12 },
    );
  });

  it('never gets better when a measurement gets worse, and is broken when something is down', () => {
    const rank = (state: string): number => verdictStates.indexOf(state as never);
    const worse = [undefined, lossy, timedOut] as const;
    const small: Cluster = { nodes: ['a', 'b', 'c'], families: ['v4'], layers: every, interfaces: [] };
    const keyOf = ({ from, layer, to }: Probe): string => `${from} ${layer} ${to ?? ''}`;
    const keys: string[] = [];
    roundOf(small, (probe) => void keys.push(keyOf(probe)));
    fc.assert(
      fc.property(fc.array(fc.constantFrom(0, 0, 0, 1, 2), { minLength: keys.length, maxLength: keys.length }), fc.nat({ max: keys.length - 1 }), (healths, changed) => {
        const verdict = (of: readonly number[]) => verdictOf(roundOf(small, (probe) => worse[of[keys.indexOf(keyOf(probe))]!]));
        const before = verdict(healths);
        const after = verdict(healths.map((health, i) => (i === changed ? Math.min(2, health + 1) : health)));
        expect(rank(after.state)).toBeLessThanOrEqual(rank(before.state));
        expect(before.state).toBe(healths.includes(2) ? 'broken' : healths.includes(1) ? 'degraded' : 'healthy');
      }),
      { numRuns: 80 },
    );
  });

  const first = (cluster: Cluster, fault: (probe: Probe) => ResultOptions | undefined): string => verdictOf(roundOf(cluster, fault)).summary;

  it('tells in one sentence what is broken, where, and what works', () => {
    const at = (layer: Layer, address: string, options: ResultOptions, from?: string) => (probe: Probe) => (probe.layer === layer && (from === undefined || probe.from === from) ? { ...options, address } : undefined);
    expect(first(three, at('clusterIP', 'http://10.96.0.7:80/?task=a', timedOut, 'node-2'))).toBe(
      'On node node-2 the service forwarding (kube-proxy or its like) is broken: the Service at 10.96.0.7 does not answer there, although the endpoints answer directly, and from other nodes it does; connections cannot be made in time: packets are dropped on the way, or the host is gone.',
    );
    expect(first(three, at('clusterIP', 'http://10.96.0.7:8080/', refused))).toBe(
      "The Service's cluster address (10.96.0.7:8080) does not answer from any node, although every endpoint answers directly; connections are refused: the host answers, but nothing listens on that port or a rule rejects it. The Service has no ready endpoints, or its selector or target port is wrong: kubectl get endpointslices tells.",
    );
    expect(first(three, at('loadBalancer', 'http://lb.example/', unresolved))).toBe('The host name of the load balancer (lb.example) leads nowhere from any node; the name cannot be resolved (getaddrinfo ENOTFOUND lb.example).');
    expect(first(three, at('ingress', 'http://10.0.0.9/', status('404')))).toBe('The ingress controller (10.0.0.9) answers 404 to every node, although the Service works by its cluster address: it has no rule for this host and path.');
    expect(first(three, at('ingress', 'http://10.0.0.9/', status('502')))).toBe('The ingress controller (10.0.0.9) answers 502, although the Service works by its cluster address: it does not reach the Service behind its rule, or finds no endpoints of it.');
    expect(first(three, ({ layer }) => (layer === 'ingress' ? status('503') : timedOut))).toMatch(/^No node reaches any other .* With it fail: the Service, node ports, the load balancer, the ingress\.$/);
    expect(first(dual, ({ layer, family }) => (layer === 'clusterIP' && family === 'v6' ? timedOut : undefined))).toMatch(/does not answer from any node over IPv6, although .* IPv4 works\.$/);
    expect(first(three, ({ layer, from, to }) => (layer === 'nodePort' && to === 'node-3' && from !== to ? timedOut : undefined))).toContain('It works on the node itself: look at the firewall and the way to its address.');
  });

  it('does not say what works when it was not measured', () => {
    expect(first({ ...three, layers: ['ingress'] }, () => refused)).toMatch(/^The ingress controller \(.*\) does not answer from any node; connections are refused/);
    expect(first({ ...three, layers: ['nodePort', 'loadBalancer'] }, () => timedOut)).toMatch(/^The node ports \(.*\) do not answer from any node; .* With it fails: the load balancer\.$/);
    expect(first({ ...three, nodes: ['only'] }, ({ layer }) => (layer === 'clusterIP' ? refused : undefined))).toContain('does not answer from only, the only node that could tell');
  });

  it('keeps faults of their own apart', () => {
    const codes = (cluster: Cluster, fault: (probe: Probe) => ResultOptions | undefined): string[] => verdictOf(roundOf(cluster, fault)).findings.map(({ code, family }) => (family === undefined ? code : `${code} ${family}`));
    // A controller that nobody reaches is no matter of the Service behind it.
    expect(codes(three, ({ layer }) => (layer === 'endpoint' ? undefined : refused))).toEqual(['service-down', 'ingress-down']);
    expect(codes(dual, ({ layer, family }) => (layer === 'ingress' && family === 'v4' ? refused : layer === 'clusterIP' && family === 'v6' ? timedOut : undefined))).toEqual(['service-down v6', 'ingress-down v4']);
    expect(codes(three, ({ layer, from, to }) => ((layer === 'endpoint' && to === 'node-1' && from !== to) || (layer === 'nodePort' && to === 'node-2') ? timedOut : undefined))).toEqual(['node-unreachable', 'node-port-forwarding']);
  });

  it('names some of many, and counts the rest', () => {
    const many: Cluster = { ...three, nodes: Array.from({ length: 50 }, (_, i) => `n${i}`), layers: ['clusterIP', 'loadBalancer'] };
    const { findings } = verdictOf(roundOf(many, ({ from }) => (Number(from.slice(1)) < 45 ? timedOut : undefined)));
    expect(findings).toHaveLength(21);
    expect(findings.at(-1)).toMatchObject({ code: 'service-forwarding', subject: '25 more nodes', message: expect.stringMatching(/^25 more nodes have the same trouble: n20, .* and others\. With it fails: the load balancer from there\.$/) });
    const nodePorts = verdictOf(roundOf({ ...many, layers: ['endpoint', 'nodePort'] }, ({ layer, to }) => (layer === 'nodePort' && Number(to?.slice(1)) < 30 ? timedOut : undefined)));
    expect(nodePorts.findings).toHaveLength(21);
    expect(nodePorts.findings.at(-1)).toMatchObject({ code: 'node-port-forwarding', subject: '10 more nodes', layer: 'nodePort' });
    const missing = verdictOf(roundOf(many, () => undefined).map((runner) => (runner.node === 'n0' ? runner : { ...runner, state: 'missing' as const, reason: 'no heartbeat', targets: [] })));
    expect(missing.findings).toHaveLength(21);
    expect(missing.findings.at(-1)).toMatchObject({ code: 'runner-missing', subject: '29 more runners' });
  });

  it('names one address of several that a layer has', () => {
    const runners = roundOf({ ...dual, layers: ['endpoint', 'loadBalancer'] }, () => undefined).map((runner) => ({
      ...runner,
      targets: runner.targets.flatMap((target) => (target.layer === 'loadBalancer' ? [{ ...target, target: `${target.target}/10.0.0.8` }, { ...target, target: `${target.target}/10.0.0.9`, ok: false, succeeded: 0, failed: 2, errors: { timeout: 2 } }] : [target])),
    }));
    expect(verdictOf(runners).findings).toMatchObject([{ code: 'load-balancer-down', subject: 'target loadBalancer/10.0.0.9', layer: 'loadBalancer', message: expect.stringMatching(/^Of the addresses of the load balancer, 10\.0\.0\.9 does not answer from any node over IPv4 and IPv6, others do/) }]);
  });

  it('takes a node whose runner is silent and whose node port is dead for unreachable', () => {
    const runners = roundOf(three, ({ layer, to }) => (layer === 'nodePort' && to === 'node-3' ? timedOut : undefined)).map((runner) =>
      runner.node === 'node-3' ? { ...runner, state: 'missing' as const, reason: 'it was not ready when the round started: NodeLost', targets: [] } : { ...runner, targets: runner.targets.filter((target) => target.target !== 'endpoint/v4/node-3') });
    expect(verdictOf(runners).findings).toMatchObject([{ code: 'node-unreachable', subject: 'node node-3', layer: 'nodePort' }, { code: 'runner-missing', subject: 'runner runner-node-3' }]);
  });

  it('names one endpoint of several on a node', () => {
    const runners = roundOf({ ...three, layers: ['endpoint'] }, () => undefined).map((runner) => ({ ...runner, targets: runner.targets.flatMap((target) => [{ ...target, target: `${target.target}/a` }, { ...target, target: `${target.target}/b` }]) }));
    const broken = runners.map((runner) => ({ ...runner, targets: runner.targets.map((target) => (target.target === 'endpoint/v4/node-2/b' ? { ...target, ok: false, succeeded: 0, failed: 2, errors: { refused: 2 } } : target)) }));
    expect(verdictOf(broken).findings).toMatchObject([{ code: 'target-down', subject: 'target endpoint/node-2/b', severity: 'critical' }]);
  });
});

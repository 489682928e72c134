import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { decodeToken, encodeToken, filterOf, InvalidToken, paramsOf, subjectOf } from './subject.ts';
import { messages } from './catalogue.ts';

const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?$/);
const kubernetesName = fc.array(label, { minLength: 1, maxLength: 5 }).map((labels) => labels.join('.'));

describe('a subject token', () => {
  it('holds any Kubernetes name in one token and gives it back', () => {
    fc.assert(
      fc.property(kubernetesName, (name) => {
        const token = encodeToken(name);
        expect(token).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(decodeToken(token)).toBe(name);
      }),
    );
  });

  it('is different for different names', () => {
    fc.assert(fc.property(kubernetesName, kubernetesName, (a, b) => (encodeToken(a) === encodeToken(b)) === (a === b)));
  });

  it('is refused for anything else, whatever it is', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary' })), (text) => {
        fc.pre(!/^[A-Za-z0-9.-]{1,253}$/.test(text));
        expect(() => encodeToken(text)).toThrow(InvalidToken);
      }),
    );
  });

  it.each(['>', '*', 'a.>', 'a b', 'a\tb', 'a\r\nPUB x 0', '', '$SYS', 'a_b', 'naïve', 'a/b', 'x'.repeat(254)])('is refused for %j', (name) => {
    expect(() => subjectOf(messages.change, { resource: 'nodes', namespace: '', name })).toThrow(/name: .*subject token/);
    expect(() => filterOf(messages.change, { name })).toThrow(InvalidToken);
  });

  it.each([-1, 1.5, Number.NaN, Infinity, 2 ** 53])('is refused for the number %p', (value) => {
    expect(() => encodeToken(value)).toThrow(InvalidToken);
  });
});

describe('subjectOf and paramsOf', () => {
  it('write dots as underscores, kinds in lower case, no namespace as a dash', () => {
    expect(subjectOf(messages.change, { resource: 'netreaches.roundsman.io', namespace: '', name: 'a.b' })).toBe('rounds.v1.change.netreaches_roundsman_io.-.a_b');
    expect(subjectOf(messages.live, { kind: 'AppHttpHealthy', namespace: 'default', task: 't', node: 'ip-10-0-0-1.ec2.internal' })).toBe(
      'rounds.v1.live.apphttphealthy.default.t.ip-10-0-0-1_ec2_internal',
    );
    expect(subjectOf(messages.work, { runner: 'r', kind: 'NetDNS', taskUid: 'u', round: 7 })).toBe('rounds.v1.work.r.netdns.u.7');
  });

  it('are each other backwards', () => {
    fc.assert(
      fc.property(kubernetesName, fc.oneof(fc.constant(''), label), kubernetesName, (resource, namespace, name) => {
        const params = { resource, namespace, name };
        expect(paramsOf(messages.change, subjectOf(messages.change, params))).toEqual(params);
      }),
    );
  });

  it('filter by what is given and match all of the rest', () => {
    expect(filterOf(messages.change, { resource: 'nodes' })).toBe('rounds.v1.change.nodes.*.*');
    expect(filterOf(messages.changeHead)).toBe('rounds.v1.change-head');
  });

  it('say what is missing, unknown or foreign', () => {
    expect(() => subjectOf(messages.nodeCancel, {})).toThrow('needs node');
    expect(() => subjectOf(messages.nodeCancel, { node: 'a', nodes: 'b' })).toThrow('has no nodes');
    expect(() => paramsOf(messages.nodeCancel, 'rounds.v1.node.a.logs')).toThrow('is not a');
    expect(() => paramsOf(messages.nodeCancel, 'rounds.v1.node.a.b.cancel')).toThrow('is not a');
  });
});

import { describe, expect, it } from '@jest/globals';
import type { PodAffinityTerm } from '@roundsman/api';
import type { PodInfo } from '../cluster/pod-info.ts';
import { info, nodeWith, said, type PodParts } from '../testing/objects.ts';
import { interPodAffinity } from './inter-pod-affinity.ts';

const web = { app: 'web' };
const notNear = "node(s) didn't match pod affinity rules";
const notApart = "!node(s) didn't match pod anti-affinity rules";
const unwelcome = "!node(s) didn't satisfy existing pods anti-affinity rules";
const term = (parts: Partial<PodAffinityTerm> = {}): PodAffinityTerm => ({ topologyKey: 'zone', labelSelector: { matchLabels: web }, ...parts });
const near = (...terms: PodAffinityTerm[]): PodParts => ({ affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } } });
const apart = (...terms: PodAffinityTerm[]): PodParts => ({ affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } } });
const inZone = (name: string, zone: string, ...pods: PodInfo[]) => nodeWith(name, pods, { labels: { zone } });
const there = info('there', { labels: web });

describe('near', () => {
  it('means in the same domain as a pod that fits all terms', () => {
    const nodes = [inZone('a1', 'a', there), inZone('a2', 'a'), inZone('b1', 'b'), nodeWith('nowhere')];
    expect(said(interPodAffinity, info('p', near(term())), nodes)).toEqual(['ok', 'ok', notNear, notNear]);
    expect(said(interPodAffinity, info('p', near(term(), term({ labelSelector: { matchLabels: { tier: 'x' } } }))), nodes)).toEqual([notNear, notNear, notNear, notNear]);
  });

  it('lets the first of a group that wants to be together go anywhere with the label', () => {
    const nodes = [inZone('a', 'a'), nodeWith('nowhere')];
    expect(said(interPodAffinity, info('p', { labels: web, ...near(term()) }), nodes)).toEqual(['ok', notNear]);
    expect(said(interPodAffinity, info('p', near(term())), nodes)).toEqual([notNear, notNear]);
  });

  it('is about pods of the own namespace, those named, or those chosen by labels', () => {
    const nodes = [inZone('a', 'a', info('there', { labels: web, namespace: 'shop' })), inZone('b', 'b')];
    const namespaceLabels = (name: string): Record<string, string> => (name === 'shop' ? { team: 'red' } : {});
    const verdict = (parts: Partial<PodAffinityTerm>): string => said(interPodAffinity, info('p', near(term(parts))), nodes, { namespaceLabels })[0] ?? '';
    expect(verdict({})).toBe(notNear);
    expect(verdict({ namespaces: ['shop'] })).toBe('ok');
    expect(verdict({ namespaceSelector: { matchLabels: { team: 'red' } } })).toBe('ok');
    expect(verdict({ namespaceSelector: { matchLabels: { team: 'blue' } } })).toBe(notNear);
    expect(verdict({ namespaceSelector: {} })).toBe('ok');
  });
});

describe('apart', () => {
  it('means in another domain than all such pods; a node in no domain is in no other either', () => {
    const nodes = [inZone('a1', 'a', there), inZone('a2', 'a'), inZone('b1', 'b'), nodeWith('nowhere')];
    expect(said(interPodAffinity, info('p', apart(term())), nodes)).toEqual([notApart, notApart, 'ok', 'ok']);
  });

  it('holds for those that were there first, too', () => {
    const loner = info('loner', { labels: { app: 'loner' }, ...apart(term({ topologyKey: 'kubernetes.io/hostname' })) });
    const nodes = [nodeWith('a', [loner]), nodeWith('b')];
    expect(said(interPodAffinity, info('p', { labels: web }), nodes)).toEqual([unwelcome, 'ok']);
    expect(said(interPodAffinity, info('p', { labels: { app: 'db' } }), nodes)).toEqual(['ok', 'ok']);
  });

  it('can be from the pods of other values of a label', () => {
    const blue = info('blue', { labels: { team: 'blue' } });
    const exclusive = (team: string): PodInfo => info('p', { labels: { team }, ...apart(term({ labelSelector: { matchExpressions: [{ key: 'team', operator: 'Exists' }] }, mismatchLabelKeys: ['team'] })) });
    const nodes = [inZone('a', 'a', blue), inZone('b', 'b')];
    expect(said(interPodAffinity, exclusive('red'), nodes)).toEqual([notApart, 'ok']);
    expect(said(interPodAffinity, exclusive('blue'), nodes)).toEqual(['ok', 'ok']);
  });
});

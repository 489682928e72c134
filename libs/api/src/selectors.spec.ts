import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from './meta.ts';
import { matchesFields, matchesLabels, parseFieldSelector, parseLabelSelector } from './selectors.ts';

const labels = { app: 'shop', tier: 'front', 'example.com/x': '' };

describe('label selectors', () => {
  it.each([
    ['', true], ['app=shop', true], ['app==shop', true], ['app = shop , tier != back', true], ['app!=shop', false], ['app in (a, shop)', true], ['app notin (a,shop)', false],
    ['missing notin (a)', true], ['missing!=a', true], ['missing=a', false], ['tier', true], ['!tier', false], ['!missing', true], ['example.com/x=', true], ['app in (shop),tier in (front,back)', true],
    ['toString', false], ['constructor!=x', true],
  ])('%j matches: %s', (selector, expected) => expect(matchesLabels(parseLabelSelector(selector), labels)).toBe(expected));
  it.each(['app in shop', 'app==a=b', '=x', 'app in (a', 'a b', 'app=under score!', 'UPPER/=x'])('refuses %j with a 400', (selector) => {
    expect(() => parseLabelSelector(selector)).toThrow(expect.objectContaining({ code: 400 }));
  });
  it('holds for an object without labels', () => expect(matchesLabels(parseLabelSelector('!a,b!=c'), undefined)).toBe(true));
});

describe('field selectors', () => {
  const kind = { namespaced: true, fieldSelectors: ['status.phase', 'spec.unschedulable'] };
  const object = { metadata: { name: 'x', namespace: 'n' }, status: { phase: 'Active' }, spec: { unschedulable: true } } as unknown as KubeObject;
  it.each([
    ['metadata.name=x', true], ['metadata.name!=x', false], ['status.phase==Active,metadata.namespace=n', true], ['status.phase!=Done,status.phase!=Failed', true], ['spec.unschedulable=true', true],
  ])('%j matches: %s', (selector, expected) => expect(matchesFields(parseFieldSelector(selector, kind), object)).toBe(expected));
  it('counts an absent field as empty', () => expect(matchesFields(parseFieldSelector('status.phase=', kind), { metadata: {} } as unknown as KubeObject)).toBe(true));
  it('refuses a field the kind cannot be selected by', () => expect(() => parseFieldSelector('spec.foo=1', kind)).toThrow('field label not supported: spec.foo'));
});

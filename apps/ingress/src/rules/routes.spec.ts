import { describe, expect, it } from '@jest/globals';
import type { Ingress } from '@roundsman/api';
import { backend, ingress, ingressClass, rule } from '../testing/objects.ts';
import { served } from './class.ts';
import { hostName } from './host.ts';
import { Routes } from './routes.ts';

const to = (ingresses: readonly Ingress[], host: string, path: string): string | undefined => {
  const target = new Routes(ingresses).find(host, path)?.route.target;
  return target?.kind === 'service' ? `${target.service}:${target.port}` : target?.why;
};

describe('rules of Ingresses', () => {
  it('go by host, by path, and by the wildcard for one label', () => {
    const all = [ingress('shop', { rules: [rule('shop.example', { '/': 'shop:80', '/cart': 'cart:http' }), rule('*.example', { '/': 'any:80' }), rule(undefined, { '/status': 'status:80' })] })];
    expect(to(all, 'shop.example', '/x')).toBe('shop:80');
    expect(to(all, 'shop.example', '/cart/1')).toBe('cart:http');
    expect(to(all, 'other.example', '/cart')).toBe('any:80');
    expect(to(all, 'deep.other.example', '/')).toBeUndefined();
    expect(to(all, 'example', '/')).toBeUndefined();
    expect(to(all, '', '/status')).toBe('status:80');
    // The most specific host decides alone.
    expect(to(all, 'unknown.org', '/status')).toBe('status:80');
    expect(to([ingress('a', { rules: [rule('a.example', { '/a': 'a:80' }), rule('*.example', { '/': 'any:80' })] })], 'a.example', '/b')).toBeUndefined();
  });

  it('several on one host are one: the older wins where they say different things', () => {
    const older = ingress('z-older', { ingressClassName: 'roundsman', rules: [rule('h', { '/': 'old:80', '/old': 'old:81' })] }, { creationTimestamp: '2025-01-01T00:00:00Z' });
    const newer = ingress('a-newer', { ingressClassName: 'roundsman', rules: [rule('h', { '/': 'new:80', '/new': 'new:81' })] }, { creationTimestamp: '2025-06-01T00:00:00Z' });
    const all = served([newer, older], [ingressClass('roundsman')]);
    expect(['/', '/old', '/new'].map((path) => to(all, 'h', path))).toEqual(['old:80', 'old:81', 'new:81']);
  });

  it('what no rule fits goes to the default backend: of an Ingress of the host, else of one without rules', () => {
    const shop = ingress('shop', { defaultBackend: backend('lost:80'), rules: [rule('shop.example', { '/cart': 'cart:80' })] });
    const all = ingress('all', { defaultBackend: backend('everything:80') });
    expect(to([shop, all], 'shop.example', '/x')).toBe('lost:80');
    expect(to([shop, all], 'other', '/')).toBe('everything:80');
    expect(to([shop], 'other', '/')).toBe('lost:80');
    expect(new Routes([shop, all]).references.map(({ service }) => service).sort()).toEqual(['cart', 'everything', 'lost']);
  });

  it('redirect where the host has TLS, unless the Ingress of the path says otherwise', () => {
    const secured = ingress('shop', { tls: [{ hosts: ['*.example'], secretName: 's' }], rules: [rule('shop.example', { '/': 'shop:80' })] });
    const challenge = ingress('challenge', { rules: [rule('shop.example', { '/.well-known': 'acme:80' })] }, { annotations: { 'roundsman.io/ssl-redirect': 'false' } });
    const routes = new Routes([secured, challenge]);
    expect([routes.secured('shop.example'), routes.secured('a.b.example'), routes.secured('other')]).toEqual([true, false, false]);
    expect([routes.find('shop.example', '/')?.route.redirects, routes.find('shop.example', '/.well-known/x')?.route.redirects]).toEqual([true, false]);
  });

  it('name what cannot be forwarded to', () => {
    expect(to([ingress('a', { defaultBackend: { resource: { apiGroup: 'k8s.example', kind: 'Bucket', name: 'icons' } } })], 'h', '/')).toBe('its backend is the Bucket icons, and only Services are forwarded to');
  });
});

describe('classes of Ingresses', () => {
  const named = (ingressClassName?: string, annotation?: string): Ingress =>
    ingress(`${ingressClassName}-${annotation}`, ingressClassName === undefined ? {} : { ingressClassName }, annotation === undefined ? {} : { annotations: { 'kubernetes.io/ingress.class': annotation } });
  const names = (classes: Parameters<typeof served>[1], ...all: Ingress[]): string[] => served(all, classes).map(({ metadata }) => metadata.name);

  it('those of others are not touched, nor those of classes that do not exist', () => {
    const classes = [ingressClass('ours'), ingressClass('theirs', 'k8s.io/ingress-nginx')];
    expect(names(classes, named('ours'), named('theirs'), named('none'), named(undefined, 'ours'), named(undefined, 'nginx'), named('ours', 'nginx'), named())).toEqual(['ours-nginx', 'ours-undefined', 'undefined-ours']);
  });

  it('the default class has those that name none', () => {
    expect(names([ingressClass('ours', undefined, true)], named(), named('other'))).toEqual(['undefined-undefined']);
    expect(names([ingressClass('ours'), ingressClass('theirs', 'k8s.io/ingress-nginx', true)], named())).toEqual([]);
  });
});

it('a Host header names a host without its port', () => {
  expect(['Shop.Example:8080', 'shop.example.', '[::1]:80', '10.0.0.1', undefined].map(hostName)).toEqual(['shop.example', 'shop.example', '[::1]', '10.0.0.1', '']);
});

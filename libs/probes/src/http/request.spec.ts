import { describe, expect, it } from '@jest/globals';
import { httpTargetSchema, type HttpTarget, type Materials } from '@roundsman/api';
import { buildRequest } from './request.ts';

function built(target: Partial<HttpTarget>, materials: Materials = {}) {
  return buildRequest(httpTargetSchema.parse({ id: 'url', layer: 'url', probe: 'http', url: 'http://shop.example:8080/a%20b?c=d#e', ...target }), materials);
}

const text = (target: Partial<HttpTarget>, materials?: Materials): string => built(target, materials).bytes.toString('utf8');

describe('buildRequest', () => {
  it('writes a plain request', () => {
    expect(text({})).toBe('GET /a%20b?c=d HTTP/1.1\r\nHost: shop.example:8080\r\nUser-Agent: roundsman\r\nAccept: */*\r\n\r\n');
    expect(text({ url: 'https://[2001:db8::1]/' })).toContain('Host: [2001:db8::1]\r\n');
  });

  it('keeps headers as given: order, repeats, colons in values, the Host', () => {
    const request = text({ headers: [['X-Time', '12:30:00'], ['Host', 'other:1'], ['X-Time', ' b '], ['user-agent', 'mine'], ['Accept', 'a/b']] });
    expect(request).toBe('GET /a%20b?c=d HTTP/1.1\r\nX-Time: 12:30:00\r\nHost: other:1\r\nX-Time: b\r\nuser-agent: mine\r\nAccept: a/b\r\n\r\n');
  });

  it('sends the body with its length, and none as length 0 where a body is usual', () => {
    const body = Buffer.from('grüße').toString('base64');
    expect(text({ method: 'POST', hasBody: true }, { body })).toMatch(/Content-Length: 7\r\n\r\ngrüße$/);
    expect(text({ method: 'PUT' })).toContain('Content-Length: 0\r\n');
    expect(text({ method: 'DELETE' })).not.toContain('Content-Length');
    expect(text({ method: 'GET', hasBody: true }, { body })).toContain('Content-Length: 7');
    expect(text({ method: 'POST', headers: [['Content-Length', '99'], ['Transfer-Encoding', 'chunked']] })).toMatch(/Accept: \*\/\*\r\nContent-Length: 0\r\n\r\n$/);
  });

  it('asks a proxy to connect in authority form', () => {
    expect(text({ method: 'CONNECT' })).toMatch(/^CONNECT shop.example:8080 HTTP\/1.1\r\nHost: shop.example:8080\r\n/);
    expect(text({ method: 'CONNECT', url: 'https://shop.example/' })).toMatch(/^CONNECT shop.example:443 /);
  });

  it('makes HTTP/2 headers of the same', () => {
    const request = built({ url: 'https://shop.example/x', http2: true, headers: [['X-A', '1'], ['Connection', 'close'], ['Host', 'inner']] });
    expect(request).toMatchObject({ http2: true, authority: 'inner', path: '/x' });
    expect(request.headers).toEqual([['x-a', '1'], ['user-agent', 'roundsman'], ['accept', '*/*']]);
    expect(built({ http2: true }).http2).toBe(false);
  });

  it('names the server for TLS without the port, and not by an address', () => {
    expect(built({ url: 'https://shop.example:8443/' }).tls).toMatchObject({ servername: 'shop.example', rejectUnauthorized: false });
    expect(built({ url: 'https://10.0.0.1:8443/', headers: [['Host', 'inner.example:9']] }).tls).toMatchObject({ servername: 'inner.example' });
    expect(built({ url: 'https://[::1]:8443/' }).tls).toMatchObject({ servername: '' });
    expect(built({}).tls).toBeUndefined();
  });

  it.each([
    [{ url: 'shop.example' }, {}, 'not an absolute http:// or https:// URL'],
    [{ url: 'ftp://shop.example' }, {}, 'not an absolute http:// or https:// URL'],
    [{ headers: [['A B', 'c']] }, {}, '"A B" is not a header name'],
    [{ headers: [['A', 'b\r\nX: y']] }, {}, 'value of header A has control characters'],
    [{ hasBody: true }, {}, 'materials hold no body'],
    [{ url: 'https://a/', hasTls: true }, {}, 'materials hold no TLS files'],
    [{ url: 'https://a/', hasTls: true }, { tls: { ca: 'nonsense', cert: 'no', key: 'no' } }, 'TLS files cannot be used'],
  ] as [Partial<HttpTarget>, Materials, string][])('refuses wrong set-up %#', (target, materials, message) => {
    expect(() => built(target, materials)).toThrow(message);
  });
});

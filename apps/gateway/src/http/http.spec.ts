import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { ServiceError, Unreachable } from '@roundsman/bus';
import { ApiError } from '@roundsman/api';
import { assert, jsonValue, property, string } from 'fast-check';
import { stringify } from 'yaml';
import { authenticator } from './auth.ts';
import { duplicateKeys, parseBody } from './body.ts';
import { serverCertificate } from './certificate.ts';
import { warningHeader } from './exchange.ts';
import { jsonErrorOffset } from './json-position.ts';
import { refuseOpenHttp } from './listener.ts';
import { negotiate } from './negotiate.ts';
import { resourcePath, segments } from './path.ts';
import { listOptions, Query, watchOptions, writeOptions } from './query.ts';
import { refusalOf } from './status.ts';
import { asksForStream } from './upgrade.ts';

const folders: string[] = [];
function temporaryFolder(prefix: string): string {
  folders.push(mkdtempSync(join(tmpdir(), prefix)));
  return folders.at(-1)!;
}
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));

const parse = (text: string, type?: string): unknown => parseBody(Buffer.from(text), type).value;
const query = (text: string): Query => new Query(new URLSearchParams(text));

describe('parseBody', () => {
  it('reads JSON by default and YAML by its types', () => {
    expect(parse('{"a":1}')).toEqual({ a: 1 });
    expect(parse('a: 1', 'application/yaml; charset=utf-8')).toEqual({ a: 1 });
    expect(parse('{"a":1}', 'application/apply-patch+yaml')).toEqual({ a: 1 });
    expect(parse('base: &b {x: 1}\nother: *b', 'application/yaml')).toEqual({ base: { x: 1 }, other: { x: 1 } });
  });

  const bomb = ['a: &a [x,x,x,x,x,x,x,x,x]', ...'bcdefghi'.split('').map((name, i) => `${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[i]}`).join()}]`)].join('\n');
  it.each<[string, string, string, number, RegExp]>([
    ['broken JSON', '{"a": 1,\n "b": }', 'application/json', 400, /"}" cannot stand at line 2, column 7/],
    ['JSON that ends early', '{"a": [1, 2', 'application/json', 400, /ends too early at line 1, column 12/],
    ['broken YAML', 'a: 1\nb: [1, 2\nc: 3', 'application/yaml', 400, /broken YAML.*line \d+, column \d+/],
    ['a YAML key given twice', 'a: 1\nb: 2\na: 3', 'application/yaml', 400, /Map keys must be unique at line 3, column 1/],
    ['two YAML documents', 'a: 1\n---\nb: 2', 'application/yaml', 400, /multiple documents/],
    ['an alias bomb', bomb, 'application/yaml', 400, /[Aa]lias/],
    ['an alias of nothing', 'a: *nobody', 'application/yaml', 400, /nobody/],
    ['nothing', '', 'application/json', 400, /empty/],
    ['only blanks', ' \n', 'application/yaml', 400, /empty/],
    ['deep JSON', `${'['.repeat(50_000)}${']'.repeat(50_000)}`, 'application/json', 400, /nested deeper than 100/],
    ['deep YAML', `${'['.repeat(50_000)}${']'.repeat(50_000)}`, 'application/yaml', 400, /nested deeper than 100/],
    ['a prototype', '{"a": {"__proto__": {"x": 1}}}', 'application/json', 400, /__proto__/],
    ['YAML that is long only as JSON', `a: &a [${Array(999).fill('"\\x01\\x02\\x03\\x04\\x05\\x06\\x07\\b"').join()}]\nb: [${Array(99).fill('*a').join()}]`, 'application/yaml', 413, /larger than 3145728 bytes once it is JSON/],
    ['a form', 'a=b', 'application/x-www-form-urlencoded', 415, /application\/json or application\/yaml/],
    ['Latin-1', '{}', 'application/json; charset=iso-8859-1', 415, /UTF-8/],
  ])('refuses %s and says where', (_what, text, type, code, message) => {
    expect(() => parse(text, type)).toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) }) as unknown as Error);
  });

  it('finds the first character that cannot stand in broken JSON', () => {
    for (const [text, offset] of [['{"a" 1}', 5], ['[1,]', 3], ['{,}', 1], ['[1 2]', 3], ['{"a":tru}', 5], ['"a\u0001"', 2], ['[1]]', 3], ['{"a":1,"b"', 10], ["{'a':1}", 1], ['"\\x"', 1]] as const) expect([text, jsonErrorOffset(text)]).toEqual([text, offset]);
    assert(
      property(jsonValue(), string({ maxLength: 3 }), (value, junk) => {
        const text = `${JSON.stringify([value])}${junk}`;
        let broken = false;
        try {
          JSON.parse(text);
        } catch {
          broken = true;
        }
        // What comes before the offset is always the beginning of some JSON text.
        if (broken) expect(jsonErrorOffset(text)).toBeGreaterThanOrEqual(JSON.stringify([value]).length);
      }),
    );
  });

  it('refuses bytes that are not UTF-8', () => {
    expect(() => parseBody(Buffer.from([0x7b, 0xff, 0x7d]), 'application/json')).toThrow('not valid UTF-8');
  });

  it('reads back what was written, in either form', () => {
    assert(
      property(
        jsonValue({ maxDepth: 5 }).filter((value) => !JSON.stringify(value).includes('__proto__')),
        (value) => {
          expect(parse(JSON.stringify(value))).toEqual(JSON.parse(JSON.stringify(value)));
          // As JSON, which knows no -0.
          expect(JSON.stringify(parse(stringify(value), 'application/yaml'))).toBe(JSON.stringify(value));
        },
      ),
    );
  });

  it('never fails in any other way, whatever the text', () => {
    assert(
      property(string({ unit: 'binary' }), (text) => {
        for (const type of ['application/json', 'application/yaml']) {
          try {
            parse(text, type);
          } catch (error) {
            expect(error).toBeInstanceOf(ApiError);
          }
        }
      }),
    );
  });

  it('names keys that stand twice in one object', () => {
    expect(duplicateKeys('{"a": {"b": 1, "c": [{"d": 1, "d": 2}], "b": 2}, "x": "\\"a\\": {", "a": 1}')).toEqual(['a.c[0].d', 'a.b', 'a']);
    assert(property(jsonValue(), (value) => expect(duplicateKeys(JSON.stringify(value))).toEqual([])));
  });
});

it('only requests for streams to pods are taken out of HTTP', () => {
  const asks = (url: string, upgrade?: string, method = 'GET'): boolean => asksForStream({ url, method, headers: upgrade === undefined ? {} : { upgrade } });
  const exec = '/api/v1/namespaces/n/pods/p/exec?command=a/exec';
  expect([asks(exec, 'websocket'), asks(exec, 'WebSocket'), asks(exec, 'SPDY/3.1', 'POST'), asks(exec, 'SPDY/3.1')]).toEqual([true, true, true, true]);
  // curl --http2 asks for h2c everywhere; it gets its answer over HTTP/1.1.
  expect([asks(exec), asks(exec, 'h2c'), asks(exec, 'websocket', 'POST'), asks('/api/v1/pods?x=/pods/p/exec', 'websocket'), asks('/api/v1/namespaces/n/pods/p/log', 'websocket')]).toEqual([false, false, false, false, false]);
});

describe('paths', () => {
  it.each([
    ['/api/v1/nodes', { group: '', version: 'v1', resource: 'nodes' }],
    ['/api/v1/namespaces', { group: '', version: 'v1', resource: 'namespaces' }],
    ['/api/v1/namespaces/a', { group: '', version: 'v1', resource: 'namespaces', name: 'a' }],
    ['/api/v1/namespaces/a/status', { group: '', version: 'v1', resource: 'namespaces', name: 'a', subresource: 'status' }],
    ['/api/v1/namespaces/a/events', { group: '', version: 'v1', namespace: 'a', resource: 'events' }],
    ['/apis/g.io/v1/namespaces/a/things/b.c', { group: 'g.io', version: 'v1', namespace: 'a', resource: 'things', name: 'b.c' }],
    ['/apis/g.io/v1/namespaces/a/things/b/status', { group: 'g.io', version: 'v1', namespace: 'a', resource: 'things', name: 'b', subresource: 'status' }],
    ['/apis/g.io/v1/things/b%2Fc/', { group: 'g.io', version: 'v1', resource: 'things', name: 'b/c' }],
    ['/api/v1', undefined],
    ['/apis/g.io', undefined],
    ['/apis/g.io/v1/things/a/b/c', undefined],
    ['/other', undefined],
  ])('%s', (path, expected) => {
    expect(resourcePath(segments(path))).toEqual(expected);
  });

  it('refuses a broken encoding', () => {
    expect(() => segments('/api/v1/nodes/%zz')).toThrow('broken percent-encoding');
  });
});

describe('negotiate', () => {
  const plain = { format: 'json', table: undefined, discovery: undefined };
  it.each([
    [undefined, plain],
    ['*/*', plain],
    ['application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json', { ...plain, table: 'v1' }],
    ['application/json;as=Table;v=v9;g=meta.k8s.io,application/json', plain],
    ['application/vnd.kubernetes.protobuf,application/json', plain],
    ['application/vnd.kubernetes.protobuf, */*', plain],
    ['application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json', { ...plain, discovery: 'v2' }],
    ['application/yaml', { ...plain, format: 'yaml' }],
    ['application/json;q=0, application/yaml', { ...plain, format: 'yaml' }],
  ])('%s', (header, expected) => {
    expect(negotiate(header)).toEqual(expected);
  });

  it('refuses what cannot be served', () => {
    expect(() => negotiate('text/html, image/png')).toThrow(expect.objectContaining({ code: 406 }) as unknown as Error);
  });
});

describe('options', () => {
  it('reads them', () => {
    expect(listOptions(query('limit=5&labelSelector=a%3Db&resourceVersion=0'))).toMatchObject({ limit: 5, labelSelector: 'a=b', resourceVersion: 0 });
    expect(watchOptions(query('allowWatchBookmarks=true&timeoutSeconds=7'))).toEqual({ bookmarks: true, initialEvents: undefined, timeoutSeconds: 7 });
    expect(writeOptions(query('dryRun=All&fieldManager=me&fieldValidation=Strict&force=false'))).toEqual({ dryRun: true, fieldManager: 'me', fieldValidation: 'Strict', force: false });
  });

  it.each<[string, (q: Query) => unknown, RegExp]>([
    ['limit=-1', listOptions, /limit must be a whole number/],
    ['limit=many', listOptions, /limit/],
    ['resourceVersion=abc', listOptions, /resourceVersion/],
    ['resourceVersionMatch=Exact', listOptions, /forbidden unless resourceVersion/],
    ['resourceVersionMatch=Sometimes&resourceVersion=1', listOptions, /one of Exact, NotOlderThan/],
    ['allowWatchBookmarks=maybe', watchOptions, /true or false/],
    ['timeoutSeconds=1.5', watchOptions, /timeoutSeconds/],
    ['dryRun=Some', writeOptions, /dryRun.*"All"/],
    ['fieldValidation=strict', writeOptions, /one of Strict, Warn, Ignore/],
    [`fieldManager=${'x'.repeat(129)}`, writeOptions, /at most 128/],
    ['fieldManager=%00', writeOptions, /printable/],
  ])('refuses %s', (text, read, message) => {
    expect(() => read(query(text))).toThrow(message);
  });
});

describe('authenticator', () => {
  const file = (text: string, mode = 0o600): string => {
    const path = join(temporaryFolder('roundsman-token-'), 'token');
    writeFileSync(path, text);
    chmodSync(path, mode);
    return path;
  };

  it('lets in who has one of the tokens, and nobody else', () => {
    const authenticate = authenticator(file('first-token-123456\n\nsecond-token-12345\n'), false);
    expect(authenticate('Bearer first-token-123456').name).toBe('roundsman:admin');
    expect(authenticate('bearer second-token-12345').name).toBe('roundsman:admin');
    for (const wrong of [undefined, '', 'Bearer', 'Bearer ', 'Bearer first-token-12345', 'Basic first-token-123456', 'first-token-123456']) {
      expect(() => authenticate(wrong)).toThrow(expect.objectContaining({ code: 401 }) as unknown as Error);
    }
  });

  it.each<[string, () => unknown, RegExp]>([
    ['no file', () => authenticator(undefined, false), /ROUNDSMAN_GATEWAY_TOKEN_FILE.*ROUNDSMAN_GATEWAY_INSECURE/],
    ['a file that is not there', () => authenticator('/nowhere/token', false), /cannot be read/],
    ['an empty file', () => authenticator(file('\n'), false), /one token per line/],
    ['a file that the group may read', () => authenticator(file('first-token-123456', 0o640), false), /open to others \(mode 0640\): chmod 600/],
    ['a file that all may change', () => authenticator(file('first-token-123456', 0o602), false), /open to others/],
    ['a short token', () => authenticator(file('short'), false), /at least 16/],
  ])('refuses to start with %s', (_what, start, message) => {
    expect(start).toThrow(message);
  });

  it('lets everybody in only when told to', () => {
    expect(authenticator(undefined, true)(undefined).name).toBe('roundsman:anonymous');
  });
});

describe('plain HTTP', () => {
  const certificate = { cert: '', key: '', ca: undefined };
  it.each(['0.0.0.0', '::', '10.0.0.1', 'gateway.example.org'])('is not served on %s, unless told to', (host) => {
    expect(() => refuseOpenHttp(host, undefined, false)).toThrow(`ROUNDSMAN_GATEWAY_HOST=${host} would serve plain HTTP`);
    refuseOpenHttp(host, certificate, false);
    refuseOpenHttp(host, undefined, true);
  });
  it.each(['127.0.0.1', '127.1.2.3', '::1', 'localhost'])('may be served on %s', (host) => refuseOpenHttp(host, undefined, false));
});

describe('serverCertificate', () => {
  it('makes one once, and another when it must name more; the authority stays', async () => {
    const tlsFolder = join(temporaryFolder('roundsman-tls-'), 'tls');
    const first = await serverCertificate({ tlsFolder }, ['localhost', '127.0.0.1']);
    expect(first?.ca).toContain('BEGIN CERTIFICATE');
    expect(await serverCertificate({ tlsFolder }, ['127.0.0.1'])).toEqual({ cert: first?.cert, key: first?.key, ca: first?.ca });
    const second = await serverCertificate({ tlsFolder }, ['localhost', 'rounds.example.org']);
    expect(second?.cert).not.toBe(first?.cert);
    expect(second?.ca).toBe(first?.ca);
    expect(readFileSync(join(tlsFolder, 'tls.crt'), 'utf8')).toBe(second?.cert);
  });

  it('refuses half a pair', async () => {
    await expect(serverCertificate({ tlsCertFile: '/x' }, [])).rejects.toThrow('ROUNDSMAN_GATEWAY_TLS_KEY_FILE');
    expect(await serverCertificate({}, [])).toBeUndefined();
  });
});

describe('refusalOf', () => {
  it.each<[string, unknown, number, string | undefined, string | undefined]>([
    ['our own refusal', new ApiError('NotFound', 'no such thing'), 404, 'NotFound', undefined],
    ['a status of another service', new ServiceError(422, 'x', new ApiError('Invalid', 'bad').status), 422, 'Invalid', undefined],
    ['an error of another service', new ServiceError(500, 'kaputt'), 500, 'InternalError', undefined],
    // kubectl repeats by itself when told to: only where nothing can have happened.
    ['nobody there', new Unreachable('nobody serves it', { notSent: true }), 503, 'ServiceUnavailable', '1'],
    ['no answer', new Unreachable('no answer within 10 s'), 504, 'Timeout', undefined],
    ['no database', Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }), 503, 'ServiceUnavailable', undefined],
    ['a mistake of ours', new TypeError('x is not a function'), 500, 'InternalError', undefined],
  ])('%s', (_what, error, code, reason, retryAfter) => {
    const { status, headers } = refusalOf(error);
    expect(status).toMatchObject({ kind: 'Status', status: 'Failure', code, reason });
    expect(headers['retry-after']).toBe(retryAfter);
  });

  it('tells nothing of our own mistakes', () => {
    expect(refusalOf(new Error('password is hunter2')).status.message).not.toContain('hunter2');
  });
});

it('warnings become headers that cannot be broken out of', () => {
  expect(warningHeader('unknown field "spec.x"\r\nSet-Cookie: a')).toBe('299 - "unknown field \\"spec.x\\"??Set-Cookie: a"');
});

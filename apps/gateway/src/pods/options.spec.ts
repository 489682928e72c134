import { describe, expect, it } from '@jest/globals';
import type { Pod } from '@roundsman/api';
import { Query } from '../http/query.ts';
import { commandOf, streamOptions } from './command-options.ts';
import { logOptions } from './log-options.ts';
import { containerOf, nodeOf } from './pod.ts';

const query = (text: string): Query => new Query(new URLSearchParams(text));
const pod = (containers: readonly string[], more: object = {}): Pod => ({ metadata: { name: 'web' }, spec: { containers: containers.map((name) => ({ name })), ...more } }) as unknown as Pod;

it('the container meant is the one named, or the only one', () => {
  expect(containerOf(pod(['a']), undefined)).toBe('a');
  expect(containerOf(pod(['a', 'b'], { initContainers: [{ name: 'i' }] }), 'i')).toBe('i');
  expect(containerOf(pod(['a'], { ephemeralContainers: [{ name: 'debug' }] }), 'debug')).toBe('debug');
  expect(() => containerOf(pod(['a', 'b'], { initContainers: [{ name: 'i' }] }), undefined)).toThrow('a container name must be specified for pod web, choose one of: [i a b]');
  expect(() => containerOf(pod(['a']), 'x')).toThrow('container x is not valid for pod web');
  expect(() => nodeOf(pod(['a']))).toThrow('pod web does not have a host assigned');
});

describe('log options', () => {
  const now = Date.parse('2026-01-01T00:01:00Z');
  it('say what is wanted', () => {
    expect(logOptions(query(''), now)).toEqual({ follow: false, previous: false, timestamps: false });
    expect(logOptions(query('follow=true&previous=1&timestamps=true&tailLines=0&limitBytes=1&sinceSeconds=60'), now)).toEqual({ follow: true, previous: true, timestamps: true, tailLines: 0, limitBytes: 1, sinceMs: Date.parse('2026-01-01T00:00:00Z') });
    expect(logOptions(query('sinceTime=2026-01-01T01:00:00.5%2B01:00'), now).sinceMs).toBe(Date.parse('2026-01-01T00:00:00.5Z'));
  });

  it.each([
    ['tailLines=1.5', 400, /tailLines must be a whole number/],
    ['tailLines=-1', 422, /tailLines: Invalid value: -1: must be greater than or equal to 0/],
    ['limitBytes=0', 422, /limitBytes: Invalid value: 0: must be greater than 0/],
    ['sinceSeconds=-5', 422, /sinceSeconds: Invalid value: -5: must be greater than 0/],
    ['sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z', 422, /at most one of `sinceTime` or `sinceSeconds`/],
    ['sinceTime=2026-13-01T00:00:00Z', 400, /sinceTime must be a time/],
    ['stream=Stdout', 422, /stream: Forbidden: may not be specified/],
    ['follow=maybe', 400, /follow must be true or false/],
  ])('%s is %i', (text, code, message) => {
    expect(() => logOptions(query(text), now)).toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) }) as unknown as Error);
  });
});

it('a terminal has one output; somebody must want something; a program has a name', () => {
  expect(streamOptions(query('stdin=true&stdout=true&stderr=true&tty=true'))).toEqual({ stdin: true, stdout: true, stderr: false, tty: true });
  expect(() => streamOptions(query('tty=true'))).toThrow('at least 1 of stdin, stdout, stderr');
  expect(commandOf(query('command=sh&command=-c&command=a%20b'))).toEqual(['sh', '-c', 'a b']);
  expect(() => commandOf(query(''))).toThrow('at least one command');
});

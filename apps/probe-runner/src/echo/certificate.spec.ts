import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { builtFile } from '../built-file.ts';
import { echoCertificate } from './certificate.ts';

const childrenOfMine = (): string => readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8');

describe('the certificate of the echo target', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roundsman-certificate-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('is also made where a process may not be less nice than its parent, and nothing goes on behind', async () => {
    const script = `
      const { echoCertificate } = await import(${JSON.stringify(builtFile('echo/certificate').href)});
      const { readFileSync } = await import('node:fs');
      const made = await echoCertificate(process.argv[1], ['localhost']).catch(({ message }) => message);
      process.stdout.write(JSON.stringify({ made, left: readFileSync('/proc/self/task/' + process.pid + '/children', 'utf8') }), () => process.exit());`;
    // Root may take any niceness, but for this capability; others have none to lose.
    const withoutRight = ['setpriv', '--bounding-set=-sys_nice'];
    const unprivileged = spawnSync(withoutRight[0]!, [...withoutRight.slice(1), 'true']).status === 0 ? withoutRight : [];
    const [program, ...rest] = [...unprivileged, 'nice', '-n', '15', process.execPath, '--input-type=module', '-e', script, join(folder, 'nice')];
    const child = spawn(program!, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
    const closed = once(child, 'close');
    expect(JSON.parse(await text(child.stdout))).toEqual({ made: { ca: expect.any(String), cert: expect.stringContaining('BEGIN CERTIFICATE'), key: expect.any(String) }, left: '' });
    await closed;
  });

  it('says why it was not made, and leaves no process', async () => {
    const own = join(folder, 'broken');
    await echoCertificate(own, ['a']);
    const file = join(own, 'echo-certificate.json');
    await writeFile(file, JSON.stringify({ ...(JSON.parse(await readFile(file, 'utf8')) as object), caKey: 'no key' }));
    const before = childrenOfMine();
    await expect(echoCertificate(own, ['b'])).rejects.toThrow(/^the certificate of the echo target was not made: .*PEM/s);
    expect(childrenOfMine()).toBe(before);
  });
});

import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { entries, split } from './demultiplex.ts';

const frame = (stream: number, content: string): Buffer => {
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(Buffer.byteLength(content), 4);
  return Buffer.concat([header, Buffer.from(content)]);
};

describe('the daemon’s frames', () => {
  const said = ['one\n', 'two\n', 'x'.repeat(300), 'four\n'];
  const bytes = Buffer.concat([frame(1, said[0] ?? ''), frame(2, said[1] ?? ''), frame(1, said[2] ?? ''), frame(2, said[3] ?? '')]);

  it('are read wherever the stream is cut', async () => {
    for (const size of [1, 2, 7, 8, 9, 13, 100, 10_000]) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.subarray(index * size, (index + 1) * size));
      const whole: string[] = [];
      for await (const batch of entries(Readable.from(chunks))) whole.push(...batch.map(String));
      expect(whole).toEqual(said);
      const { stdout, stderr } = split(Readable.from(chunks));
      expect(await Promise.all([text(stdout), text(stderr)])).toEqual([`one\n${'x'.repeat(300)}`, 'two\nfour\n']);
    }
  });

  it('that break off give the reason to both readers', async () => {
    const source = Readable.from(
      (async function* () {
        yield frame(1, 'begun');
        throw new Error('the daemon went away');
      })(),
    );
    const { stdout, stderr } = split(source);
    await Promise.all([stdout, stderr].map((stream) => expect(text(stream)).rejects.toThrow('the daemon went away')));
  });

  it('that break off before anybody reads harm nobody, and the reason is there for who reads then', async () => {
    const source = new PassThrough();
    const { stdout } = split(source);
    source.destroy(new Error('the daemon went away'));
    await new Promise((resolve) => stdout.once('close', resolve));
    await expect(text(stdout)).rejects.toThrow('the daemon went away');
  });
});

import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { dockerNotice, dockerState, findDocker } from './docker.ts';

describe('the Docker of a home', () => {
  const folder = mkdtempSync(join(tmpdir(), 'roundsman-docker-choice-'));
  const answering = join(folder, 'answering.sock');
  const silent = join(folder, 'silent.sock');
  let daemon: Server;
  beforeAll(async () => {
    daemon = createServer((_, response) => response.end('OK'));
    await new Promise<void>((resolve) => daemon.listen(answering, resolve));
  });
  afterAll(() => {
    daemon.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('is the one asked for, else the one its pods are on, else that of the environment', async () => {
    const env = { DOCKER_HOST: `unix://${silent}` };
    expect(await findDocker(answering, silent, env)).toEqual({ socket: answering });
    expect(await findDocker(undefined, answering, env)).toEqual({ socket: answering });
    expect(await findDocker(undefined, undefined, { DOCKER_HOST: `unix://${answering}` })).toEqual({ socket: answering });
    expect(await findDocker(undefined, undefined, env)).toEqual({ missing: expect.stringContaining(silent) });
    expect(await findDocker('off', answering, env)).toMatchObject({ off: true });
    // That it was switched off is remembered; that there was none is not.
    const of = async (wanted: string | undefined) => dockerState(await findDocker(wanted, undefined, env));
    expect([await of(answering), await of('off'), await of(undefined)]).toEqual([{ docker: answering }, { dockerOff: true }, {}]);
  });

  it('stays the one its pods are on while that does not answer, and a person is told; one that was asked for must answer', async () => {
    const found = await findDocker(undefined, silent, {});
    expect(found).toMatchObject({ socket: silent });
    expect(dockerNotice(found, undefined, '')).toContain(`Docker does not answer at ${silent} (there is no such socket): pods wait for it.`);
    await expect(findDocker(silent, undefined, {})).rejects.toThrow(`Docker does not answer at ${silent}`);
  });
});

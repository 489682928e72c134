import { open } from 'node:fs/promises';
import type { Container } from '@roundsman/api';
import type { PodRuntime } from '@roundsman/containers';
import type { Run } from '../containers/run.ts';

const mostBytes = 4096;
/** Of the log, when it stands in for the file. */
const ofLog = { lines: 80, bytes: 2048 };

/** What a container left in its termination message file, or with FallbackToLogsOnError the end of its log when it failed without. */
export async function lastWordsOf(runtime: Pick<PodRuntime, 'logs'>, file: string, container: Container, run: Run): Promise<string> {
  const words = await headOf(file);
  if (words !== '' || container.terminationMessagePolicy !== 'FallbackToLogsOnError' || run.exitCode === 0) return words;
  try {
    const parts: Buffer[] = [];
    for await (const part of await runtime.logs(run.id, { follow: false, timestamps: false, tailLines: ofLog.lines }, AbortSignal.timeout(5_000))) parts.push(logBytes(part));
    return Buffer.concat(parts).subarray(-ofLog.bytes).toString();
  } catch (error) {
    return `Error reading the log: ${(error as Error).message}`;
  }
}

const logBytes = (part: unknown): Buffer => (Buffer.isBuffer(part) ? part : Buffer.from(String(part)));

async function headOf(path: string): Promise<string> {
  let file;
  try {
    file = await open(path, 'r');
    const { buffer, bytesRead } = await file.read(Buffer.alloc(mostBytes), 0, mostBytes, 0);
    return buffer.subarray(0, bytesRead).toString();
  } catch {
    // A run of which there is no file left nothing.
    return '';
  } finally {
    await file?.close();
  }
}

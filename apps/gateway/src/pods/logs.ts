import type { ServerResponse } from 'node:http';
import type { Pipe } from '@roundsman/bus';
import { drained } from '../streams/drained.ts';

/** Output as it comes, at the pace of whoever reads it. A stream that broke ends the connection, so that nobody takes it for the end of the output. Never rejects. */
export async function streamLogs(pipe: Pipe, response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/plain', 'cache-control': 'no-cache, private', 'x-content-type-options': 'nosniff' });
  response.flushHeaders();
  const leave = (): void => pipe.abort('the client went away');
  if (response.destroyed) leave();
  else response.once('close', leave);
  try {
    for await (const item of pipe.incoming) {
      if ('bytes' in item && !response.write(item.bytes)) await drained(response);
    }
  } catch {
    // Its ending says what went wrong.
  }
  const { error, broken } = await pipe.closed;
  if (response.destroyed) return;
  if (broken !== undefined) response.destroy();
  else response.end(error === undefined ? undefined : `${error}\n`);
}

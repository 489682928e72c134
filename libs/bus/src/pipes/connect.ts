import { randomBytes } from 'node:crypto';
import type { PipeRequest } from '../catalogue.ts';
import { messages, prefix } from '../catalogue.ts';
import type { Bus, Subscription } from '../bus.ts';
import { endpoint, ServiceError } from '../bus.ts';
import type { Connection } from '../connection.ts';
import { messageOf } from '../log.ts';
import { serve } from '../micro.ts';
import type { Pipe } from '../pipe.ts';
import { encodeToken } from '../subject.ts';
import { PipeEnd } from './end.ts';

export interface PipeOptions {
  /** See `keepAliveMs` in end.ts, which is the default. */
  readonly keepAliveMs?: number;
}

type Side = 'up' | 'down';

/** One end of a pipe on this connection: it hears `hears` before this resolves, speaks on the other one, and breaks with the connection. */
function endOf(connection: Connection, node: string, session: string, hears: Side, options: PipeOptions): PipeEnd {
  const subject = (side: Side): string => `${prefix}.pipe.${encodeToken(node)}.${encodeToken(session)}.${side}`;
  const spokenOn = subject(hears === 'up' ? 'down' : 'up');
  const { nats, log, identity } = connection;
  const end = new PipeEnd(
    session,
    {
      // While there is no connection the client would keep it and send it later, into a pipe that is over.
      send: (frame) => void (connection.connected && !nats.isClosed() && nats.publish(spokenOn, frame)),
      room: (bytes) => (connection.admit(bytes) ? undefined : roomFor(connection, bytes)),
    },
    options,
  );
  const subscription = nats.subscribe(subject(hears), {
    callback: (error, message) => {
      if (error === null) end.receive(message.data);
      else end.break(`NATS refused ${identity} the frames of a stream: ${error.message}`);
    },
  });
  const offClose = connection.onClose(() => {
    end.abort(`${identity} is stopping`);
    return Promise.resolve();
  });
  // Fails when the connection is lost, or may not publish here.
  connection.guarded(spokenOn, () => end.closed).catch((error: unknown) => end.break(messageOf(error)));
  void end.closed.then((ending) => {
    offClose();
    if (!subscription.isClosed()) subscription.unsubscribe();
    if (ending.broken !== undefined) log.warn({ identity, node, session, error: ending.broken }, 'a stream to a node broke');
  });
  return end;
}

/** The server has not yet taken what was handed to the client: waits until it has. */
async function roomFor(connection: Connection, bytes: number): Promise<void> {
  do {
    await connection.guarded('', () => connection.nats.flush());
  } while (!connection.admit(bytes) && connection.connected);
}

/** The opening side. */
export async function openPipe(connection: Connection, ask: Bus['request'], node: string, request: Omit<PipeRequest, 'session'>, options: PipeOptions = {}): Promise<Pipe> {
  const session = randomBytes(16).toString('hex');
  const end = endOf(connection, node, session, 'down', options);
  try {
    await ask(messages.pipeOpen, { node }, { ...request, session });
  } catch (error) {
    // The agent may have opened it and its answer come too late.
    end.abort(messageOf(error));
    throw error;
  }
  return end;
}

/** The answering side: see Bus.servePipes. */
export async function servePipes(connection: Connection, node: string, open: (request: PipeRequest) => Promise<(pipe: Pipe) => Promise<void>>, options: PipeOptions = {}): Promise<Subscription> {
  const { log, identity } = connection;
  const ends = new Map<string, PipeEnd>();
  const run = async (end: PipeEnd, work: (pipe: Pipe) => Promise<void>): Promise<void> => {
    try {
      await work(end);
      await end.close();
    } catch (error) {
      // What fails because the other side has gone is no news.
      if (end.over) return;
      log.warn({ identity, session: end.session, error: messageOf(error) }, 'a stream failed');
      end.abort(messageOf(error));
    }
  };
  const answer = async (request: PipeRequest): Promise<object> => {
    const { session } = request;
    if (ends.has(session)) throw new ServiceError(409, `the stream ${session} is open already`);
    const work = await open(request);
    const end = endOf(connection, node, session, 'up', options);
    // After the answer, which is sent as soon as this returns.
    setImmediate(() => void run(end, work));
    ends.set(session, end);
    void end.closed.then(() => ends.delete(session));
    return {};
  };
  const service = await serve(connection, { name: 'agent', version: '1.0.0', description: 'Streams to the pods of a node' }, [endpoint(messages.pipeOpen, answer, { node })]);
  return {
    stop: async () => {
      await service.stop();
      for (const end of ends.values()) end.abort(`${identity} is stopping`);
    },
  };
}

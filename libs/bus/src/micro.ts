import { headers, nuid } from '@nats-io/transport-node';
import type { Msg, Subscription as NatsSubscription } from '@nats-io/transport-node';
import type { Endpoint, ServiceInfo, Subscription } from './bus.ts';
import { ServiceError } from './bus.ts';
import type { RequestMessage } from './catalogue.ts';
import { prefix } from './catalogue.ts';
import { check, decodeJson, encodeJson, InvalidPayload } from './codec.ts';
import type { Connection } from './connection.ts';
import { filterOf, InvalidToken, paramsOf } from './subject.ts';
import { messageOf } from './log.ts';

/** Requests of one endpoint that may be in work; more are answered 503 at once, so that callers back off. */
const concurrency = 4_096;
const queue = 'q';

interface EndpointState {
  readonly endpoint: Endpoint<unknown, unknown>;
  readonly message: RequestMessage<unknown, unknown>;
  readonly subject: string;
  readonly name: string;
  active: number;
  requests: number;
  errors: number;
  lastError: string;
  nanoseconds: number;
}

/** Headers are one line each. */
const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').slice(0, 500);

/** Text in one header, number in the other, and a body: the Kubernetes Status, or the same two. */
function replyError(msg: Msg, error: ServiceError): void {
  const head = headers();
  head.set('Nats-Service-Error', oneLine(error.message));
  head.set('Nats-Service-Error-Code', String(error.code));
  msg.respond(encodeJson(error.body ?? { code: error.code, message: error.message }), { headers: head });
}

/** What a caller is told; undefined for a bug of ours, which is logged as such. */
function tellable(error: unknown, request: boolean): ServiceError | undefined {
  if (error instanceof ServiceError) return error;
  if (request && (error instanceof InvalidToken || error instanceof InvalidPayload)) return new ServiceError(400, error.message);
  return undefined;
}

/** Serves endpoints as one NATS micro service (ADR-32): PING, INFO and STATS for all, for its name, for this instance. */
export async function serve(connection: Connection, info: ServiceInfo, endpoints: readonly Endpoint<never, unknown>[]): Promise<Subscription> {
  if (!/^[A-Za-z0-9_-]+$/.test(info.name)) throw new Error(`service name ${JSON.stringify(info.name)}: only letters, digits, "_" and "-"`);
  const { nats, log } = connection;
  const states = endpoints.map((given): EndpointState => {
    const endpoint = given as unknown as Endpoint<unknown, unknown>;
    const { message } = endpoint;
    return {
      endpoint,
      message,
      subject: filterOf(message, endpoint.params),
      name: message.subject.slice(`${prefix}.svc.`.length).split('.').slice(1).filter((token) => !token.startsWith('{')).join('-'),
      active: 0,
      requests: 0,
      errors: 0,
      lastError: '',
      nanoseconds: 0,
    };
  });

  const answer = async (state: EndpointState, msg: Msg): Promise<Uint8Array> => {
    if (state.active >= concurrency) throw new ServiceError(503, `${info.name} has ${concurrency} requests in work; try again`);
    state.active += 1;
    try {
      let request: unknown;
      let params: Record<string, string>;
      try {
        request = decodeJson(state.message.request, msg.data, msg.subject);
        params = paramsOf(state.message, msg.subject);
      } catch (error) {
        throw tellable(error, true) ?? error;
      }
      const reply = await state.endpoint.handle(request, params);
      check(state.message.reply, reply, `the reply to ${msg.subject}`);
      return encodeJson(reply);
    } finally {
      state.active -= 1;
    }
  };
  const received = async (state: EndpointState, msg: Msg): Promise<void> => {
    const started = process.hrtime.bigint();
    state.requests += 1;
    try {
      msg.respond(await answer(state, msg));
    } catch (error) {
      state.errors += 1;
      state.lastError = oneLine(messageOf(error));
      const told = tellable(error, false);
      if (told === undefined) log.error({ subject: msg.subject, error: messageOf(error), stack: error instanceof Error ? error.stack : undefined }, 'request failed');
      // No answer can be given on a closed connection; the caller's own has told it, or its time runs out.
      if (!nats.isClosed()) replyError(msg, told ?? new ServiceError(500, messageOf(error)));
    }
    state.nanoseconds += Number(process.hrtime.bigint() - started);
  };
  const working = new Set<Promise<void>>();
  const handle = (state: EndpointState, msg: Msg): void => {
    const work = received(state, msg)
      .catch((error: unknown) => log.error({ subject: msg.subject, error: messageOf(error) }, 'no answer given'))
      .finally(() => working.delete(work));
    working.add(work);
  };

  const id = nuid.next();
  const started = new Date().toISOString();
  const identity = { name: info.name, id, version: info.version, metadata: {} };
  const answers: Record<string, () => object> = {
    PING: () => ({ type: 'io.nats.micro.v1.ping_response', ...identity }),
    INFO: () => ({
      type: 'io.nats.micro.v1.info_response',
      ...identity,
      description: info.description,
      endpoints: states.map(({ name, subject, message }) => ({ name, subject, queue_group: queue, metadata: { description: message.description } })),
    }),
    STATS: () => ({
      type: 'io.nats.micro.v1.stats_response',
      ...identity,
      started,
      endpoints: states.map((state) => ({
        name: state.name,
        subject: state.subject,
        queue_group: queue,
        num_requests: state.requests,
        num_errors: state.errors,
        last_error: state.lastError,
        processing_time: state.nanoseconds,
        average_processing_time: state.requests === 0 ? 0 : Math.round(state.nanoseconds / state.requests),
      })),
    }),
  };

  const subscriptions: NatsSubscription[] = [];
  const listen = (subject: string, group: string | undefined, respond: (msg: Msg) => void): void => {
    subscriptions.push(
      nats.subscribe(subject, {
        ...(group === undefined ? {} : { queue: group }),
        callback: (error, msg) => {
          if (error === null) respond(msg);
          else log.error({ subject, error: error.message }, 'subscription refused');
        },
      }),
    );
  };
  for (const state of states) listen(state.subject, queue, (msg) => handle(state, msg));
  for (const [verb, body] of Object.entries(answers)) {
    for (const subject of [`$SRV.${verb}`, `$SRV.${verb}.${info.name}`, `$SRV.${verb}.${info.name}.${id}`]) {
      listen(subject, undefined, (msg) => void msg.respond(encodeJson(body())));
    }
  }
  await connection.announced();
  const stop = async (): Promise<void> => {
    offClose();
    await Promise.all(subscriptions.map((subscription) => (subscription.isClosed() || !connection.connected ? subscription.unsubscribe() : subscription.drain())));
    await Promise.all(working);
  };
  const offClose = connection.onClose(stop);
  return { stop };
}

import type { Params } from './bus.ts';
import { messages, prefix, streams } from './catalogue.ts';
import { inboxPrefixOf } from './connection.ts';
import { dutiesOf } from './duties.ts';
import type { Duties } from './duties.ts';
import type { Identity } from './identities.ts';
import { loginSubject } from './logins/subject.ts';
import { encodeToken, filterOf } from './subject.ts';

/** Subjects an identity may publish to and subscribe to; everything else the server refuses. */
export interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
  /** Taken out of `subscribe`, as the server writes it: `subject`, or `subject queue` for joining a queue group. */
  readonly denySubscribe: readonly string[];
  /** May answer a request at its reply subject. */
  readonly responds: boolean;
}

type Sink = (...subjects: string[]) => void;
type Own = readonly ({ readonly subject: string } | readonly [{ readonly subject: string }, Params])[];

const filters = (own: Own = []): string[] => own.map((one) => ('subject' in one ? filterOf(one) : filterOf(one[0], one[1])));
const api = '$JS.API';
const names = Object.keys(streams);

/** The smallest rights with which an identity can do its duties (duties.ts), over its own inbox. */
export function permissionsOf(identity: Identity): Permissions {
  const publish = new Set<string>();
  const subscribe = new Set<string>([`${inboxPrefixOf(identity.name)}.>`]);
  const mayPublish: Sink = (...subjects) => subjects.forEach((subject) => publish.add(subject));
  const maySubscribe: Sink = (...subjects) => subjects.forEach((subject) => subscribe.add(subject));
  const duties = dutiesOf(identity);

  mayPublish(...filters(duties.publishes), ...filters(duties.appends), ...filters(duties.requests));
  maySubscribe(...filters(duties.subscribes));
  if (duties.serves !== undefined) {
    maySubscribe(...filters(duties.serves));
    for (const verb of ['PING', 'INFO', 'STATS']) maySubscribe(`$SRV.${verb}`, `$SRV.${verb}.${identity.role}`, `$SRV.${verb}.${identity.role}.*`);
  }
  if (duties.answersLogins === true) maySubscribe(loginSubject);
  piping(duties, mayPublish, maySubscribe);
  consumption(duties, mayPublish);
  management(duties, mayPublish);
  if (duties.operates === true) operation(mayPublish, maySubscribe);
  // Requests and streams to pods may hold secrets; and who joins a group takes messages away from the service.
  const denySubscribe = duties.operates === true ? [`${prefix}.svc.>`, `${prefix}.node.*.pipe`, `${prefix}.pipe.>`, `${prefix}.> *`] : [];
  return { publish: [...publish].sort(), subscribe: [...subscribe].sort(), denySubscribe, responds: duties.serves !== undefined || duties.answersLogins === true };
}

function piping({ pipes }: Duties, mayPublish: Sink, maySubscribe: Sink): void {
  if (pipes === undefined) return;
  const node = 'opens' in pipes ? '*' : encodeToken(pipes.answersOf);
  const [up, down] = [`${prefix}.pipe.${node}.*.up`, `${prefix}.pipe.${node}.*.down`];
  mayPublish('opens' in pipes ? up : down);
  maySubscribe('opens' in pipes ? down : up);
}

function consumption(duties: Duties, mayPublish: Sink): void {
  for (const { message, durable, create } of duties.consumes ?? []) {
    const { stream } = message;
    mayPublish(`${api}.CONSUMER.INFO.${stream}.${durable}`, `${api}.CONSUMER.MSG.NEXT.${stream}.${durable}`, `$JS.ACK.${stream}.${durable}.>`);
    mayPublish(filterOf(messages.dlq, { stream, consumer: durable.replaceAll('_', '.') }));
    if (create) mayPublish(`${api}.CONSUMER.CREATE.${stream}.${durable}.${filterOf(message)}`);
  }
  for (const { stream } of duties.replays ?? []) readStream(stream, mayPublish);
}

/** Ordered consumers on a stream that keeps its messages; never on a work queue, where reading takes away. */
function readStream(stream: string, mayPublish: Sink): void {
  mayPublish(`${api}.STREAM.INFO.${stream}`, `${api}.CONSUMER.CREATE.${stream}.>`, `${api}.CONSUMER.INFO.${stream}.*`);
  mayPublish(`${api}.CONSUMER.MSG.NEXT.${stream}.*`, `${api}.CONSUMER.DELETE.${stream}.*`);
}

function management(duties: Duties, mayPublish: Sink): void {
  if (duties.managesStreams === true) {
    for (const name of names) {
      for (const verb of ['CREATE', 'UPDATE', 'INFO']) mayPublish(`${api}.STREAM.${verb}.${name}`);
      if (streams[name as keyof typeof streams].retention !== 'workqueue') continue;
      for (const verb of ['STREAM.MSG.GET', 'STREAM.MSG.DELETE', 'CONSUMER.LIST']) mayPublish(`${api}.${verb}.${name}`);
      mayPublish(filterOf(messages.dlq, { stream: name }));
    }
  }
  if (duties.managesWork === true) {
    mayPublish(`${api}.STREAM.PURGE.WORK`, `${api}.CONSUMER.LIST.WORK`, `${api}.CONSUMER.CREATE.WORK.*.${filterOf(messages.work)}`);
    mayPublish(`${api}.CONSUMER.INFO.WORK.*`, `${api}.CONSUMER.DELETE.WORK.*`);
  }
}

/** Also under the `nats` program's default inbox: all other identities have inboxes of their own. */
function operation(mayPublish: Sink, maySubscribe: Sink): void {
  maySubscribe(`${prefix}.>`, '_INBOX.>', '$JS.EVENT.>');
  mayPublish('$SRV.>', `${api}.INFO`, `${api}.STREAM.NAMES`, `${api}.STREAM.LIST`);
  for (const name of names) {
    for (const verb of ['STREAM.INFO', 'STREAM.MSG.GET', 'CONSUMER.NAMES', 'CONSUMER.LIST']) mayPublish(`${api}.${verb}.${name}`);
    mayPublish(`${api}.CONSUMER.INFO.${name}.*`, `${api}.DIRECT.GET.${name}`, `${api}.DIRECT.GET.${name}.>`);
    if (streams[name as keyof typeof streams].retention === 'limits') readStream(name, mayPublish);
  }
}

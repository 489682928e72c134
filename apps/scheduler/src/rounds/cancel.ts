import type { Round } from '@roundsman/api';
import { messages, serviceUser, type Bus } from '@roundsman/bus';
import type { Logger } from 'pino';
import type { Caches } from './caches.ts';

/** Marks the round to end early; the dispatcher then tells the runners. Throws on a conflict: look again and repeat. */
export async function cancelRound({ bus, caches, log }: { bus: Bus; caches: Caches; log: Logger }, round: Round, why: string): Promise<void> {
  const { namespace, name } = round.metadata;
  const object = { ...round, spec: { ...round.spec, cancel: true } };
  const reply = await bus.request(messages.write, {}, {
    operation: 'update',
    resource: caches.rounds.resource,
    ...(namespace === undefined ? {} : { namespace }),
    name,
    object: object as unknown as Record<string, unknown>,
    user: serviceUser('scheduler'),
  });
  caches.rounds.observe(reply.object as unknown as Round);
  log.info({ round: `${namespace}/${name}`, why }, 'round canceled');
}

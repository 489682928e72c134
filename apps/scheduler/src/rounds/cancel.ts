import { roundAnnotations, taskAnnotations, type Round } from '@roundsman/api';
import { messages, serviceUser, type Bus } from '@roundsman/bus';
import type { Logger } from 'pino';
import type { Caches } from './caches.ts';

/** Why a round was canceled, for those who have it: in words that end a sentence. */
export function whyCanceled(caches: Pick<Caches, 'taskByUid'>, { metadata, spec: { taskRef } }: Round): string {
  const task = caches.taskByUid(taskRef.kind, taskRef.uid);
  if (task === undefined || task.metadata.deletionTimestamp !== undefined) return 'its task was deleted';
  const asked = task.metadata.annotations?.[taskAnnotations.cancel] ?? '';
  return asked !== '' && asked !== metadata.annotations?.[roundAnnotations.cancel] ? `it was asked for by the annotation ${taskAnnotations.cancel} of its task` : 'the round was canceled';
}

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

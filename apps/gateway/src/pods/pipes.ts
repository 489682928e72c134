import type { Pod } from '@roundsman/api';
import { Unreachable, type Bus, type Pipe, type PipeRequest } from '@roundsman/bus';
import { nodeOf, nodeUnreachable } from './pod.ts';

/** A stream to something in a pod, opened by the agent of its node. Throws what the agent refuses it with; 503 when there is no agent to ask. */
export async function pipeTo(bus: Bus, pod: Pod, purpose: PipeRequest['purpose']): Promise<Pipe> {
  const node = nodeOf(pod);
  const { namespace = '', name, uid } = pod.metadata;
  try {
    return await bus.openPipe(node, { namespace, pod: name, podUid: uid, purpose });
  } catch (error) {
    if (error instanceof Unreachable) throw nodeUnreachable(node, error.notSent ? 'its agent does not answer' : error.message);
    throw error;
  }
}

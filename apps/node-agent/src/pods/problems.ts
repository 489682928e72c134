import { RuntimeProblem } from '@roundsman/containers';
import { ConfigProblem } from '../environment/environment.ts';
import { ImageProblem } from '../images/images.ts';
import { HookProblem } from '../lifecycle/hooks.ts';
import { VolumeProblem } from '../volumes/volume-problem.ts';

/** Why a container was not started: what it waits with, what its event says, and when it is tried again. */
export interface StartFailure {
  readonly reason: string;
  readonly message: string;
  /** Text of the event `Failed`; none where the cause has told it itself. */
  readonly event: string | undefined;
  readonly retryAfterMs: number;
}

/** As often as the kubelet tries again what failed outside of a container. */
const syncAgainMs = 10_000;
/** The daemon is told back by the manager; this is the net. */
const unavailableMs = 5_000;

/** No daemon answered: nothing is known of what was asked. */
export const isUnavailable = (error: unknown): boolean => error instanceof RuntimeProblem && error.code === 'Unavailable';

export function startFailure(error: unknown): StartFailure {
  if (error instanceof ImageProblem) return { reason: error.reason, message: error.message, event: `Error: ${error.reason}`, retryAfterMs: error.retryAfterMs };
  if (error instanceof ConfigProblem || error instanceof VolumeProblem) return failed('CreateContainerConfigError', error.message, syncAgainMs);
  // Hooks may repeat secrets: only their status says how they failed.
  if (error instanceof HookProblem) return { reason: 'PostStartHookError', message: error.message, event: undefined, retryAfterMs: 0 };
  if (error instanceof RuntimeProblem) {
    if (isUnavailable(error)) return { reason: 'ContainerCreating', message: error.message, event: undefined, retryAfterMs: unavailableMs };
    // A container that could not be started has ended: its back-off says when the next one is due.
    if (error.code === 'Start') return failed('RunContainerError', `failed to start container: ${error.message}`, 0);
    return failed('CreateContainerError', error.message, syncAgainMs);
  }
  return failed('CreateContainerError', error instanceof Error ? error.message : String(error), syncAgainMs);
}

const failed = (reason: string, message: string, retryAfterMs: number): StartFailure => ({ reason, message, event: `Error: ${message}`, retryAfterMs });

import { connect } from 'node:net';
import type { Container, TCPSocketAction } from '@roundsman/api';
import { failure, isRefusal, success, type Outcome } from './outcome.ts';
import { dialProblem, endpoint, portNumber } from './port.ts';

/** An open connection is a success. Throws for a port that names none. */
export function probeTcp(action: TCPSocketAction, container: Container, podIP: string, signal: AbortSignal): Promise<Outcome> {
  const host = action.host === undefined || action.host === '' ? podIP : action.host;
  const port = portNumber(action.port, container);
  return new Promise((resolve) => {
    const socket = connect({ host, port, signal });
    const end = (outcome: Outcome): void => {
      socket.destroy();
      resolve(outcome);
    };
    socket.once('connect', () => end(success));
    socket.once('error', (error) => end(failure(signal.aborted ? `dial tcp ${endpoint(host, port)}: i/o timeout` : dialProblem(error, host, port), isRefusal(error))));
  });
}

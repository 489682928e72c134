import { connect } from 'node:http2';
import type { GRPCAction } from '@roundsman/api';
import { failure, success, type Outcome } from './outcome.ts';
import { dialProblem, endpoint } from './port.ts';

/** Of grpc.health.v1.HealthCheckResponse. */
const serving = 1;
const statuses = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];

/** HealthCheckRequest{service} with the five bytes before a gRPC message. */
export function healthRequest(service: string): Buffer {
  const name = Buffer.from(service);
  const message = name.length === 0 ? name : Buffer.concat([Buffer.from([0x0a]), varint(name.length), name]);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** The status in a HealthCheckResponse: field 1, 0 when it is left out. */
export const healthStatus = (body: Buffer): number => (body.length >= 7 && body[5] === 0x08 ? (body[6] ?? 0) : 0);

/** Asks the standard health service over HTTP/2 without TLS; SERVING is a success. */
export function probeGrpc({ port, service = '' }: GRPCAction, podIP: string, signal: AbortSignal): Promise<Outcome> {
  const address = endpoint(podIP, port);
  return new Promise((resolve) => {
    const session = connect(`http://${address}`);
    const end = (outcome: Outcome): void => {
      session.destroy();
      resolve(outcome);
    };
    const timedOut = (): void => end(failure(`timeout: failed to connect service "${address}" within the deadline`));
    if (signal.aborted) return timedOut();
    signal.addEventListener('abort', timedOut, { once: true });
    session.once('error', (error) => end(failure(`error: this server is not reachable: ${dialProblem(error, podIP, port)}`)));
    const stream = session.request({ ':method': 'POST', ':path': '/grpc.health.v1.Health/Check', 'content-type': 'application/grpc', te: 'trailers', 'user-agent': 'kube-probe/1.32' });
    const parts: Buffer[] = [];
    let grpcStatus: string | undefined;
    const read = (headers: Readonly<Record<string, unknown>>): void => {
      if (headers['grpc-status'] !== undefined) grpcStatus = String(headers['grpc-status']);
    };
    stream.on('response', read);
    stream.on('trailers', read);
    stream.on('data', (part: Buffer) => parts.push(part));
    stream.once('error', (error: Error) => end(failure(`error: health rpc probe failed: ${error.message}`)));
    stream.once('end', () => {
      const status = healthStatus(Buffer.concat(parts));
      if (grpcStatus === '12') end(failure(`error: this server does not implement the grpc health protocol (grpc.health.v1.Health)`));
      else if (grpcStatus !== '0') end(failure(`error: health rpc probe failed with status ${grpcStatus ?? 'unknown'}`));
      else end(status === serving ? success : failure(`service unhealthy (responded with "${statuses[status] ?? status}")`));
    });
    stream.end(healthRequest(service));
  });
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return Buffer.from([...bytes, left]);
    bytes.push((left % 128) | 128);
  }
}

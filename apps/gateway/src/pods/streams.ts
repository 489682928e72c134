import type { Pod } from '@roundsman/api';
import type { Bus, PipeRequest } from '@roundsman/bus';
import type { UpgradeRequest } from '../http/upgrade.ts';
import { SpdySession } from '../spdy/session.ts';
import type { Client } from '../streams/client.ts';
import type { OpenStreams } from '../streams/open-streams.ts';
import { PortForward } from '../streams/port-forward.ts';
import { runRemoteCommand } from '../streams/remote-command.ts';
import { acceptSpdy, acceptStreams, forwardProtocol, offeredProtocols, streamProtocols } from '../streams/spdy.ts';
import { acceptChannels, acceptTunnel, channelProtocols, chosenProtocol, tunnelProtocol } from '../streams/websocket.ts';
import { commandOf, streamOptions, type StreamOptions } from './command-options.ts';
import { pipeTo } from './pipes.ts';
import { containerOf, nodeOf } from './pod.ts';

/** Opens exec, attach and port-forward: all that can be refused is refused before the connection is taken over. */
export class PodStreams {
  readonly #bus: Bus;
  readonly #open: OpenStreams;

  constructor(bus: Bus, open: OpenStreams) {
    this.#bus = bus;
    this.#open = open;
  }

  /** Resolves when it is over. */
  async open(pod: Pod, kind: 'exec' | 'attach' | 'portforward', upgrade: UpgradeRequest): Promise<void> {
    const release = this.#open.admit(kind, () => upgrade.socket.destroy());
    try {
      await (kind === 'portforward' ? this.#forward(pod, upgrade) : this.#command(pod, kind, upgrade));
    } finally {
      release();
    }
  }

  async #command(pod: Pod, kind: 'exec' | 'attach', upgrade: UpgradeRequest): Promise<void> {
    const { query } = upgrade;
    const container = containerOf(pod, query.text('container'));
    const options = streamOptions(query);
    const purpose: PipeRequest['purpose'] = kind === 'exec' ? { kind, container, command: commandOf(query), ...options } : { kind, container, ...options };
    const accept = acceptor(upgrade, options);
    const pipe = await pipeTo(this.#bus, pod, purpose);
    try {
      await runRemoteCommand(pipe, await accept(), kind);
    } catch (error) {
      pipe.abort('the client went away');
      throw error;
    }
  }

  async #forward(pod: Pod, upgrade: UpgradeRequest): Promise<void> {
    nodeOf(pod);
    const { name, uid } = pod.metadata;
    const session = new PortForward((port) => pipeTo(this.#bus, pod, { kind: 'port', port }), `pod ${name}, uid ${uid}`);
    let spdy: SpdySession;
    if (isWebSocket(upgrade)) {
      chosenProtocol(upgrade.request.headers['sec-websocket-protocol'], [tunnelProtocol]);
      spdy = new SpdySession(acceptTunnel(upgrade), (stream) => session.add(stream));
    } else {
      spdy = acceptSpdy(upgrade, chosenProtocol(offeredProtocols(upgrade), [forwardProtocol]), (stream) => session.add(stream));
    }
    await spdy.closed;
    session.end();
  }
}

/** Takes the connection over in the protocol that the client asks for; 400 when that is none. */
function acceptor(upgrade: UpgradeRequest, { stdin, stdout, stderr, tty }: StreamOptions): () => Client | Promise<Client> {
  if (isWebSocket(upgrade)) {
    const protocol = chosenProtocol(upgrade.request.headers['sec-websocket-protocol'], channelProtocols);
    return () => acceptChannels(upgrade, protocol);
  }
  const protocol = chosenProtocol(offeredProtocols(upgrade), streamProtocols);
  const wanted = ['error', ...(stdin ? ['stdin'] : []), ...(stdout ? ['stdout'] : []), ...(stderr ? ['stderr'] : []), ...(tty ? ['resize'] : [])];
  return () => acceptStreams(upgrade, protocol, wanted);
}

const isWebSocket = ({ request }: UpgradeRequest): boolean => request.headers.upgrade?.toLowerCase() === 'websocket';

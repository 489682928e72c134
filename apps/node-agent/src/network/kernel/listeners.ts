import { readFile } from 'node:fs/promises';

/** Of /proc/net/tcp and its like: a socket that listens; UDP sockets that are bound have the other. */
const listening: Readonly<Record<string, string>> = { TCP: '0A', UDP: '07' };
const files: Readonly<Record<string, readonly string[]>> = { TCP: ['tcp', 'tcp6'], UDP: ['udp', 'udp6'] };

/** Ports that programs of the namespace of a process listen on, whatever their address. `pid`: `self` for the agent's. */
export async function listeningPorts(pid: number | 'self', protocol: string): Promise<ReadonlySet<number>> {
  const texts = await Promise.all((files[protocol] ?? []).map((name) => readFile(`/proc/${pid}/net/${name}`, 'utf8').catch(() => '')));
  return new Set(texts.flatMap((text) => parseListeners(text, listening[protocol] ?? '')));
}

export function parseListeners(text: string, state: string): number[] {
  return text
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, local, , is] = line.trim().split(/\s+/);
      return local !== undefined && is === state ? [Number.parseInt(local.split(':')[1] ?? '', 16)] : [];
    });
}

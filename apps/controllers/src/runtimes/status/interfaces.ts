import { isIP } from 'node:net';
import type { Pod, RuntimeRunner } from '@roundsman/api';

type Interfaces = NonNullable<RuntimeRunner['interfaces']>;

const textIn = (entry: object, member: string): string | undefined => {
  const value = (entry as Record<string, unknown>)[member];
  return typeof value === 'string' && value !== '' ? value : undefined;
};

/**
 * The interfaces of a pod besides its own, from what Multus says of it (network-status of the Network Plumbing Working Group: a list of
 * `{ name, interface, ips, default }`) in the first of these annotations that is there. What cannot be read is none.
 */
export function interfacesOf(pod: Pod, annotations: readonly string[]): Interfaces {
  const text = annotations.map((name) => pod.metadata.annotations?.[name]).find((one) => one !== undefined && one !== '');
  const own = new Set((pod.status?.podIPs ?? []).map(({ ip }) => ip));
  const found: Interfaces = [];
  for (const entry of listIn(text)) {
    if (typeof entry !== 'object' || entry === null || (entry as { default?: unknown }).default === true) continue;
    const name = textIn(entry, 'interface') ?? textIn(entry, 'name') ?? '';
    const { ips } = entry as { ips?: unknown };
    for (const address of Array.isArray(ips) ? ips : []) {
      const version = typeof address === 'string' ? isIP(address) : 0;
      if (version !== 0 && !own.has(address as string)) found.push({ name, family: version === 4 ? 'v4' : 'v6', address: address as string });
    }
  }
  return found;
}

function listIn(text: string | undefined): unknown[] {
  try {
    const value: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

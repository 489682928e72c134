import type { z } from 'zod';

/** What Kubernetes tells every container of a Service: `<NAME>_PORT=tcp://...`, `<NAME>_SERVICE_HOST`, and so on. The name is the user's, so it may begin like a setting. */
const ofService = (name: string, value: string): boolean => /_SERVICE_(HOST|PORT(_.+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(name) || (name.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value));

/** camelCase as part of a variable's name: `dnsUpstream` is DNS_UPSTREAM. */
export const upperOf = (key: string): string => key.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').toUpperCase();

/**
 * Settings from environment variables, empty ones left out. Throws what is wrong with which, also for a variable that begins with `prefix` and is no
 * setting.
 */
export function readEnvironment<S extends z.ZodObject>(schema: S, env: NodeJS.ProcessEnv, prefix: string, variableOf: (key: string) => string): z.output<S> {
  const set = new Map(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '' && !ofService(entry[0], entry[1])));
  const keys = Object.keys(schema.shape);
  const known = new Set(keys.map(variableOf));
  const unknown = [...set.keys()].filter((name) => name.startsWith(prefix) && !known.has(name));
  if (unknown.length > 0) throw new Error(`${unknown.join(', ')}: no such setting; known are ${[...known].join(', ')}`);
  const given = keys.flatMap((key) => {
    const value = set.get(variableOf(key));
    return value === undefined ? [] : [[key, value]];
  });
  const parsed = schema.safeParse(Object.fromEntries(given));
  if (parsed.success) return parsed.data;
  throw new Error(parsed.error.issues.map((issue) => `${variableOf(String(issue.path[0]))}: ${issue.message}`).join('; '));
}

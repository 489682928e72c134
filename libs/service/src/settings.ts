import type { z } from 'zod';

/** A setting that cannot be used; `problems` has one line per variable, each starting with its name. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  constructor(readonly problems: readonly string[]) {
    super(`Settings:\n${problems.map((line) => `  ${line}`).join('\n')}`);
  }
}

/** `node-agent` -> `ROUNDSMAN_NODE_AGENT_`. */
export const settingPrefix = (service: string): string => `ROUNDSMAN_${service.toUpperCase().replaceAll('-', '_')}_`;

/** `node-agent`, `runnerCommand` -> `ROUNDSMAN_NODE_AGENT_RUNNER_COMMAND`. */
export const settingName = (service: string, key: string): string =>
  settingPrefix(service) + key.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').toUpperCase();

/** Names that belong to the process, not to one service (docs/settings.md, `roundsman serve --help`). */
export const processSettings = [
  'ROUNDSMAN_HOME',
  'ROUNDSMAN_NATS_URL',
  'ROUNDSMAN_NATS_KEYS',
  'ROUNDSMAN_DATABASE_URL',
  'ROUNDSMAN_TARGET_DENY',
  'ROUNDSMAN_TARGET_DENY_ENDPOINTS',
  'ROUNDSMAN_TARGET_ALLOW',
  'ROUNDSMAN_HEALTH_HOST',
  'ROUNDSMAN_HEALTH_PORT',
  'ROUNDSMAN_LOG_LEVEL',
  'ROUNDSMAN_LOG_FORMAT',
  'ROUNDSMAN_QUIET',
  'ROUNDSMAN_CACHE',
  'ROUNDSMAN_NATS_SERVER',
  'ROUNDSMAN_POSTGRES_BIN',
  'ROUNDSMAN_TEST_LOG',
] as const;

/** The keys of an object schema, also behind default, optional, pipe and transform. */
function keysOf(schema: unknown): string[] | undefined {
  const def = (schema as { def?: Record<string, unknown> }).def;
  if (!def) return undefined;
  if (def['shape']) return Object.keys(def['shape']);
  return keysOf(def['innerType'] ?? def['in']);
}

/**
 * One service's settings from the environment, checked by its schema. An empty value counts as not set. Throws
 * SettingsError that names every variable which is unknown or has a bad value.
 */
export function readSettings<T>(service: string, schema: z.ZodType<T>, env: NodeJS.ProcessEnv): T {
  const keys = keysOf(schema);
  if (!keys) throw new Error(`the settings of ${service} are not an object schema`);
  const prefix = settingPrefix(service);
  const known = new Map(keys.map((key) => [settingName(service, key), key]));
  const problems: string[] = [];
  const input: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(prefix) || value === undefined || value === '') continue;
    const key = known.get(name);
    if (key === undefined) problems.push(unknownSetting(name, [...known.keys()]));
    else input[key] = value;
  }
  const parsed = schema.safeParse(input);
  if (!parsed.success) {
    for (const issue of parsed.error.issues) {
      const name = issue.path.length > 0 ? settingName(service, String(issue.path[0])) : prefix + '*';
      problems.push(`${name}: ${issue.message}${env[name] ? ` (it is ${quoted(name, env[name])})` : ''}`);
    }
  }
  if (problems.length > 0) throw new SettingsError(problems);
  return parsed.data as T;
}

/** Throws SettingsError for `ROUNDSMAN_*` variables that belong to neither the process nor a service of the product. */
export function refuseUnknownSettings(services: readonly string[], env: NodeJS.ProcessEnv): void {
  const prefixes = services.map(settingPrefix);
  const unknown = Object.keys(env).filter(
    (name) => name.startsWith('ROUNDSMAN_') && !(processSettings as readonly string[]).includes(name) && !prefixes.some((prefix) => name.startsWith(prefix)),
  );
  if (unknown.length > 0) throw new SettingsError(unknown.map((name) => unknownSetting(name, [...processSettings, ...prefixes.map((prefix) => `${prefix}*`)])));
}

const unknownSetting = (name: string, known: readonly string[]): string => `${name}: no such setting; known are ${known.length > 0 ? known.join(', ') : 'none'}`;

/** Values of secrets are not repeated in an error. */
const quoted = (name: string, value: string): string => (/(TOKEN|SECRET|PASSWORD|SEED|KEY|URL)/.test(name) ? 'not shown' : JSON.stringify(value));

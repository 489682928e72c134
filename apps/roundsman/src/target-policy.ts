import { lookup } from 'node:dns/promises';

/** Who judges a target, and how its settings begin: intake when a task is admitted, runners (set up by their agents, or by controllers where they are pods) when they connect. */
const judges = { intake: 'ROUNDSMAN_INTAKE_TARGET_', 'node-agent': 'ROUNDSMAN_NODE_AGENT_', controllers: 'ROUNDSMAN_CONTROLLERS_RUNNER_', 'probe-runner': 'ROUNDSMAN_RUNNER_' } as const;
const parts = ['DENY', 'DENY_ENDPOINTS', 'ALLOW'] as const;

/**
 * One target policy for all judges of a process: what `ROUNDSMAN_TARGET_*` and the settings of any one judge say, and the product's own
 * endpoints (`address:port`), as the settings of each. Nothing replaces anything; link-local addresses are always denied unless allowed.
 */
export function policyEnv(env: NodeJS.ProcessEnv, own: readonly string[]): Record<keyof typeof judges, NodeJS.ProcessEnv> {
  const lists = parts.map((part) => {
    const said = ['ROUNDSMAN_TARGET_', ...Object.values(judges)].flatMap((prefix) => (env[prefix + part] ?? '').split(','));
    const entries = [...said, ...(part === 'DENY_ENDPOINTS' ? own : [])].map((entry) => entry.trim()).filter((entry) => entry !== '');
    return [part, [...new Set(entries)].join(',')] as const;
  });
  const of = (prefix: string): NodeJS.ProcessEnv => Object.fromEntries(lists.map(([part, text]) => [prefix + part, text]));
  return { intake: of(judges.intake), 'node-agent': of(judges['node-agent']), controllers: of(judges.controllers), 'probe-runner': of(judges['probe-runner']) };
}

/** The NATS and Postgres that this process uses, as `address:port`. Names count as the addresses they have now; `problems` tells those that have none. */
export async function ownEndpoints(env: NodeJS.ProcessEnv): Promise<{ endpoints: string[]; problems: string[] }> {
  const nats = [env['ROUNDSMAN_NATS_URL'] || 'nats://127.0.0.1:4222', env['ROUNDSMAN_NODE_AGENT_NATS_URL'] ?? ''].flatMap((list) => list.split(','));
  const wanted = [...nats.map((url) => ({ url, port: '4222' })), { url: env['ROUNDSMAN_DATABASE_URL'] ?? '', port: '5432' }];
  const endpoints = new Set<string>();
  const problems: string[] = [];
  for (const { url: text, port } of wanted.filter(({ url }) => url.trim() !== '')) {
    const url = URL.parse(text.includes('://') ? text.trim() : `nats://${text.trim()}`);
    const host = url?.hostname.replace(/^\[|\]$/g, '') ?? '';
    // A socket in the file system is no endpoint that a probe could reach.
    if (url !== null && host === '') continue;
    try {
      if (url === null) throw new Error('is not a URL with one host');
      for (const { address, family } of await lookup(host, { all: true })) endpoints.add(`${family === 6 ? `[${address}]` : address}:${url.port || port}`);
    } catch (error) {
      problems.push(`${port === '4222' ? 'NATS' : 'Postgres'} ${host}: ${(error as Error).message}`);
    }
  }
  return { endpoints: [...endpoints], problems };
}

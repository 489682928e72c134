import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@roundsman/testkit';
import { Pool } from 'pg';
import { breaches, type Accepted } from './chaos-invariants.ts';
import { ProductProcesses } from './product-processes.ts';

/**
 * Nothing accepted is lost: services, NATS and Postgres are killed at seeded instants while tasks run; the same ones each time, unless asked for others.
 *   ROUNDSMAN_CHAOS_CYCLES  how often each of them is killed (default 1; more for a longer run)
 *   ROUNDSMAN_CHAOS_SEED    the instants and the order (default 1; printed)
 */
const cycles = Number(process.env['ROUNDSMAN_CHAOS_CYCLES'] ?? 1);
const seed = Number(process.env['ROUNDSMAN_CHAOS_SEED'] ?? 1);

/** mulberry32: small, and the same numbers for the same seed. */
function randomFrom(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const qps = 20;
const seconds = 2;
const request = { durationInSecond: seconds, qps, perRequestTimeoutInMS: 500 };
const kinds = [
  { kind: 'NetReach', resource: 'netreaches', request, target: { ipv4: true, endpoint: true } },
  { kind: 'AppHttpHealthy', resource: 'apphttphealthies', request, target: { host: 'http://echo.roundsman-system.svc/', method: 'GET' } },
  { kind: 'NetDNS', resource: 'netdnses', request: { ...request, domain: 'echo.test.', protocol: 'udp' }, target: { targetUser: { server: 'echo.roundsman-system.svc', port: 53 } } },
];

describe('nothing accepted is lost', () => {
  let product: ProductProcesses;
  let pool: Pool;
  const accepted: Accepted[] = [];
  let made = 0;

  beforeAll(async () => {
    product = await ProductProcesses.start(['node-1', 'node-2']);
    pool = new Pool({ connectionString: product.databaseUrl, max: 2 });
    // Postgres is killed under it; the next query connects again.
    pool.on('error', () => {});
  }, 300_000);

  afterAll(async () => {
    await pool?.end();
    await product?.stop();
  });

  /** Offers one task until it is accepted: an answer that got lost is asked for again under the same name. */
  async function submit(rounds: number, roundSeconds = 10): Promise<string> {
    const { kind, resource, ...spec } = kinds[made % kinds.length]!;
    const name = `chaos-${(made += 1)}`;
    const path = `/apis/roundsman.io/v1/namespaces/default/${resource}`;
    const body = {
      apiVersion: 'roundsman.io/v1',
      kind,
      metadata: { name },
      spec: { ...spec, schedule: { intervalSeconds: roundSeconds, roundTimeoutSeconds: roundSeconds, roundNumber: rounds }, expect: { successRate: 0.5 } },
    };
    const uid = await eventually(
      async () => {
        const answer = await product.request('POST', path, body);
        if (answer.status !== 201 && answer.status !== 409) throw new Error(`${answer.status} ${JSON.stringify(answer.json).slice(0, 300)}`);
        const stored = answer.status === 201 ? answer : await product.request('GET', `${path}/${name}`);
        return (stored.json['metadata'] as { uid: string } | undefined)?.uid ?? false;
      },
      { within: 180_000, every: 200 },
    );
    accepted.push({ resource, name, uid, rounds, perTarget: qps * seconds });
    return uid;
  }

  it('survives SIGKILL of every service, of NATS and of Postgres, and the loss of the NATS store', async () => {
    process.stderr.write(`chaos seed ${seed}\n`);
    const random = randomFrom(seed);
    await Promise.all(kinds.map(() => submit(Math.max(5, 5 * cycles))));
    const faults: Record<string, () => Promise<void>> = {
      nats: () => product.nats.kill('SIGKILL').then(() => sleep(300 + random() * 1000)).then(() => product.nats.restart()),
      'nats store': () => product.nats.wipe(),
      postgres: () => product.postgres.kill('SIGKILL').then(() => sleep(300 + random() * 1000)).then(() => product.postgres.restart()),
    };
    for (const name of product.names) {
      faults[name] = async () => {
        await product.kill(name);
        await sleep(200 + random() * 1800);
        product.restart(name);
      };
    }
    for (let cycle = 0; cycle < cycles; cycle += 1) {
      const order = Object.keys(faults).map((name) => ({ name, at: random() }));
      for (const { name } of order.sort((a, b) => a.at - b.at)) {
        await sleep(500 + random() * 2500);
        const meanwhile = submit(1);
        await faults[name]!();
        await meanwhile;
        expect(product.dead()).toEqual([]);
      }
    }
    await product.ready();
    // Nothing is killed any more: however slow the machine is, a round of two seconds is run within two minutes.
    const last = await Promise.all(kinds.map(() => submit(1, 120)));

    // The world, once it has settled.
    await eventually(
      async () => {
        for (const { resource, name, uid } of accepted) {
          const task = await product.request('GET', `/apis/roundsman.io/v1/namespaces/default/${resource}/${name}`);
          expect({ name, status: task.status, uid: (task.json['metadata'] as { uid?: string } | undefined)?.uid }).toEqual({ name, status: 200, uid });
          expect({ name, finish: (task.json['status'] as { finish?: boolean } | undefined)?.finish }).toEqual({ name, finish: true });
        }
      },
      { within: 300_000, every: 500 },
    ).catch((error: unknown) => {
      throw new Error(`${(error as Error).message}\n${product.logs()}`);
    });
    const found = await breaches(pool, accepted, product.runners);
    if (found.length > 0) found.push(product.logs());
    expect(found).toEqual([]);

    const states = await pool.query<{ state: string; n: number }>('select state, count(*)::int n from report.runner_rounds group by state order by state');
    const reasons = await pool.query<{ state: string; reason: string; n: number }>(
      `select state, left(reason, 120) reason, count(*)::int n from report.runner_rounds where state <> 'ok' group by 1, 2 order by 3 desc limit 10`,
    );
    process.stderr.write(`chaos: ${accepted.length} tasks; records ${states.rows.map(({ state, n }) => `${state} ${n}`).join(', ')}\n`);
    for (const { state, reason, n } of reasons.rows) process.stderr.write(`  ${n} ${state}: ${reason}\n`);
    // The invariants would hold for a product that never measures anything: what came at the end must have been run, by every runner.
    const ran = await pool.query<{ n: number }>("select count(*)::int n from report.runner_rounds where task_uid = any($1) and state in ('ok', 'failed')", [last]);
    expect(ran.rows[0]?.n).toBe(last.length * product.runners.length);
  }, 900_000 * Math.max(1, cycles / 2));
});

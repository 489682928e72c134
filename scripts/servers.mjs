// NATS and Postgres for tests and benchmarks, found or brought by the product's own code. Needs a build.
import { spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { childEnv, root } from './runtime.mjs';

/** The environment in which testkit finds both; undefined when one cannot be had (standard error says why). */
export function serverEnv() {
  const script = `
    const dist = ${JSON.stringify(`file://${join(root, 'apps/roundsman/dist/')}`)};
    const [{ bringNats }, { bringPostgres }, { postgresAccount }] = await Promise.all(['nats-binary.js', 'postgres-binary.js', 'postgres-server.js'].map((name) => import(dist + name)));
    const say = (text) => process.stderr.write(text + '\\n');
    console.log(JSON.stringify({ nats: bringNats(say).path, postgres: bringPostgres(undefined, postgresAccount()).folder }));`;
  const done = spawnSync(join(root, '.runtime/bin/node'), ['--input-type=module', '-e', script], { cwd: root, encoding: 'utf8', env: childEnv(), stdio: ['ignore', 'pipe', 'inherit'] });
  if (done.status !== 0) return undefined;
  const { nats, postgres } = JSON.parse(done.stdout);
  const env = childEnv();
  return { ...env, ROUNDSMAN_NATS_SERVER: nats, PATH: [join(root, '.runtime/bin'), postgres, env.PATH].join(delimiter) };
}

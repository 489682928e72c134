import type { ServiceDefinition } from '@roundsman/service';
import { UserError } from './user-error.ts';

type Load = () => Promise<object>;

/** Every service by the word it has on the command line, in start order. Loaded only when it is to run: imports cost memory. */
const catalogue: Readonly<Record<string, Load>> = {
  intake: () => import('@roundsman/intake'),
  reporter: () => import('@roundsman/reporter'),
  scheduler: () => import('@roundsman/scheduler'),
  controllers: () => import('@roundsman/controllers'),
  gateway: () => import('@roundsman/gateway'),
  'node-agent': () => import('@roundsman/node-agent'),
  'probe-runner': () => import('@roundsman/probe-runner'),
};

export const serviceNames: readonly string[] = Object.keys(catalogue);
/** What decides, stores and answers; the same everywhere, while agents and runners belong to nodes. */
export const controlPlane: readonly string[] = ['intake', 'reporter', 'scheduler', 'controllers', 'gateway'];

/** Definitions in start order, whatever order they were named in. */
export async function loadServices(names: readonly string[]): Promise<ServiceDefinition[]> {
  const unknown = names.filter((name) => !(name in catalogue));
  if (unknown.length > 0) throw new UserError(`no service is called ${unknown.join(', ')}`, `Services are ${serviceNames.join(', ')}.`, { exitCode: 2 });
  const wanted = serviceNames.filter((name) => names.includes(name));
  return Promise.all(wanted.map(async (name) => ((await catalogue[name]!()) as { service: ServiceDefinition }).service));
}

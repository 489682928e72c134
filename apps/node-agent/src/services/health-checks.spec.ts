import { afterEach, expect, it } from '@jest/globals';
import { eventually, freePort } from '@roundsman/testkit';
import { HealthChecks } from './health-checks.ts';

const problems: unknown[] = [];
const checks = new HealthChecks({ warn: (problem: unknown) => problems.push(problem) } as never);
afterEach(() => checks.stop());

it('tells load balancers whether there are endpoints, as kube-proxy does', async () => {
  const port = await freePort();
  const of = (localEndpoints: number) => ({ namespace: 'default', name: 'web', port, localEndpoints });
  const asked = async (): Promise<unknown[]> => {
    const response = await fetch(`http://127.0.0.1:${port}/healthz`);
    return [response.status, response.headers.get('x-load-balancing-endpoint-weight'), await response.json()];
  };
  const body = (localEndpoints: number) => ({ service: { namespace: 'default', name: 'web' }, localEndpoints, serviceProxyHealthy: true });
  checks.serve([of(2)]);
  await eventually(async () => expect(await asked()).toEqual([200, '2', body(2)]));
  checks.serve([of(0)]);
  expect(await asked()).toEqual([503, '0', body(0)]);
  checks.serve([]);
  await eventually(() => expect(asked()).rejects.toThrow());
  expect(problems).toEqual([]);
});

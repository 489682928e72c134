import type { ResourceRequirements } from './kinds/pod/resources.ts';
import { compareQuantities } from './quantity.ts';

type Amounts = Readonly<Record<string, string>>;

/** Little is set aside, so that runtimes find a place on small nodes; no limit of CPU, which would be measured as latency. */
const requests: Amounts = { cpu: '10m', memory: '64Mi' };
const limits: Amounts = { memory: '1Gi' };

/** Of every runner: what is given, and for each amount that is not the default. A default yields to what is given: a request is lowered to its limit, a limit raised to its request. */
export function runnerResources(given: ResourceRequirements = {}): { readonly requests: Amounts; readonly limits: Amounts } {
  const least = (a: string, b = a): string => (compareQuantities(b, a) < 0 ? b : a);
  const most = (a: string, b = a): string => (compareQuantities(b, a) > 0 ? b : a);
  const each = (amounts: Amounts, change: (name: string, amount: string) => string): Amounts => Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, change(name, amount)]));
  return {
    requests: { ...each(requests, (name, amount) => least(amount, given.limits?.[name])), ...given.requests },
    limits: { ...each(limits, (name, amount) => most(amount, given.requests?.[name])), ...given.limits },
  };
}

import { parseQuantity, type PodSpec } from '@roundsman/api';

/** Guaranteed: every container limits processor and memory and asks for as much; BestEffort: none asks for anything. */
export function qosClass(spec: PodSpec): 'Guaranteed' | 'Burstable' | 'BestEffort' {
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  const amount = (amounts: Readonly<Record<string, string>> | undefined, name: string): number => parseQuantity(amounts?.[name] ?? '0');
  const asks = containers.some(({ resources }) => ['cpu', 'memory'].some((name) => amount(resources?.requests, name) > 0 || amount(resources?.limits, name) > 0));
  if (!asks) return 'BestEffort';
  const guaranteed = containers.every(({ resources }) =>
    ['cpu', 'memory'].every((name) => {
      const limit = amount(resources?.limits, name);
      return limit > 0 && (resources?.requests?.[name] === undefined || amount(resources.requests, name) === limit);
    }),
  );
  return guaranteed ? 'Guaranteed' : 'Burstable';
}

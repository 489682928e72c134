import { defaultRuntime } from '@roundsman/api';
import { unlessMissing, type GatewayClient, type Seen } from '../gateway-client.ts';
import type { Carrier } from './carrier.ts';

const runtimePath = `/apis/roundsman.io/v1/namespaces/${defaultRuntime.namespace}/runtimes/${defaultRuntime.name}`;
const workloads: Readonly<Record<Carrier['kind'], string>> = { daemonset: 'DaemonSet', process: 'Process' };

/**
 * Why the default runtime is not whole: what it lacks itself, and the nodes whose runner is not ready; empty when nothing is missing. `instances`, where
 * given, are the runners that were heard since this process listens, with what they call themselves: what is stored of their predecessors does not count.
 */
export async function runnerProblems(client: GatewayClient, kind: Carrier['kind'], nodes: readonly string[], instances?: ReadonlyMap<string, string>): Promise<string[]> {
  const [runtime, runners] = await Promise.all([unlessMissing(client.get<Seen>(runtimePath)), client.list('/apis/roundsman.io/v1/runners')]);
  const own = runners.filter(({ status }) => status?.['runtime'] === defaultRuntime.name && (status['pod'] !== undefined) === (kind === 'daemonset'));
  const lacking = nodes.flatMap((node) => {
    const here = own.filter(({ status }) => status?.['node'] === node);
    const heard = instances === undefined ? here : here.filter(({ metadata, status }) => instances.get(metadata.name) === status?.['instance']);
    if (heard.some(({ status }) => status?.ready === true)) return [];
    return [`runner of ${node}: ${heard[0]?.status?.reason ?? podReason(runtime, node) ?? (here.length > 0 ? 'not heard yet' : 'not seen yet')}`];
  });
  return kind === 'process' ? lacking : [...runtimeProblems(runtime), ...lacking];
}

export function runtimeProblems(runtime: Seen | undefined): string[] {
  if (runtime?.spec?.['kind'] !== workloads.daemonset) return ['default runtime: not made yet'];
  if (runtime.status?.['phase'] === 'Ready') return [];
  // Ready says once more what one of the others does.
  const waits = new Set((runtime.status?.conditions ?? []).filter(({ status }) => status !== 'True').map(({ type, message }) => message ?? type));
  return [`default runtime: ${[...waits].join('; ') || 'not ready yet'}`];
}

/** What is said of the pod on this node. */
function podReason(runtime: Seen | undefined, node: string): string | undefined {
  const runners = (runtime?.status?.['runners'] ?? []) as readonly { node: string; ready: boolean; reason?: string }[];
  return runners.find((one) => one.node === node && !one.ready)?.reason;
}

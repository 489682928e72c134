import type { Cause } from '../../kind.ts';
import type { Lifecycle, LifecycleHandler } from '../../kinds/pod/lifecycle.ts';
import type { Probe } from '../../kinds/pod/probe.ts';
import { forbiddenField, invalidValue, nonNegative, required } from '../causes.ts';
import { portReferenceCauses } from './ports.ts';

type Handler = Pick<Probe, 'exec' | 'httpGet' | 'tcpSocket' | 'grpc'> & Pick<LifecycleHandler, 'sleep'>;

/** Exactly one way to ask, and that one whole. */
function handlerCauses({ exec, httpGet, tcpSocket, grpc, sleep }: Handler, graceSeconds: number, field: string): Cause[] {
  const given = Object.entries({ exec, httpGet, tcpSocket, grpc, sleep }).filter(([, handler]) => handler !== undefined).map(([name]) => name);
  if (given.length === 0) return [required(field, 'must specify a handler type')];
  const [first, ...others] = given;
  const causes: Cause[] = [];
  const at = `${field}.${first}`;
  if (first === 'exec' && (exec?.command ?? []).length === 0) causes.push(required(`${at}.command`, ''));
  if (first === 'httpGet' && httpGet !== undefined) {
    if (httpGet.path === '') causes.push(required(`${at}.path`, ''));
    causes.push(...portReferenceCauses(`${at}.port`, httpGet.port));
    for (const { name } of httpGet.httpHeaders ?? []) {
      if (!/^[-A-Za-z0-9]+$/.test(name)) causes.push(invalidValue(`${at}.httpHeaders`, name, "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"));
    }
  }
  if (first === 'tcpSocket' && tcpSocket !== undefined) causes.push(...portReferenceCauses(`${at}.port`, tcpSocket.port));
  if (first === 'grpc' && grpc !== undefined) causes.push(...portReferenceCauses(`${at}.port`, grpc.port));
  if (first === 'sleep' && sleep !== undefined && (sleep.seconds <= 0 || sleep.seconds > graceSeconds)) {
    causes.push(invalidValue(at, sleep.seconds, `must be greater than 0 and less than terminationGracePeriodSeconds (${graceSeconds}). Enable AllowPodLifecycleSleepActionZeroValue feature gate for zero sleep.`));
  }
  return [...causes, ...others.map((name) => forbiddenField(`${field}.${name}`, 'may not specify more than 1 handler type'))];
}

const numbers = ['initialDelaySeconds', 'timeoutSeconds', 'periodSeconds', 'successThreshold', 'failureThreshold'] as const;

export function probeCauses(probe: Probe | undefined, use: 'liveness' | 'readiness' | 'startup', graceSeconds: number, field: string): Cause[] {
  if (probe === undefined) return [];
  const causes = [...handlerCauses(probe, graceSeconds, field), ...numbers.flatMap((member) => nonNegative(`${field}.${member}`, probe[member]))];
  const { terminationGracePeriodSeconds: own, successThreshold } = probe;
  if (own !== undefined && own <= 0) causes.push(invalidValue(`${field}.terminationGracePeriodSeconds`, own, 'must be greater than 0'));
  if (use === 'readiness' && own !== undefined) causes.push(invalidValue(`${field}.terminationGracePeriodSeconds`, own, 'must not be set for readinessProbes'));
  if (use !== 'readiness' && successThreshold !== 1) causes.push(invalidValue(`${field}.successThreshold`, successThreshold, 'must be 1'));
  return causes;
}

export const lifecycleCauses = ({ postStart, preStop }: Lifecycle, graceSeconds: number, field: string): Cause[] =>
  Object.entries({ postStart, preStop }).flatMap(([name, handler]) => (handler === undefined ? [] : handlerCauses(handler, graceSeconds, `${field}.${name}`)));

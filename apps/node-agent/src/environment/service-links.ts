import { isIPv6 } from 'node:net';
import type { Pod, Service } from '@roundsman/api';
import type { NetworkState } from '@roundsman/network';
import { ConfigProblem } from './environment.ts';

/** The Service that every pod is told of, wherever it is and whether it wants to or not: the API. */
const api = { namespace: 'default', name: 'kubernetes' } as const;

/**
 * Where the Services of the pod's namespace are reached, as variables that containers get (`enableServiceLinks`); as of now. Throws ConfigProblem while they are not known.
 */
export function serviceLinks({ metadata, spec }: Pod, state: Pick<NetworkState, 'network' | 'services' | 'service'>): ReadonlyMap<string, string> {
  if (state.network === undefined) throw new ConfigProblem('services have not yet been read at least once, cannot construct envvars');
  const own = spec.enableServiceLinks === false ? [] : state.services().filter((service) => service.metadata.namespace === metadata.namespace);
  const always = own.some(({ metadata: { name } }) => name === api.name) ? undefined : state.service(api.namespace, api.name);
  return new Map([...own, ...(always === undefined ? [] : [always])].flatMap(variablesOf));
}

function variablesOf({ metadata, spec }: Service): [string, string][] {
  const { clusterIP = '', ports = [] } = spec;
  const [first] = ports;
  if (clusterIP === '' || clusterIP === 'None' || first === undefined) return [];
  const name = variableName(metadata.name);
  const host = isIPv6(clusterIP) ? `[${clusterIP}]` : clusterIP;
  const urlOf = ({ protocol, port }: typeof first): string => `${protocol.toLowerCase()}://${host}:${port}`;
  return [
    [`${name}_SERVICE_HOST`, clusterIP],
    [`${name}_SERVICE_PORT`, String(first.port)],
    ...ports.flatMap(({ name: portName = '', port }): [string, string][] => (portName === '' ? [] : [[`${name}_SERVICE_PORT_${variableName(portName)}`, String(port)]])),
    // As Docker's links had them.
    [`${name}_PORT`, urlOf(first)],
    ...ports.flatMap((port): [string, string][] => {
      const prefix = `${name}_PORT_${port.port}_${port.protocol}`;
      return [[prefix, urlOf(port)], [`${prefix}_PROTO`, port.protocol.toLowerCase()], [`${prefix}_PORT`, String(port.port)], [`${prefix}_ADDR`, clusterIP]];
    }),
  ];
}

const variableName = (text: string): string => text.replaceAll('-', '_').toUpperCase();

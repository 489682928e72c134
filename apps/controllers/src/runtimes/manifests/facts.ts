import type { AgentSpec, Runtime } from '@roundsman/api';
import type { Settings } from '../../settings.ts';
import type { RunnerPorts } from './ports.ts';

/** What the NetReach of a runtime wants to be reached by; the default runtime has what its settings say. */
export type ServiceType = Settings['runtimeServiceType'];

/** All that the objects of a runtime are made from. */
export interface RuntimeFacts {
  readonly runtime: Runtime & { readonly spec: { readonly workload: string } };
  /** Of its task; the default runtime has none. */
  readonly agentSpec: AgentSpec | undefined;
  readonly serviceType: ServiceType;
  readonly ports: RunnerPorts;
  /** What runners say to NATS. */
  readonly token: string;
  /** PEM of the authority behind the certificate of NATS. */
  readonly natsCa: string | undefined;
  /** Names this installation in the labels of what it makes. */
  readonly installation: string;
  readonly settings: Settings;
}

/** An object as it is to be. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly object[];
  };
  readonly [member: string]: unknown;
}

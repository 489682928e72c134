import type { KubeObject } from '@roundsman/api';

export interface ServicePort { name?: string; protocol?: string; appProtocol?: string; port: number; targetPort?: number | string; nodePort?: number }
export type Service = KubeObject<{ type?: string; selector?: Record<string, string>; clusterIP?: string; clusterIPs?: string[]; externalName?: string; ports?: ServicePort[]; sessionAffinity?: string; sessionAffinityConfig?: { clientIP?: { timeoutSeconds?: number } }; internalTrafficPolicy?: string; externalTrafficPolicy?: string; externalIPs?: string[]; publishNotReadyAddresses?: boolean; healthCheckNodePort?: number; ipFamilies?: string[]; loadBalancerSourceRanges?: string[] }, { loadBalancer?: { ingress?: { ip?: string; hostname?: string }[] } }>;
export interface Endpoint { addresses: string[]; conditions?: { ready?: boolean; serving?: boolean; terminating?: boolean }; hostname?: string; nodeName?: string; zone?: string; targetRef?: { kind?: string; namespace?: string; name?: string; uid?: string } }
export type EndpointSlice = KubeObject & { addressType: string; endpoints: Endpoint[]; ports?: { name?: string; protocol?: string; port?: number; appProtocol?: string }[] };
export type Ingress = KubeObject<Record<string, unknown>, { loadBalancer?: { ingress?: { ip?: string; hostname?: string }[] } }>;
export type IngressClass = KubeObject<{ controller?: string }>;
export type Dns = KubeObject<{ host: string; paths: { path?: string; service: { name: string; port: number | string } }[] }>;

import { z } from 'zod';
import type { KubeObject } from '../../meta.ts';
import { core, flag, intOrStringSchema, plainFlag, text, textMap, texts, whole } from '../fields.ts';
import { objectOf } from '../object.ts';
import { metaConditionSchema } from '../workload/condition.ts';

export const protocolSchema = z.enum(['SCTP', 'TCP', 'UDP']);

const portSchema = core('ServicePort', 'A port of a service', {
  name: text('Name of the port, unique within the service; may be left out where it has only one'),
  protocol: protocolSchema.default('TCP').describe('TCP, UDP or SCTP'),
  appProtocol: text('What is spoken on it, as a hint: http, https, kubernetes.io/h2c'),
  port: z.number().int().describe('The port on which it is reached'),
  targetPort: intOrStringSchema.optional().describe('Port of its pods, by number or by the name that a container gave it; the same as port unless set'),
  nodePort: whole('The port on every node, where its type has one; chosen by the server unless set'),
});

const sessionAffinityConfigSchema = core('SessionAffinityConfig', 'How clients keep to their pod', {
  clientIP: core('ClientIPConfig', 'Of affinity by the address of the client', { timeoutSeconds: whole('Seconds after its last connection for which a client keeps its pod') })
    .optional()
    .describe('Of affinity by the address of the client'),
});

const specSchema = core('ServiceSpec', 'Which pods a service stands for, and where it is reached', {
  ports: z.array(portSchema).optional().describe('The ports on which it is reached'),
  selector: textMap('Labels of its pods; without one its endpoints are written by somebody else'),
  clusterIP: text('Its address within the cluster: chosen by the server unless set; None: it has none, its name leads to the pods themselves'),
  clusterIPs: texts('The same, one per family of addresses'),
  type: z.enum(['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']).default('ClusterIP').describe('From where it is reached'),
  externalIPs: texts('Addresses of nodes on which it is reached, too'),
  sessionAffinity: z.enum(['ClientIP', 'None']).default('None').describe('Whether a client keeps to one pod'),
  loadBalancerIP: text('The address it wants from the load balancer'),
  loadBalancerSourceRanges: texts('CIDR ranges of clients that the load balancer lets through; all unless set'),
  externalName: text('The name that its own is an alias of (type ExternalName)'),
  externalTrafficPolicy: z.enum(['Cluster', 'Local']).optional().describe('Local: what comes from outside goes to pods of the node it came to, and keeps its source address'),
  healthCheckNodePort: whole('Port on every node that tells whether it has pods of the service (LoadBalancer with externalTrafficPolicy Local)'),
  publishNotReadyAddresses: plainFlag('Pods that are not ready count as if they were'),
  sessionAffinityConfig: sessionAffinityConfigSchema.optional().describe('How clients keep to their pod'),
  ipFamilies: z.array(z.enum(['IPv4', 'IPv6'])).optional().describe('Families of its addresses, the first one first'),
  ipFamilyPolicy: z.enum(['PreferDualStack', 'RequireDualStack', 'SingleStack']).optional().describe('Whether it has addresses of one family or of both'),
  loadBalancerClass: text('Which load balancer serves it; that of the cluster unless set'),
  allocateLoadBalancerNodePorts: flag('Whether a load balancer gets ports on the nodes'),
  internalTrafficPolicy: z.enum(['Cluster', 'Local']).optional().describe('Local: what comes from a node goes only to pods of that node'),
  trafficDistribution: text('PreferClose: pods nearby are preferred'),
});

const portStatusSchema = core('PortStatus', 'State of a port of a load balancer', {
  port: z.number().int().describe('Number of the port'),
  protocol: z.string().describe('Its protocol'),
  error: text('Why it is not served'),
});
const ingressSchema = core('LoadBalancerIngress', 'Where a load balancer is reached', {
  ip: text('Its address'),
  hostname: text('Its name'),
  ipMode: z.enum(['Proxy', 'VIP']).optional().describe('VIP: what comes to a node still has this address as destination'),
  ports: z.array(portStatusSchema).optional().describe('State of its ports'),
});
export const loadBalancerStatusSchema = core('LoadBalancerStatus', 'State of a load balancer', {
  ingress: z.array(ingressSchema).optional().describe('Where it is reached'),
});
const statusSchema = core('ServiceStatus', 'State of a service', {
  loadBalancer: loadBalancerStatusSchema.prefault({}).describe('Where it is reached from outside'),
  conditions: z.array(metaConditionSchema).optional().describe('What holds of it'),
});

export type ServicePort = z.infer<typeof portSchema>;
export type ServiceSpec = z.infer<typeof specSchema>;
export type ServiceStatus = z.infer<typeof statusSchema>;
export interface Service extends KubeObject<ServiceSpec, ServiceStatus> {}

export const serviceSchema = objectOf('v1', 'Service', 'Pods that are reached by one name and address', {
  spec: specSchema.describe('Which pods it stands for, and where it is reached'),
  status: statusSchema.optional().describe('What was observed of it'),
});

import type { Cause } from '../../kind.ts';
import type { ServicePort, ServiceSpec } from '../../kinds/service/schema.ts';
import { labelProblem, qualifiedNameProblem } from '../../names.ts';
import { duplicate, forbiddenField, inRange, invalidValue, named, required, Verbatim } from '../causes.ts';
import { portReferenceCauses } from '../pod/ports.ts';

const highestPort = 65_535;
/** Where a kubelet listens; clouds open the ports of load balancers on nodes, too. */
const kubeletPort = 10_250;

export function servicePortCauses({ type, ports = [] }: ServiceSpec, field: string): Cause[] {
  const names = new Set<string>();
  const causes = ports.flatMap((port, index) => onePortCauses(port, `${field}[${index}]`, ports.length > 1, names));
  ports.forEach(({ port, nodePort }, index) => {
    const at = `${field}[${index}]`;
    if (type === 'LoadBalancer' && port === kubeletPort) causes.push(invalidValue(at, port, `may not expose port ${kubeletPort} externally since it is used by kubelet`));
    if (type === 'ClusterIP' && nodePort !== undefined) causes.push(forbiddenField(`${at}.nodePort`, "may not be used when `type` is 'ClusterIP'"));
  });
  return [...causes, ...twiceCauses(ports, field)];
}

function onePortCauses({ name = '', port, targetPort, appProtocol }: ServicePort, at: string, needsName: boolean, names: Set<string>): Cause[] {
  const causes: Cause[] = [];
  if (name !== '') {
    causes.push(...named(`${at}.name`, name, labelProblem(name)));
    if (names.has(name)) causes.push(duplicate(`${at}.name`, name));
    names.add(name);
  } else if (needsName) causes.push(required(`${at}.name`, ''));
  causes.push(...inRange(`${at}.port`, port, 1, highestPort));
  if (targetPort !== undefined) causes.push(...portReferenceCauses(`${at}.targetPort`, targetPort));
  if (appProtocol !== undefined) causes.push(...named(`${at}.appProtocol`, appProtocol, qualifiedNameProblem(appProtocol)));
  return causes;
}

/** Of one protocol a number may come once. */
function twiceCauses(ports: readonly ServicePort[], field: string): Cause[] {
  const nodePorts = new Set<string>();
  const own = new Set<string>();
  const causes: Cause[] = [];
  ports.forEach(({ protocol, nodePort }, index) => {
    if (nodePort === undefined) return;
    if (nodePorts.has(`${protocol}/${nodePort}`)) causes.push(duplicate(`${field}[${index}].nodePort`, nodePort));
    nodePorts.add(`${protocol}/${nodePort}`);
  });
  ports.forEach(({ protocol, port }, index) => {
    if (own.has(`${protocol}/${port}`)) causes.push(duplicate(`${field}[${index}]`, goPort(protocol, port)));
    own.add(`${protocol}/${port}`);
  });
  return causes;
}

const goPort = (protocol: string, port: number): Verbatim =>
  new Verbatim(`core.ServicePort{Name:"", Protocol:${JSON.stringify(protocol)}, AppProtocol:(*string)(nil), Port:${port}, TargetPort:intstr.IntOrString{Type:0, IntVal:0, StrVal:""}, NodePort:0}`);

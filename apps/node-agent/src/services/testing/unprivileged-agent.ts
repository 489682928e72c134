import { ServiceProxy } from '../service-proxy.ts';
import { machineNamespace } from '../network-namespace.ts';
import { emptyState, endpoint, service, slice, slicesResource } from './objects.ts';

/** What an agent does that is allowed nothing in particular: forwards a Service until its input ends, and prints its status whenever that changes. */
const [, , folder = ''] = process.argv;
const state = emptyState({ ...emptyState().network!, serviceCidrs: ['10.96.0.0/16'] });
state.apply('ADDED', 'services', service('web', { clusterIP: '10.96.0.1', ports: [{ port: 8_080, protocol: 'TCP', targetPort: 8_080 }] }));
state.apply('ADDED', slicesResource, slice('web', [endpoint('127.0.0.1', 'here')], { ports: [{ name: '', protocol: 'TCP', port: 9_090 }] }));
const quiet = { info: () => undefined, warn: () => undefined };
const proxy = new ServiceProxy({
  cluster: 'nobody', mode: 'auto', state, folder, name: 'services', log: quiet, namespace: () => machineNamespace, localNodes: () => new Set(['here']),
  onTable: () => process.stdout.write(`${JSON.stringify(proxy.status)}\n`),
});
proxy.start();
process.stdin.resume().on('end', () => void proxy.remove().then(() => process.exit(0)));

import { describe, expect, it } from '@jest/globals';
import { RuntimeProblem } from '../pod-runtime.ts';
import { containerConfig } from './container-config.ts';
import { sandboxProblem } from './sandbox-config.ts';
import { containerOf, sandboxOf } from './testing/pods.ts';

const port = (hostPort: number, hostIP = '') => ({ containerPort: 80, protocol: 'TCP' as const, hostPort, hostIP });

describe('what the daemon is asked and says', () => {
  it('names the port that is taken, in the words of every version', () => {
    const spec = sandboxOf({ ports: [port(8080), port(8443)] });
    for (const words of [
      'driver failed programming external connectivity on endpoint k8s_POD_web (1a2b): Bind for 0.0.0.0:8080 failed: port is already allocated',
      'driver failed programming external connectivity on endpoint k8s_POD_web (1a2b): Error starting userland proxy: listen tcp4 0.0.0.0:8080: bind: address already in use',
      'failed to set up container networking: driver failed programming external connectivity on endpoint k8s_POD_web (1a2b): failed to bind host port for 0.0.0.0:8080:172.17.0.2:80/tcp: address already in use',
      'failed to set up container networking: driver failed programming external connectivity on endpoint k8s_POD_web (1a2b): failed to bind host port 0.0.0.0:8080/tcp: address already in use',
      'failed to set up container networking: driver failed programming external connectivity on endpoint k8s_POD_web (1a2b): failed to bind host port [::]:8080/tcp: address already in use',
    ]) {
      expect(sandboxProblem(new RuntimeProblem('Sandbox', words), spec)).toMatchObject({ code: 'PortInUse', message: `host port 8080/TCP is already in use on this node: ${words}` });
    }
    expect(sandboxProblem(new RuntimeProblem('Sandbox', 'no space left on device'), spec)).toMatchObject({ code: 'Sandbox', message: 'no space left on device' });
  });

  it('mounts below a read-only one stay as they are, as in Kubernetes', () => {
    const sandbox = sandboxOf();
    const mounts = [true, false].map((readOnly) => ({ hostPath: '/srv', containerPath: '/srv', readOnly }));
    const [fixed, open] = containerConfig({ cluster: 'home', node: 'node-1' }, containerOf(sandbox, 'id', 'true', { mounts }), sandbox).HostConfig?.Mounts ?? [];
    expect(fixed).toMatchObject({ ReadOnly: true, BindOptions: { ReadOnlyNonRecursive: true } });
    // A daemon refuses it together with a mount that can be written to.
    expect(open).toEqual(expect.objectContaining({ ReadOnly: false, BindOptions: {} }));
  });
});

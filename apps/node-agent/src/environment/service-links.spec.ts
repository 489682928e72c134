import { describe, expect, it } from '@jest/globals';
import { TestCluster } from '../dns/testing/cluster.ts';
import { container, podOf } from '../testing/runs.ts';
import { serviceLinks } from './service-links.ts';

describe('variables that name Services', () => {
  const cluster = new TestCluster();
  cluster.service('my-web', { clusterIP: '10.96.0.7', ports: [{ name: 'http-alt', protocol: 'TCP', port: 80 }, { name: 'dns', protocol: 'UDP', port: 53 }] });
  cluster.service('six', { clusterIP: 'fd00::7', ports: [{ protocol: 'TCP', port: 80 }] });
  cluster.service('headless', { clusterIP: 'None', ports: [{ protocol: 'TCP', port: 80 }] });
  cluster.service('alias', { type: 'ExternalName', externalName: 'example.com' });
  cluster.service('other/elsewhere', { clusterIP: '10.96.0.8', ports: [{ protocol: 'TCP', port: 80 }] });
  cluster.service('kubernetes', { clusterIP: '10.96.0.1', ports: [{ name: 'https', protocol: 'TCP', port: 443 }] });
  const of = (namespace: string, enableServiceLinks = true) => {
    const pod = podOf({ containers: [container()], enableServiceLinks });
    return Object.fromEntries(serviceLinks({ ...pod, metadata: { ...pod.metadata, namespace } }, cluster.state));
  };
  const api = {
    KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '443', KUBERNETES_SERVICE_PORT_HTTPS: '443', KUBERNETES_PORT: 'tcp://10.96.0.1:443', KUBERNETES_PORT_443_TCP: 'tcp://10.96.0.1:443',
    KUBERNETES_PORT_443_TCP_PROTO: 'tcp', KUBERNETES_PORT_443_TCP_PORT: '443', KUBERNETES_PORT_443_TCP_ADDR: '10.96.0.1',
  };

  it('are those of the namespace that have an address, as Kubernetes names them', () => {
    expect(of('default')).toEqual({
      ...api,
      MY_WEB_SERVICE_HOST: '10.96.0.7', MY_WEB_SERVICE_PORT: '80', MY_WEB_SERVICE_PORT_HTTP_ALT: '80', MY_WEB_SERVICE_PORT_DNS: '53', MY_WEB_PORT: 'tcp://10.96.0.7:80',
      MY_WEB_PORT_80_TCP: 'tcp://10.96.0.7:80', MY_WEB_PORT_80_TCP_PROTO: 'tcp', MY_WEB_PORT_80_TCP_PORT: '80', MY_WEB_PORT_80_TCP_ADDR: '10.96.0.7',
      MY_WEB_PORT_53_UDP: 'udp://10.96.0.7:53', MY_WEB_PORT_53_UDP_PROTO: 'udp', MY_WEB_PORT_53_UDP_PORT: '53', MY_WEB_PORT_53_UDP_ADDR: '10.96.0.7',
      SIX_SERVICE_HOST: 'fd00::7', SIX_SERVICE_PORT: '80', SIX_PORT: 'tcp://[fd00::7]:80', SIX_PORT_80_TCP: 'tcp://[fd00::7]:80', SIX_PORT_80_TCP_PROTO: 'tcp', SIX_PORT_80_TCP_PORT: '80', SIX_PORT_80_TCP_ADDR: 'fd00::7',
    });
  });

  it('are only that of the API for who wants none, and it is in every namespace', () => {
    expect(of('default', false)).toEqual(api);
    expect(Object.keys(of('other'))).toEqual(expect.arrayContaining(['ELSEWHERE_SERVICE_HOST', 'KUBERNETES_SERVICE_HOST']));
  });

  it('are waited for', () => {
    expect(() => serviceLinks(podOf({ containers: [container()] }), new TestCluster(null).state)).toThrow('services have not yet been read at least once');
  });
});

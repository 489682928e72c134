import { mkdtemp, readdir, readFile, rename, rm, stat, writeFile, chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@roundsman/testkit';
import * as fc from 'fast-check';
import { pino } from 'pino';
import { TestCluster } from '../testing/cluster.ts';
import { withBlock } from './hosts-block.ts';
import { MachineHosts, removeFromHosts } from './machine-hosts.ts';

const own = '127.0.0.1\tlocalhost\n# mine\n192.0.2.1 printer';

describe('the hosts file of the machine', () => {
  let folder: string;
  let file: string;
  let cluster: TestCluster;
  let hosts: MachineHosts;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roundsman-hosts-'));
    file = join(folder, 'hosts');
    await writeFile(file, own);
    await chmod(file, 0o640);
    cluster = new TestCluster();
    cluster.ingressClass('roundsman', 'roundsman.io/ingress');
    cluster.service('kube-system/ingress', { clusterIPs: ['10.96.0.20'] }, { loadBalancer: { ingress: [{ ip: '10.97.0.1' }] } });
    hosts = new MachineHosts({ file, cluster: 'home', state: cluster.state, log: pino({ level: 'silent' }), lookAgainMs: 100 });
    hosts.start();
  });
  afterEach(async () => {
    await hosts.stop();
    await rm(folder, { recursive: true, force: true });
  });
  /** As editors do: nobody reads half a file. */
  const edit = async (text: string): Promise<void> => {
    await writeFile(`${file}.edited`, text, { mode: 0o640 });
    await rename(`${file}.edited`, file);
  };
  const says = (text: string) => eventually(async () => expect(await readFile(file, 'utf8')).toBe(text));

  it('has the hosts of the cluster in a block, and all else as it was', async () => {
    cluster.dns('shop', 'shop.example.com');
    cluster.ingress('site', ['site.example.com', '*.wild.example.com', 'shop.example.com', 'db.default.svc.cluster.local']);
    cluster.ingress('foreign', ['foreign.example.com'], 'other');
    await says(`${own}\n# BEGIN roundsman home\n10.97.0.1\tshop.example.com\n10.97.0.1\tsite.example.com\n# END roundsman home\n`);
    expect((await stat(file)).mode & 0o777).toBe(0o640);
    // Another cluster, and somebody who edits.
    await edit(withBlock(`${await readFile(file, 'utf8')}192.0.2.2 scanner\n`, 'other', [{ address: '10.0.0.1', host: 'a.example.com' }]));
    cluster.delete('ingresses.networking.k8s.io', 'site');
    await says(`${own}\n192.0.2.2 scanner\n# BEGIN roundsman other\n10.0.0.1\ta.example.com\n# END roundsman other\n# BEGIN roundsman home\n10.97.0.1\tshop.example.com\n# END roundsman home\n`);
    await hosts.stop();
    await removeFromHosts(file, 'home');
    await removeFromHosts(file, 'other');
    await says(`${own}\n192.0.2.2 scanner\n`);
    await removeFromHosts(join(folder, 'none'), 'home');
    expect(await readdir(folder)).toEqual(['hosts']);
  });

  it('has its block again when somebody else has written the file at the same time', async () => {
    cluster.dns('shop', 'shop.example.com');
    const block = '# BEGIN roundsman home\n10.97.0.1\tshop.example.com\n# END roundsman home\n';
    await says(`${own}\n${block}`);
    await edit('127.0.0.1 localhost\n');
    await says(`127.0.0.1 localhost\n${block}`);
  });

  it('gets no line that is no host', () => {
    const lines = ['localhost', 'a b', 'a\n10.0.0.1 b', '-a', 'good.example.com'].map((host) => ({ address: '10.0.0.1', host }));
    expect(withBlock('', 'home', lines)).toBe('# BEGIN roundsman home\n10.0.0.1\tgood.example.com\n# END roundsman home\n');
  });

  it('a block goes without a trace, whatever else is in the file', () => {
    const line = fc.constantFrom('127.0.0.1 localhost', '', '# BEGIN roundsman other', '# END roundsman other', 'x');
    fc.assert(
      fc.property(fc.array(line).map((lines) => lines.map((text) => `${text}\n`).join('')), (text) => {
        const block = withBlock(text, 'home', [{ address: '10.0.0.1', host: 'a.example.com' }]);
        expect(withBlock(block, 'home', [])).toBe(text);
        expect(withBlock(block, 'home', [{ address: '10.0.0.1', host: 'a.example.com' }])).toBe(block);
      }),
    );
  });
});

import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, expect, describe, it } from '@jest/globals';
import { eventually, whenDocker } from '@roundsman/testkit';
import { NodeRig } from '../testing/node-rig.ts';

const within = { within: 60_000 };

whenDocker(describe)('a registry that wants to know who asks', () => {
  let rig: NodeRig;
  let registry: Server;
  /** Who asked for which manifest. */
  const asked: string[] = [];
  beforeAll(async () => {
    registry = createServer((request, response) => {
      const { authorization } = request.headers;
      if (authorization !== undefined && request.url?.includes('/manifests/') === true) asked.push(`${request.url} ${Buffer.from(authorization.replace('Basic ', ''), 'base64').toString()}`);
      if (authorization === undefined) response.writeHead(401, { 'www-authenticate': 'Basic realm="test"' });
      else response.writeHead(request.url === '/v2/' ? 200 : 404);
      response.end();
    });
    await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
    rig = await NodeRig.start();
    await rig.up();
  });
  afterAll(async () => {
    await rig.stop();
    registry.close();
  });

  it('is told by the pod’s imagePullSecrets; a pod without is refused', async () => {
    const { port } = registry.address() as { port: number };
    const auth = Buffer.from('robot:words').toString('base64');
    rig.intake.secrets.set('pull', { '.dockerconfigjson': JSON.stringify({ auths: { [`127.0.0.1:${port}`]: { auth } } }) });
    const spec = { containers: [{ name: 'main', image: `127.0.0.1:${port}/team/app:1` }] };
    rig.intake.create('known', { ...spec, imagePullSecrets: [{ name: 'pull' }] });
    await eventually(() => expect(rig.container('known', 'main')?.state.waiting?.reason).toMatch(/^(ErrImagePull|ImagePullBackOff)$/), within);
    expect(asked).toContain('/v2/team/app/manifests/1 robot:words');
    // Of another image: the other pod tries again meanwhile.
    rig.intake.create('unknown', { containers: [{ name: 'main', image: `127.0.0.1:${port}/team/other:1` }] });
    await eventually(() => expect(rig.container('unknown', 'main')?.state.waiting?.message).toMatch(/no basic auth credentials/), within);
    expect(asked.filter((one) => one.includes('/team/other/'))).toEqual([]);
  });
});

import { describe, expect, it, jest } from '@jest/globals';
import { CertificateKeeper, retryAfterMs } from './certificate-keeper.ts';

describe('who keeps a certificate', () => {
  it('makes one at a time, and after a failure no other before the back-off is over', async () => {
    const clock = jest.spyOn(performance, 'now').mockReturnValue(0);
    try {
      const certificate = { ca: 'ca', cert: 'cert', key: 'key' };
      const making: PromiseWithResolvers<typeof certificate>[] = [];
      const failures: unknown[] = [];
      const keeper = new CertificateKeeper(() => {
        const one = Promise.withResolvers<typeof certificate>();
        making.push(one);
        return one.promise;
      }, (error) => failures.push(error));

      const asked = [keeper.certificate(), keeper.certificate(), keeper.certificate()];
      clock.mockReturnValue(5 * retryAfterMs);
      asked.push(keeper.certificate());
      expect(making).toHaveLength(1);
      making[0]!.reject(new Error('no process could be started'));
      for (const one of asked) await expect(one).rejects.toThrow('no process could be started');
      for (const ms of [0, 1, retryAfterMs - 1]) {
        clock.mockReturnValue(5 * retryAfterMs + ms);
        await expect(keeper.certificate()).rejects.toThrow('no process could be started');
      }
      expect([making.length, failures.length]).toEqual([1, 1]);

      clock.mockReturnValue(6 * retryAfterMs);
      const again = [keeper.certificate(), keeper.certificate()];
      expect(making).toHaveLength(2);
      making[1]!.resolve(certificate);
      expect(await Promise.all(again)).toEqual([certificate, certificate]);
      clock.mockReturnValue(100 * retryAfterMs);
      expect(await keeper.certificate()).toBe(certificate);
      expect([making.length, failures.length]).toEqual([2, 1]);
    } finally {
      clock.mockRestore();
    }
  });
});

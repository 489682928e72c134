import type { Bus } from '@roundsman/bus';

type Anything = (...all: never[]) => unknown;

/** The bus with some of its methods replaced; each gets the real one as `next`. */
export function intercepted(bus: Bus, methods: Readonly<Partial<Record<keyof Bus, (next: (...all: unknown[]) => Promise<unknown>, ...all: unknown[]) => unknown>>>): Bus {
  return new Proxy(bus, {
    get(target, key) {
      const own: unknown = Reflect.get(target, key);
      if (typeof own !== 'function') return own;
      const next = (own as Anything).bind(target) as (...all: unknown[]) => Promise<unknown>;
      const replaced = methods[key as keyof Bus];
      return replaced === undefined ? next : (...all: unknown[]) => replaced(next, ...all);
    },
  });
}

/** What the bus needs of a logger; pino fits. */
export interface BusLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const silent: BusLog = { info: () => {}, warn: () => {}, error: () => {} };

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Something the person can act on: printed as a sentence and a hint, without a stack. */
export class UserError extends Error {
  override readonly name = 'UserError';
  constructor(
    message: string,
    readonly hint?: string,
    options?: ErrorOptions & { readonly exitCode?: number },
  ) {
    super(message, options);
    this.exitCode = options?.exitCode ?? 1;
  }
  readonly exitCode: number;
}

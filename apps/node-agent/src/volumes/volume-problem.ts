/** A volume that cannot be had as the pod asks for it. */
export class VolumeProblem extends Error {
  override readonly name = 'VolumeProblem';
  constructor(
    /** Name of the volume in the pod. */
    readonly volume: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

const component = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const domain = '(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::[0-9]+)?';
const reference = new RegExp(`^(?:${domain}/)?${component}(?:/${component})*(?<tag>:[\\w][\\w.-]{0,127})?(?<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$`);

/** The reference with the tag `latest` where it names neither tag nor digest. Throws, in Docker's words, for what is no reference. */
export function fullReference(image: string): string {
  const match = reference.exec(image);
  if (match === null) throw new Error(`couldn't parse image name "${image}": invalid reference format`);
  return match.groups?.['tag'] === undefined && match.groups?.['digest'] === undefined ? `${image}:latest` : image;
}

// A package registry on this machine for packages that are not published yet. It answers for those alone, and sends everybody on to the
// registry that npm is set to for everything else.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';

/** What npm's registries tell of a package ("package metadata" in npm's documentation). */
function describe({ manifest, bytes }, url) {
  const { name, version } = manifest;
  const dist = {
    integrity: `sha512-${createHash('sha512').update(bytes).digest('base64')}`,
    shasum: createHash('sha1').update(bytes).digest('hex'),
    tarball: `${url}/${name}/-/${name}-${version}.tgz`,
  };
  return { name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } }, time: { [version]: new Date(0).toISOString() } };
}

/**
 * @param {{ manifest: { name: string, version: string }, file: string }[]} packages their `package.json` as published, and their tarballs
 * @param {string} folder where those are
 * @param {string} upstream the registry for all others
 */
export async function serve(packages, folder, upstream) {
  const known = new Map(packages.map(({ manifest, file }) => [manifest.name, { manifest, bytes: readFileSync(join(folder, file)) }]));
  const asked = [];
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url.slice(1));
    const [name, ...rest] = path.split('/');
    const own = known.get(name);
    if (own === undefined) return response.writeHead(307, { location: new URL(request.url.slice(1), upstream).href }).end();
    asked.push(path);
    if (rest.length > 0) return response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(own.bytes);
    const about = JSON.stringify(describe(own, `http://localhost:${server.address().port}`));
    return response.writeHead(200, { 'content-type': 'application/json' }).end(about);
  });
  await new Promise((resolve) => { server.listen(0, 'localhost', resolve); });
  return {
    url: `http://localhost:${server.address().port}/`,
    /** What has been asked for of the packages here. */
    asked,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => { server.close(resolve); });
    },
  };
}

// A package registry on this machine for packages that are not published yet. It accepts and serves the packages whose
// names it was given, and redirects all other requests to the registry that npm is configured for.

import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';

/** The metadata of a package as npm's registries return it ("package metadata" in npm's documentation). */
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
 * @param {string[]} names of the packages that are stored here
 * @param {string} upstream the registry for all others
 */
export async function serve(names, upstream) {
  const known = new Map();
  const server = createServer(async (request, response) => {
    const [name, ...rest] = decodeURIComponent(request.url.slice(1)).split('/');
    if (!names.includes(name)) return response.writeHead(307, { location: new URL(request.url.slice(1), upstream).href }).end();
    const answer = (status, value) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (request.method === 'PUT') {
      const { versions, _attachments: files } = await json(request);
      const [manifest] = Object.values(versions);
      if (known.has(name)) return answer(403, { error: 'there is one already' });
      known.set(name, { manifest, bytes: Buffer.from(Object.values(files)[0].data, 'base64') });
      return answer(201, { ok: true });
    }
    const own = known.get(name);
    if (own === undefined) return answer(404, { error: 'Not found' });
    if (rest.length > 0) return response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(own.bytes);
    return answer(200, describe(own, `http://localhost:${server.address().port}`));
  });
  await new Promise((resolve) => { server.listen(0, 'localhost', resolve); });
  const host = `localhost:${server.address().port}`;
  return {
    url: `http://${host}/`,
    /** The arguments with which npm publishes here. */
    args: [`--registry=http://${host}/`, `--//${host}/:_authToken=any`, '--provenance=false'],
    /** The names of the published packages. */
    published: () => [...known.keys()],
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => { server.close(resolve); });
    },
  };
}

// The targets that the sources support, by Rust's names and by those of packages.

export const TARGETS = [
  'x86_64-unknown-linux-gnu',
  'aarch64-unknown-linux-gnu',
  'x86_64-unknown-linux-musl',
  'aarch64-unknown-linux-musl',
  'x86_64-apple-darwin',
  'aarch64-apple-darwin',
  'x86_64-pc-windows-msvc',
];

const ABI = { gnu: '-gnu', musl: '-musl', msvc: '-msvc', darwin: '' };
const ARCHITECTURES = { x86_64: 'x64', aarch64: 'arm64' };

/** The name that packages have for a Rust target. */
export function tripleOf(target) {
  const [cpu, , system, abi = system] = target.split('-');
  const platform = system === 'windows' ? 'win32' : system;
  if (ARCHITECTURES[cpu] === undefined || ABI[abi] === undefined) throw new Error(`no package has a name for ${target}`);
  return `${platform}-${ARCHITECTURES[cpu]}${ABI[abi]}`;
}

/** The oldest glibc that the Linux binaries run on; loader/native.js and the packages in npm/ also name it. */
export const GLIBC = '2.28';

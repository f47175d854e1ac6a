// The progress of a long run: in a terminal one line that changes, elsewhere an occasional line. Everything else is printed above it.

const TERMINAL_MS = 500;
const ELSEWHERE_MS = 30_000;
const CLEAR = '\r\x1b[K';

export class Progress {
  #terminal = process.stdout.isTTY === true;
  #describe;
  #timer;

  /** @param {() => string} describe the line */
  constructor(describe) {
    this.#describe = describe;
    this.#timer = setInterval(() => this.#show(), this.#terminal ? TERMINAL_MS : ELSEWHERE_MS);
  }

  #show() {
    const line = this.#describe();
    if (this.#terminal) process.stdout.write(CLEAR + line.slice(0, (process.stdout.columns ?? 80) - 1));
    else console.log(`     ${line}`);
  }

  print(text) {
    if (this.#terminal) process.stdout.write(CLEAR);
    console.log(text);
    if (this.#terminal) this.#show();
  }

  end() {
    clearInterval(this.#timer);
    if (this.#terminal) process.stdout.write(CLEAR);
  }
}

const pad = (number) => String(number).padStart(2, '0');

/** `4:05` */
export const clock = (seconds) => `${Math.floor(seconds / 60)}:${pad(Math.floor(seconds % 60))}`;

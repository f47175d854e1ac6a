/** The outcome of code that a model has written, as plain JSON. */
export type CodeResult = {
  /** Whether the code ran to its end. */
  success: boolean;
  /** What it returned. BigInts are strings of digits; null if there is nothing. Absent if it failed. */
  result?: unknown;
  /** Why it failed. Absent if it succeeded. */
  error?: {
    name: string;
    /** At most 10,000 characters. */
    message: string;
    /** Set if a limit or this library is the reason; see `SandboxFailure.code`. */
    code?: string;
    /** 1-based line of the code where the error arose, if it is known. */
    line?: number;
    /** The surrounding lines with the place marked. */
    frame?: string;
  };
  /** Console output; see `AgentResult.logs`. */
  logs: string[];
  /** Number of console calls that were not kept; absent if all were kept. */
  lostLogs?: number;
};

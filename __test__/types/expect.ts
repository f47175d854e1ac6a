// Assertions that hold when they compile.

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** `expectType<Expected>()(value)` compiles if the value's type is exactly the expected one, and not `any`. */
export function expectType<Expected>() {
  return <Actual>(value: Actual, ..._problem: Same<Actual, Expected> extends true ? [] : [never]): Actual => value;
}

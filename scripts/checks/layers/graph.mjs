// Circles in a graph.

/**
 * @param {Map<string, Set<string>>} graph the files that each file imports
 * @returns {string[][]} the largest sets of files that all import each other, directly or indirectly (Tarjan's algorithm)
 */
export function circles(graph) {
  const found = [];
  const orders = new Map();
  const lowest = new Map();
  const stack = [];
  const visit = (file) => {
    orders.set(file, orders.size);
    lowest.set(file, orders.get(file));
    stack.push(file);
    for (const imported of graph.get(file) ?? []) {
      if (!orders.has(imported)) visit(imported);
      if (stack.includes(imported)) lowest.set(file, Math.min(lowest.get(file), lowest.get(imported)));
    }
    if (lowest.get(file) === orders.get(file)) found.push(stack.splice(stack.indexOf(file)));
  };
  for (const file of graph.keys()) if (!orders.has(file)) visit(file);
  return found.filter((circle) => circle.length > 1);
}

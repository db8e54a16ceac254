/// The rings among edges between numbered nodes, one for each set of nodes that reach each other; linear.
struct WaitCycles {
  private let targets: [[(node: Int, edge: Int)]]

  /// - Parameter edges: Edges from a node to a node, in the order in which results number them.
  init(nodeCount: Int, edges: [(from: Int, to: Int)]) {
    var targets = [[(node: Int, edge: Int)]](repeating: [], count: nodeCount)
    for (index, edge) in edges.enumerated() { targets[edge.from].append((edge.to, index)) }
    self.targets = targets
  }

  /// The numbers of the edges of a shortest ring through the first node of each set.
  var rings: [[Int]] {
    let sets = components
    return sets.enumerated().sorted { $0.element[0] < $1.element[0] }.compactMap { _, nodes in
      nodes.lazy.compactMap { ring(through: $0, among: Set(nodes)) }.first
    }
  }

  /// Sets of nodes that reach each other, each in order: Tarjan's search, without recursion.
  private var components: [[Int]] {
    var search = Search(nodeCount: targets.count)
    for node in targets.indices where search.index[node] == nil { search.run(from: node, targets) }
    return search.components.map { $0.sorted() }
  }

  /// The edges of a shortest ring that begins and ends at a node.
  private func ring(through start: Int, among nodes: Set<Int>) -> [Int]? {
    var cameBy: [Int: (edge: Int, from: Int)] = [:]
    var (path, next) = ([start], 0)
    while next < path.count {
      let node = path[next]
      next += 1
      for (target, edge) in targets[node] where nodes.contains(target) {
        if target == start {
          var (edges, place) = ([edge], node)
          while place != start, let step = cameBy[place] {
            edges.append(step.edge)
            place = step.from
          }
          return edges.reversed()
        }
        if cameBy[target] == nil {
          cameBy[target] = (edge, node)
          path.append(target)
        }
      }
    }
    return nil
  }

  private struct Search {
    var index: [Int?]
    private var low: [Int]
    private var isOnStack: [Bool]
    private var stack: [Int] = []
    private var count = 0
    private(set) var components: [[Int]] = []

    init(nodeCount: Int) {
      index = Array(repeating: nil, count: nodeCount)
      low = Array(repeating: 0, count: nodeCount)
      isOnStack = Array(repeating: false, count: nodeCount)
    }

    private mutating func enter(_ node: Int) {
      (index[node], low[node], isOnStack[node]) = (count, count, true)
      count += 1
      stack.append(node)
    }

    mutating func run(from start: Int, _ targets: [[(node: Int, edge: Int)]]) {
      var path = [(node: start, next: 0)]
      enter(start)
      while let (node, next) = path.last {
        guard next < targets[node].count else {
          path.removeLast()
          if let parent = path.last { low[parent.node] = min(low[parent.node], low[node]) }
          if low[node] == index[node] { takeComponent(of: node) }
          continue
        }
        path[path.count - 1].next += 1
        let target = targets[node][next].node
        if index[target] == nil {
          enter(target)
          path.append((target, 0))
        } else if isOnStack[target] {
          low[node] = min(low[node], index[target]!)
        }
      }
    }

    private mutating func takeComponent(of node: Int) {
      var component: [Int] = []
      repeat {
        component.append(stack.removeLast())
        isOnStack[component.last!] = false
      } while component.last != node
      components.append(component)
    }
  }
}

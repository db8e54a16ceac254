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
    components.sorted { $0[0] < $1[0] }.compactMap { ring(through: $0[0], among: Set($0)) }
  }

  /// Sets of nodes that reach each other, each in order: Kosaraju's two searches, without recursion.
  private var components: [[Int]] {
    var sources = [[Int]](repeating: [], count: targets.count)
    for (node, ends) in targets.enumerated() {
      for (target, _) in ends { sources[target].append(node) }
    }
    var isInNone = [Bool](repeating: true, count: targets.count)
    var components: [[Int]] = []
    // The node that was left last reaches each node that leads to it, unless that is in an earlier set.
    for start in nodesAsLeft.reversed() where isInNone[start] {
      isInNone[start] = false
      var (component, open) = ([Int](), [start])
      while let node = open.popLast() {
        component.append(node)
        for source in sources[node] where isInNone[source] {
          isInNone[source] = false
          open.append(source)
        }
      }
      components.append(component.sorted())
    }
    return components
  }

  /// The nodes in the order in which a depth-first search leaves them.
  private var nodesAsLeft: [Int] {
    var isNew = [Bool](repeating: true, count: targets.count)
    var left: [Int] = []
    for start in targets.indices where isNew[start] {
      isNew[start] = false
      var path = [(node: start, next: 0)]
      while let (node, next) = path.last {
        guard next < targets[node].count else {
          left.append(path.removeLast().node)
          continue
        }
        path[path.count - 1].next += 1
        let target = targets[node][next].node
        if isNew[target] {
          isNew[target] = false
          path.append((target, 0))
        }
      }
    }
    return left
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
}

/// The shortest edit script from one list to another, by removals and insertions.
///
/// After Myers, "An O(ND) Difference Algorithm and Its Variations", 1986. A limit on the number of changes keeps time
/// about linear.
package struct DiffScript {
  package enum Step: Equatable {
    /// The indices in the first and in the second list.
    case keep(Int, Int)
    case remove(Int)
    case insert(Int)
  }

  package private(set) var steps: [Step] = []

  /// Finds the script; nil if the lists differ by more removals and insertions than the limit.
  package init?<Element: Hashable>(_ first: [Element], _ second: [Element], limit: Int = 200) {
    var numbers: [Element: Int] = [:]
    func numbered(_ elements: [Element]) -> [Int] {
      elements.map { element in
        let number = numbers[element] ?? numbers.count
        numbers[element] = number
        return number
      }
    }
    self.init(numbers: numbered(first), numbered(second), limit: limit)
  }

  /// Keeps elements at the same index in both, and removes or inserts the rest.
  package static func byIndex(_ first: Int, _ second: Int) -> [Step] {
    (0..<max(first, second)).map { index in
      if index >= second { return .remove(index) }
      return index < first ? .keep(index, index) : .insert(index)
    }
  }

  private init?(numbers first: [Int], _ second: [Int], limit: Int) {
    // `reach` is the furthest index on each diagonal. `trace` keeps its state before each further change, from which
    // `wayBack` reads the steps.
    var reach = [Int](repeating: 0, count: 2 * limit + 3)
    var trace: [[Int]] = []
    for changes in 0...limit {
      trace.append(Array(reach[(limit + 1 - changes)...(limit + 1 + changes)]))
      for diagonal in stride(from: -changes, through: changes, by: 2) {
        let center = limit + 1 + diagonal
        let goesDown =
          diagonal == -changes || diagonal != changes && reach[center - 1] < reach[center + 1]
        var x = goesDown ? reach[center + 1] : reach[center - 1] + 1
        var y = x - diagonal
        while x < first.count, y < second.count, first[x] == second[y] {
          x += 1
          y += 1
        }
        reach[center] = x
        if x >= first.count, y >= second.count {
          steps = Self.wayBack(trace, first.count, second.count)
          return
        }
      }
    }
    return nil
  }

  private static func wayBack(_ trace: [[Int]], _ count: Int, _ other: Int) -> [Step] {
    var (x, y) = (count, other)
    var steps: [Step] = []
    for changes in stride(from: trace.count - 1, through: 1, by: -1) {
      let reach = trace[changes]
      let diagonal = x - y
      let at = { (diagonal: Int) in reach[diagonal + changes] }
      let goesDown =
        diagonal == -changes
        || diagonal != changes && at(diagonal - 1) < at(diagonal + 1)
      let before = goesDown ? diagonal + 1 : diagonal - 1
      let (startX, startY) = (at(before), at(before) - before)
      while x > startX, y > startY {
        (x, y) = (x - 1, y - 1)
        steps.append(.keep(x, y))
      }
      if goesDown {
        y -= 1
        steps.append(.insert(y))
      } else {
        x -= 1
        steps.append(.remove(x))
      }
    }
    while x > 0, y > 0 {
      (x, y) = (x - 1, y - 1)
      steps.append(.keep(x, y))
    }
    return steps.reversed()
  }
}

/// The removals and insertions between two kept elements.
package struct DiffGap {
  package var removed: [Int] = []
  package var inserted: [Int] = []

  package init() {}

  package var isEmpty: Bool { removed.isEmpty && inserted.isEmpty }
}

/// A binary heap, smallest first.
package struct MinimumHeap<Element: Comparable> {
  private var elements: [Element]

  /// - Parameter sorted: A sorted array, which is a heap already.
  package init(_ sorted: [Element]) {
    elements = sorted
  }

  package var count: Int { elements.count }

  package var minimum: Element? { elements.first }

  /// All elements, smallest first.
  var sorted: [Element] { elements.sorted() }

  package mutating func insert(_ element: Element) {
    elements.append(element)
    var child = elements.count - 1
    while child > 0, elements[child] < elements[(child - 1) / 2] {
      elements.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  package mutating func popMinimum() -> Element? {
    guard let minimum = elements.first else { return nil }
    let last = elements.removeLast()
    guard !elements.isEmpty else { return minimum }
    elements[0] = last
    sink(from: 0)
    return minimum
  }

  /// Keeps the elements that satisfy a condition; linear.
  mutating func filter(_ isKept: (Element) -> Bool) {
    elements.removeAll { !isKept($0) }
    for parent in (0..<elements.count / 2).reversed() { sink(from: parent) }
  }

  private mutating func sink(from top: Int) {
    var parent = top
    while true {
      var child = 2 * parent + 1
      if child + 1 < elements.count, elements[child + 1] < elements[child] { child += 1 }
      guard child < elements.count, elements[child] < elements[parent] else { return }
      elements.swapAt(child, parent)
      parent = child
    }
  }
}

extension MinimumHeap: Sendable where Element: Sendable {}

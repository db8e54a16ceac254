/// A binary heap of integers, smallest first.
struct MinimumHeap {
  private var elements: [Int]

  /// - Parameter sorted: A sorted array, which is a heap already.
  init(_ sorted: [Int]) {
    elements = sorted
  }

  /// All elements, smallest first.
  var sorted: [Int] { elements.sorted() }

  mutating func insert(_ element: Int) {
    elements.append(element)
    var child = elements.count - 1
    while child > 0, elements[child] < elements[(child - 1) / 2] {
      elements.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  mutating func popMinimum() -> Int? {
    guard let minimum = elements.first else { return nil }
    let last = elements.removeLast()
    guard !elements.isEmpty else { return minimum }
    elements[0] = last
    var parent = 0
    while true {
      let children = [2 * parent + 1, 2 * parent + 2].filter { $0 < elements.count }
      guard let child = children.min(by: { elements[$0] < elements[$1] }),
        elements[child] < elements[parent]
      else { return minimum }
      elements.swapAt(child, parent)
      parent = child
    }
  }
}

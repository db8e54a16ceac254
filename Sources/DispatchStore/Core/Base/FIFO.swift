/// A first-in, first-out queue; appending and removing take amortised constant time.
struct FIFO<Element> {
  private var elements: [Element?] = []
  private var head = 0

  var count: Int { elements.count - head }
  var isEmpty: Bool { head == elements.count }
  var first: Element? { isEmpty ? nil : elements[head] }

  /// The element behind this many others.
  subscript(_ index: Int) -> Element { elements[head + index]! }

  /// The elements, first to last; linear.
  var all: [Element] { elements[head...].map { $0! } }

  mutating func append(_ element: Element) {
    elements.append(element)
  }

  mutating func popFirst() -> Element? {
    guard !isEmpty else { return nil }
    let element = elements[head]
    elements[head] = nil
    head += 1
    if head == elements.count {
      elements.removeAll(keepingCapacity: head <= 1_024)
      head = 0
    } else if head >= 64, head * 2 >= elements.count {
      elements.removeFirst(head)
      head = 0
    }
    return element
  }

  /// Removes the elements that fulfil a condition, and returns them; linear.
  @discardableResult
  mutating func removeAll(where condition: (Element) -> Bool) -> [Element] {
    let present = all
    self = FIFO()
    var removed: [Element] = []
    for element in present {
      if condition(element) { removed.append(element) } else { append(element) }
    }
    return removed
  }

  /// Updates the elements behind this many others.
  mutating func update(behind count: Int, _ body: (inout Element) -> Void) {
    for index in (head + count)..<elements.count { body(&elements[index]!) }
  }
}

/// A list of mostly one element, which then allocates nothing.
struct ShortList<Element>: RandomAccessCollection, MutableCollection {
  private var head: Element?
  private var others: [Element] = []
  // Not computed: to compare the head with nil copies it.
  private(set) var endIndex = 0

  init() {}

  init(_ element: Element) { (head, endIndex) = (element, 1) }

  init(_ elements: [Element]) {
    (head, endIndex) = (elements.first, elements.count)
    others = Array(elements.dropFirst())
  }

  var startIndex: Int { 0 }

  subscript(index: Int) -> Element {
    get { index == 0 ? head! : others[index - 1] }
    set { if index == 0 { head = newValue } else { others[index - 1] = newValue } }
  }

  mutating func append(_ element: consuming Element) {
    if isEmpty { head = element } else { others.append(element) }
    endIndex += 1
  }

  mutating func remove(at index: Int) -> Element {
    endIndex -= 1
    if index > 0 { return others.remove(at: index - 1) }
    defer { head = others.isEmpty ? nil : others.removeFirst() }
    return head!
  }
}

extension ShortList: Sendable where Element: Sendable {}

/// A list of mostly one element, which then allocates nothing.
struct ShortList<Element>: RandomAccessCollection, MutableCollection {
  private var head: Element?
  private var others: [Element] = []

  init() {}

  init(_ element: Element) { head = element }

  init(_ elements: [Element]) {
    head = elements.first
    others = Array(elements.dropFirst())
  }

  var startIndex: Int { 0 }
  var endIndex: Int { head == nil ? 0 : others.count + 1 }

  subscript(index: Int) -> Element {
    get { index == 0 ? head! : others[index - 1] }
    set { if index == 0 { head = newValue } else { others[index - 1] = newValue } }
  }

  mutating func append(_ element: consuming Element) {
    if head == nil { head = element } else { others.append(element) }
  }

  mutating func remove(at index: Int) -> Element {
    if index > 0 { return others.remove(at: index - 1) }
    defer { head = others.isEmpty ? nil : others.removeFirst() }
    return head!
  }
}

extension ShortList: Sendable where Element: Sendable {}

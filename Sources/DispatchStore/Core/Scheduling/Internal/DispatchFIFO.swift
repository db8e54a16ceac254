/// A first-in, first-out list of dispatches, linked through themselves; the list retains each once.
///
/// The links are `Unmanaged`, since a lane's atomic word holds the newest dispatch as bits.
struct DispatchFIFO {
  private(set) var first: Unmanaged<Dispatch>?
  private var last: Unmanaged<Dispatch>?

  var isEmpty: Bool { first == nil }

  /// The dispatches, oldest first; linear.
  var all: [Dispatch] { Self.linked(from: first) }

  /// Returns a dispatch and those that follow it; linear.
  static func linked(from top: Unmanaged<Dispatch>?) -> [Dispatch] {
    sequence(state: top) { link in
      let dispatch = link?.takeUnretainedValue()
      link = dispatch?.next
      return dispatch
    }.map { $0 }
  }

  mutating func append(_ dispatch: Dispatch) {
    let appended = Unmanaged.passRetained(dispatch)
    if let last { last.takeUnretainedValue().next = appended } else { first = appended }
    last = appended
  }

  /// Takes over dispatches that are linked from the newest to the oldest.
  mutating func append(newestFirst top: Unmanaged<Dispatch>?) {
    guard let top else { return }
    var oldest: Unmanaged<Dispatch>?
    var rest: Unmanaged<Dispatch>? = top
    while let link = rest {
      let dispatch = link.takeUnretainedValue()
      rest = dispatch.next
      dispatch.next = oldest
      oldest = link
    }
    if let last { last.takeUnretainedValue().next = oldest } else { first = oldest }
    last = top
  }

  /// Removes ended dispatches; returns these, to be released outside of locks, and how many are left.
  mutating func removeEnded() -> (removed: [Dispatch], rest: Int) {
    var (present, removed, rest) = (DispatchFIFO(), [Dispatch](), 0)
    while let dispatch = popFirst() {
      if dispatch.isOver {
        removed.append(dispatch)
      } else {
        present.append(dispatch)
        rest += 1
      }
    }
    self = present
    return (removed, rest)
  }

  mutating func popFirst() -> Dispatch? {
    guard let dispatch = first?.takeRetainedValue() else { return nil }
    first = dispatch.next
    dispatch.next = nil
    if first == nil { last = nil }
    return dispatch
  }
}

/// Dispatches that wait in line, linked by themselves; each is referred to once.
struct DispatchFIFO {
  private var first: Unmanaged<Dispatch>?
  private var last: Unmanaged<Dispatch>?

  var isEmpty: Bool { first == nil }

  /// The dispatches, oldest first; linear.
  var all: [Dispatch] {
    sequence(first: first, next: { $0.map { $0._withUnsafeGuaranteedRef(\.next) } })
      .prefix { $0 != nil }.map { $0!.takeUnretainedValue() }
  }

  mutating func append(_ dispatch: Dispatch) {
    let appended = Unmanaged.passRetained(dispatch)
    if let last { last._withUnsafeGuaranteedRef { $0.next = appended } } else { first = appended }
    last = appended
  }

  /// Takes over dispatches that are linked from the newest to the oldest.
  mutating func append(newestFirst top: Unmanaged<Dispatch>?) {
    guard let top else { return }
    if isPlanted(.laneOrder), first == nil { return appendAsLinked(top) }
    var oldest: Unmanaged<Dispatch>?
    var rest: Unmanaged<Dispatch>? = top
    while let dispatch = rest {
      dispatch._withUnsafeGuaranteedRef {
        rest = $0.next
        $0.next = oldest
      }
      oldest = dispatch
    }
    if let last { last._withUnsafeGuaranteedRef { $0.next = oldest } } else { first = oldest }
    last = top
  }

  private mutating func appendAsLinked(_ top: Unmanaged<Dispatch>) {
    first = top
    last = top
    while let next = last?._withUnsafeGuaranteedRef(\.next) { last = next }
  }

  mutating func popFirst() -> Dispatch? {
    guard let dispatch = first?.takeRetainedValue() else { return nil }
    first = dispatch.next
    dispatch.next = nil
    if first == nil { last = nil }
    return dispatch
  }
}

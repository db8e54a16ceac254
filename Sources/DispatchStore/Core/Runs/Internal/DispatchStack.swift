/// Dispatches that have ended, linked by themselves, that one thread keeps to be used again.
struct DispatchStack {
  private var top: Unmanaged<Dispatch>?
  /// How many were put on top since all were given up or taken over.
  private var pushed = 0
  private static let capacity = 64

  /// Whether there are more than its thread needs itself.
  var isFull: Bool { pushed >= Self.capacity }

  @inline(__always)
  mutating func pop() -> Dispatch? {
    guard let dispatch = top?.takeRetainedValue() else { return nil }
    top = dispatch.next
    dispatch.next = nil
    pushed &-= 1
    return dispatch
  }

  /// Keeps a dispatch to which nothing else refers.
  @inline(__always)
  mutating func push(_ dispatch: consuming Dispatch) {
    dispatch.next = top
    top = Unmanaged.passRetained(dispatch)
    pushed &+= 1
  }

  mutating func removeAll() {
    while pop() != nil {}
  }

  /// Gives all of them up, linked from the top.
  mutating func giveUp() -> Unmanaged<Dispatch>? {
    pushed = 0
    return top.take()
  }

  /// Takes over what was given up, where it has none itself.
  mutating func takeOver(_ top: Unmanaged<Dispatch>?) {
    guard self.top == nil else { return }
    self.top = top
    pushed = 0
  }
}

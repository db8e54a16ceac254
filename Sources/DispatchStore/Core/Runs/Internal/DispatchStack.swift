/// Spare dispatches that one thread keeps for reuse, in a linked stack.
struct DispatchStack {
  private var top: Unmanaged<Dispatch>?
  /// The number of dispatches pushed since the last hand-over.
  private var pushed = 0
  private static let capacity = 64

  /// Whether there are more dispatches than its thread needs.
  var isFull: Bool { pushed >= Self.capacity }

  @inline(__always)
  mutating func pop() -> Dispatch? {
    guard let dispatch = top?.takeRetainedValue() else { return nil }
    top = dispatch.next
    dispatch.next = nil
    pushed &-= 1
    return dispatch
  }

  /// Keeps a dispatch that has no other references.
  @inline(__always)
  mutating func push(_ dispatch: consuming Dispatch) {
    dispatch.next = top
    top = Unmanaged.passRetained(dispatch)
    pushed &+= 1
  }

  mutating func removeAll() {
    while pop() != nil {}
  }

  /// Hands over all dispatches, linked from the top.
  mutating func giveUp() -> Unmanaged<Dispatch>? {
    pushed = 0
    return top.take()
  }

  /// Takes over dispatches, if the stack is empty.
  mutating func takeOver(_ top: Unmanaged<Dispatch>?) {
    guard self.top == nil else { return }
    self.top = top
    pushed = 0
  }
}

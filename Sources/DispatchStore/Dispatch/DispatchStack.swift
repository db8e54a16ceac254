/// Dispatches that have ended, linked by themselves, to be used again.
struct DispatchStack {
  private var top: Unmanaged<Dispatch>?
  private var count = 0
  private static let capacity = 256

  mutating func pop() -> Dispatch? {
    guard let dispatch = top?.takeRetainedValue() else { return nil }
    top = dispatch.next
    dispatch.next = nil
    count -= 1
    return dispatch
  }

  /// Keeps a dispatch to which nobody else refers.
  mutating func push(_ dispatch: Dispatch) {
    guard count < Self.capacity else { return }
    dispatch.next = top
    top = Unmanaged.passRetained(dispatch)
    count += 1
  }

  mutating func removeAll() {
    while pop() != nil {}
  }
}

/// Opens once, and stays open; what waits for that goes on then.
///
/// May be used from any thread. Holds none.
public final class Latch: Sendable {
  private struct State: Sendable {
    var isOpen = false
    var callbacks: [@Sendable () -> Void] = []
  }

  private let state = Awaited(State())

  /// Makes one that is closed.
  public init() {}

  /// Whether it has opened.
  public var isOpen: Bool { state.read(\.isOpen) }

  /// Opens it, and calls the closures that wait for that; a second time it does nothing.
  public func open() {
    let callbacks = state.change { state in
      state.isOpen = true
      defer { state.callbacks = [] }
      return state.callbacks
    }
    for callback in callbacks { callback() }
  }

  /// Calls the closure once, on the thread that opens it; at once where it is open.
  public func whenOpen(_ body: @escaping @Sendable () -> Void) {
    let isOpen = state.change { state in
      if !state.isOpen { state.callbacks.append(body) }
      return state.isOpen
    }
    if isOpen { body() }
  }

  /// Returns once it is open; earlier where the task is cancelled.
  public func opened() async {
    _ = await state.first { $0.isOpen ? true : nil }
  }
}

/// Opens once, and stays open; opening it resumes the tasks and calls the closures that wait for that.
///
/// May be used from any thread, and blocks none.
public final class Latch: Sendable {
  private struct State: Sendable {
    var isOpen = false
    var callbacks: [@Sendable () -> Void] = []
  }

  private let state = Awaited(State())

  /// Makes a closed latch.
  public init() {}

  /// Whether it has opened.
  public var isOpen: Bool { state.read(\.isOpen) }

  /// Opens it, and calls the waiting closures; a second call does nothing.
  public func open() {
    let callbacks = state.change { state in
      state.isOpen = true
      defer { state.callbacks = [] }
      return state.callbacks
    }
    for callback in callbacks { callback() }
  }

  /// Calls the closure once, on the thread that opens the latch; at once where the latch is open.
  public func whenOpen(_ body: @escaping @Sendable () -> Void) {
    let isOpen = state.change { state in
      if !state.isOpen { state.callbacks.append(body) }
      return state.isOpen
    }
    if isOpen { body() }
  }

  /// Returns once the latch is open; earlier where the task is cancelled.
  public func opened() async {
    _ = await state.first { $0.isOpen ? true : nil }
  }
}

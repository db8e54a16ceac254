/// A latch that opens once and stays open.
///
/// Opening it resumes the waiting tasks and calls the waiting closures.
///
/// You can use it from any thread. It blocks none.
public final class Latch: Sendable {
  private struct State: Sendable {
    var isOpen = false
    var callbacks: [@Sendable () -> Void] = []
  }

  private let state = Awaited(State())

  /// Makes a closed latch.
  public init() {}

  /// Whether the latch has opened.
  public var isOpen: Bool { state.read(\.isOpen) }

  /// Opens the latch, and calls the waiting closures.
  ///
  /// A second call does nothing.
  public func open() {
    let callbacks = state.change { state in
      state.isOpen = true
      defer { state.callbacks = [] }
      return state.callbacks
    }
    for callback in callbacks { callback() }
  }

  /// Calls the closure once, on the thread that opens the latch.
  ///
  /// If the latch is open, calls it at once.
  public func whenOpen(_ body: @escaping @Sendable () -> Void) {
    let isOpen = state.change { state in
      if !state.isOpen { state.callbacks.append(body) }
      return state.isOpen
    }
    if isOpen { body() }
  }

  /// Returns once the latch is open, or the task is cancelled.
  public func opened() async {
    _ = await state.first { $0.isOpen ? true : nil }
  }
}

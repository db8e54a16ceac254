import BenchmarkSupport
import Dispatch
import DispatchStore

/// By what each dispatch of a chain makes the next one.
enum Link: String, CaseIterable {
  case apply, block, asyncBlock, effect, completion, hook, observer

  var title: String {
    switch self {
    case .apply: "`apply`"
    case .block: "a block"
    case .asyncBlock: "an `async` block"
    case .effect: "an effect"
    case .completion: "a completion"
    case .hook: "`didDispatch`"
    case .observer: "an observer"
    }
  }

  /// Runs parts of a chain; each begins where the one before has ended, and is made by its last link.
  ///
  /// - Parameter reached: Called after each part, while the next link waits.
  func run(_ parts: [Int], reached: @escaping () -> Void) {
    let chain = LinkChain(parts, reached)
    chain.begin(self)
    chain.wait()
  }
}

/// A chain of dispatches in a lane, each of which makes the next one.
private final class LinkChain: @unchecked Sendable {
  // because one link after the other uses it
  private let dispatcher = Dispatcher()
  private let end = DispatchSemaphore(value: 0)
  private let reached: () -> Void
  private var parts: ArraySlice<Int>
  private var done = 0
  private var token: ObserverToken?

  init(_ parts: [Int], _ reached: @escaping () -> Void) {
    self.parts = parts[...]
    self.reached = reached
  }

  func begin(_ link: Link) {
    switch link {
    case .apply:
      register { [self] in ApplyingNext { self.next() } }
    case .block:
      register { [self] in
        RunningNext { ActionOperation(action: $0, store: $1) { _, _ in self.next() } }
      }
    case .asyncBlock:
      register { [self] in
        RunningNext { action, store in
          ActionOperation(action: action, store: store) { _, _ async throws in self.next() }
        }
      }
    case .effect:
      register { PlainReducer() }
      dispatcher.register(effect: Effect(Add.self) { [self] _, _ in next() })
    case .completion:
      register { PlainReducer() }
      return complete()
    case .hook:
      register { PlainReducer() }
      dispatcher.register(middleware: NextInHook { [self] in next() })
    case .observer:
      let store = register { PlainReducer() }
      token = store.observe(.model) { [self] _ in next() }
    }
    next()
  }

  func wait() {
    end.wait()
  }

  @discardableResult
  private func register(_ reducer: () -> Reducer<Counter, Add>) -> Store<Counter, Add> {
    dispatcher.register(store: Store(identifier: "chain", reducer: reducer()))
  }

  private func next() {
    if count() { dispatcher.dispatch(action: Add(1), mode: .serial) }
  }

  private func complete() {
    if count() { dispatcher.dispatch(action: Add(1), mode: .serial) { [self] in complete() } }
  }

  /// Whether the chain goes on.
  private func count() -> Bool {
    if done == parts.first {
      reached()
      parts.removeFirst()
      done = 0
    }
    done += 1
    if parts.isEmpty { end.signal() }
    return !parts.isEmpty
  }
}

private final class ApplyingNext: Reducer<Counter, Add> {
  private let next: @Sendable () -> Void

  init(_ next: @escaping @Sendable () -> Void) {
    self.next = next
  }

  override func apply(_ action: Add, to store: Store<Counter, Add>) {
    next()
  }
}

private final class RunningNext: Reducer<Counter, Add> {
  typealias Answer =
    @Sendable (Add, Store<Counter, Add>) -> ActionOperation<Counter, Add>

  private let answer: Answer

  init(_ answer: @escaping Answer) {
    self.answer = answer
  }

  override func operation(
    for action: Add, in store: Store<Counter, Add>
  ) -> ActionOperation<Counter, Add> {
    answer(action, store)
  }
}

private final class NextInHook: Middleware {
  private let next: @Sendable () -> Void

  init(_ next: @escaping @Sendable () -> Void) {
    self.next = next
  }

  func didDispatch(
    transaction: StoreRunInfo, action: any ActionType, in store: any StoreType
  ) throws {
    next()
  }
}

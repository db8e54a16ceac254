import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

/// Bugs that exploration has found in waits of operations for others, on which they depend.
@Suite("Regressions of dependencies")
struct DependencyRegressionTests {
  /// The operation of each depends on the one that was made before it.
  enum Link: ActionType {
    /// Dispatches `second`, and awaits `third`.
    case first
    case second, third
  }

  final class LinkReducer: Reducer<Notes, Link> {
    private let made: MadeLinks
    private let mode: Dispatcher.Mode

    init(_ made: MadeLinks, _ mode: Dispatcher.Mode) {
      self.made = made
      self.mode = mode
    }

    override func operation(
      for action: Link, in store: Store<Notes, Link>
    ) -> ActionOperation<Notes, Link> {
      let operation =
        switch action {
        case .first:
          ActionOperation(action: action, store: store) { [mode, made] _, store async in
            guard let dispatcher = store.dispatcher else { return }
            let second = dispatcher.dispatch(action: Link.second, mode: mode)
            made.with { $0.second = second }
            let third = await dispatcher.dispatch(action: Link.third).result
            made.with { $0.third = third }
          }
        case .second, .third:
          ActionOperation(action: action, store: store) { _, _ in }
        }
      let former = made.with { made in
        defer { made.last = operation }
        return made.last
      }
      if let former { operation.addDependency(former) }
      return operation
    }
  }

  /// The first awaits the third, which depends on the second, and that on the first.
  ///
  /// Where the third began to wait for the second while that was about to wait, too, and not known to be, the second
  /// did not look for a ring.
  @Test(arguments: [Dispatcher.Mode.async, .serial])
  func whereTwoBeginToWaitAtTheSameTimeTheLastOneSeesTheRing(_ mode: Dispatcher.Mode)
    async throws
  {
    try await explore(seeds: seeds(500)) { dispatcher in
      let made = MadeLinks()
      dispatcher.register(store: Store(identifier: "links", reducer: LinkReducer(made, mode)))
      let first = await dispatcher.dispatch(action: Link.first).result
      try check(first.isSuccess, "\(first)")
      let (second, third) = made.with { ($0.second, $0.third) }
      let ends = [await second?.result, third]
      let refused = ends.count { $0?.dispatchError?.code == .wouldDeadlock }
      try check(refused == 1 && ends.count { $0?.isSuccess == true } == 1, "\(ends)")
    }
  }
}

/// What a reducer has made, on any thread.
final class MadeLinks: @unchecked Sendable {  // because `lock` guards `state`
  struct State {
    var last: Foundation.Operation?
    var second: DispatchHandle?
    var third: DispatchResult?
  }

  private let lock = NSLock()
  private var state = State()

  func with<Result>(_ body: (inout State) -> Result) -> Result {
    lock.withLock { body(&state) }
  }
}

import DispatchStore
import Foundation
import Synchronization
import Testing

@Suite("Load", .serialized, .timeLimit(.minutes(10)))
struct LoadTests {
  @Test(arguments: Dispatcher.Mode.everyMode)
  func tenThousandFromEightThreadsOverEightStoresLoseNothing(_ mode: Dispatcher.Mode) async {
    let (threads, actions, stores) = (8, Load.count(1_250), 8)
    let (dispatcher, hooks) = (Dispatcher(), HookCounter())
    dispatcher.register(middleware: hooks)
    let counters = (0..<stores).map { index in
      // Each store waits for the next one and for the last one, which are registered later.
      dispatcher.register(
        store: .counter("\(index)"),
        waitFor: index == stores - 1 ? [] : ["\(index + 1)", "\(stores - 1)"])
    }
    let versions = counters.map { _ in VersionCounter() }
    let tokens = zip(counters, versions).map { counter, versions in
      counter.observe(.model) { versions.note($0.version) }
    }
    let completions = Recorder<DispatchID>()
    let failures = Recorder<String>()
    await onOwnThreads(threads) { _ in
      for _ in 0..<actions {
        dispatcher.dispatch(CounterAction.add(1), mode: mode) { result in
          if !result.isSuccess { failures.record("\(result)") }
          completions.record(result.dispatchID)
        }
      }
    }
    let total = threads * actions
    #expect(Set(await completions.first(total)).count == total)
    #expect(completions.count == total)
    #expect(failures.all.isEmpty)
    #expect(counters.map(\.model.count) == Array(repeating: total, count: stores))
    #expect(versions.map(\.inOrder) == Array(repeating: UInt64(total), count: stores))
    #expect(hooks.will.load(ordering: .relaxed) == total * stores)
    #expect(hooks.did.load(ordering: .relaxed) == total * stores)
    for token in tokens { token.cancel() }
  }
}

private final class HookCounter: Middleware {
  let will = Atomic(0)
  let did = Atomic(0)

  func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) -> MiddlewareVerdict {
    will.add(1, ordering: .relaxed)
    return .pass
  }

  func didDispatch(transaction: StoreRunInfo, action: AnyAction, in store: AnyStore) {
    did.add(1, ordering: .relaxed)
  }
}

/// Counts versions as long as each is delivered once, and in order.
private final class VersionCounter: @unchecked Sendable {  // because `lock` guards what changes
  private let lock = NSLock()
  private var last: UInt64 = 0

  var inOrder: UInt64 { lock.withLock { last } }

  func note(_ version: UInt64) {
    lock.withLock {
      if version == last + 1 { last = version }
    }
  }
}

import DispatchStore
import Foundation
import Synchronization

@testable import churn

/// Records the store runs of each dispatch, in order.
final class PartsRecorder: Middleware, @unchecked Sendable {
  // Unchecked because: `recorded` is only touched while `lock` is held.
  struct StoreRun {
    let dispatchID: DispatchID
    let isChange: Bool
    let store: String
  }

  private let lock = NSLock()
  private var recorded: (begun: [StoreRun], ended: [StoreRun]) = ([], [])

  var begun: [StoreRun] { lock.withLock { recorded.begun } }
  var ended: [StoreRun] { lock.withLock { recorded.ended } }

  func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) -> MiddlewareVerdict {
    let part = StoreRun(
      dispatchID: transaction.id, isChange: action is Changed, store: store.identifier)
    lock.withLock { recorded.begun.append(part) }
    return .pass
  }

  func didDispatch(transaction: StoreRunInfo, action: AnyAction, in store: AnyStore) {
    let part = StoreRun(
      dispatchID: transaction.dispatch.id, isChange: action is Changed, store: store.identifier)
    lock.withLock { recorded.ended.append(part) }
  }
}

/// Counts the actions in flight, and keeps the first ones from ending until as many are in flight as the limit
/// allows.
final class CrowdCounter: Middleware, @unchecked Sendable {
  // Unchecked because: what changes is only touched while `condition` is locked.
  private let condition = NSCondition()
  private let crowd: Int
  private var dispatched = 0
  private var underWay = 0
  private var most = 0

  init(crowd: Int) {
    self.crowd = crowd
  }

  var mostUnderWay: Int { condition.withLock { most } }

  func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) -> MiddlewareVerdict {
    guard isOnePerAction(store) else { return .pass }
    condition.withLock {
      dispatched += 1
      underWay += 1
      most = max(most, underWay)
      condition.broadcast()
    }
    return .pass
  }

  func didDispatch(transaction: StoreRunInfo, action: AnyAction, in store: AnyStore) {
    guard isOnePerAction(store) else { return }
    condition.withLock {
      while dispatched < crowd { condition.wait() }
      underWay -= 1
    }
  }

  /// Every change goes to `files`, and every commit to `days`.
  private func isOnePerAction(_ store: AnyStore) -> Bool {
    store.identifier == "files" || store.identifier == "days"
  }
}

/// Refuses the changes of one path.
final class PathVeto: Middleware {
  private let path: Path

  init(_ path: Path) {
    self.path = path
  }

  func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) -> MiddlewareVerdict {
    guard let action = action as? Changed, action.change.path == path else { return .pass }
    return .veto(reason: "not this one")
  }
}

/// Keeps every action from its end until `end` is called.
final class HeldUp: Middleware {
  private let ended = DispatchGroup()

  init() { ended.enter() }

  func end() { ended.leave() }

  func didDispatch(transaction: StoreRunInfo, action: AnyAction, in store: AnyStore) {
    ended.wait()
  }
}

/// Requests the end of a replay when so many actions are being dispatched.
final class StopAt: Middleware {
  let stop = Stop()
  private let count: Int
  private let signal: Signal
  private let dispatched = Atomic(0)

  init(_ count: Int, _ signal: Signal = Signal(2)) {
    (self.count, self.signal) = (count, signal)
  }

  func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) -> MiddlewareVerdict {
    // The store that takes part in every action.
    if store.identifier == "authors",
      dispatched.wrappingAdd(1, ordering: .relaxed).newValue == count
    {
      stop.request(signal)
    }
    return .pass
  }
}

import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Middlewares that replace, veto, throw and dispatch, and one that comes and goes meanwhile.
  static let middlewares = Scenario(
    name: "middlewares", summary: "didDispatch follows each willDispatch once, in reverse order"
  ) { dispatcher in
    let store = dispatcher.makeJournal("journal")
    let second = dispatcher.makePlainJournal("second", waitFor: ["journal"])
    let log = HookLog()
    dispatcher.register(middleware: LoggedHooks("a", log))
    dispatcher.register(
      middleware: LoggedHooks("b", log) { number, store in
        switch (number, store) {
        case (1, "journal"): return .replace(with: Entry.work(101))
        case (2, "journal"): return .veto(reason: "two")
        case (3, "second"): throw Refused()
        case (4, "second"):
          dispatcher.dispatch(action: Entry.work(40), mode: .serial)
          dispatcher.dispatch(action: Entry.work(41), mode: .sync)
          return .pass
        default: return .pass
        }
      })
    dispatcher.register(middleware: LoggedHooks("c", log))
    let passing = LoggedHooks("d", log)
    dispatcher.simulation?.startThread { dispatcher.register(middleware: passing) }
    dispatcher.simulation?.startThread { dispatcher.unregister(middleware: passing) }
    let modes: [Dispatcher.Mode] = [.async, .serial, .sync, .async, .serial, .mainThread]
    let pairs = await concurrently(modes.enumerated()) { place, mode in
      let number = place + 1
      let action: Entry = number == 5 ? .slow(5) : number == 6 ? .note(6) : .work(number)
      let handle = dispatcher.dispatch(action, mode: mode) { result in
        log.ended(result.dispatchID)
      }
      if number == 5 { dispatcher.simulation?.atSomeTime { handle.cancel() } }
      return (number, await handle.result)
    }
    let results = Dictionary(uniqueKeysWithValues: pairs)
    _ = await dispatcher.dispatch(action: Entry.note(7), mode: .serial).result
    try check(log.faults.now.isEmpty, "\(log.faults.now)")
    let (entries, others) = (store.model.entries, second.model.entries)
    try check(
      entries.filter { $0 != 5 }.sorted() == [3, 4, 6, 7, 40, 41, 101], "journal: \(entries)")
    try check(others.filter { $0 != 5 }.sorted() == [1, 4, 6, 7, 40, 41], "second: \(others)")
    try check(results[2]?["journal"].veto != nil, "\(results[2]!)")
    try check(results[3]?["second"].isFinished == false, "\(results[3]!)")
    for (identifier, model) in [("journal", entries), ("second", others)] {
      try check(
        results[5]?[identifier].isFinished == model.contains(5), "\(model) and \(results[5]!)")
    }
  }
}

/// Calls a closure before each store runs an action.
final class WillHook: Middleware {
  typealias Body = @Sendable (DispatchInfo, AnyAction, AnyStore) throws -> MiddlewareVerdict

  private let body: Body

  init(_ body: @escaping Body) {
    self.body = body
  }

  func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) throws -> MiddlewareVerdict {
    try body(transaction, action, store)
  }
}

/// The middlewares whose `willDispatch` was called and `didDispatch` not yet, by transaction and store.
final class HookLog: Sendable {
  private let open = Shared([String: [String]]())
  let faults = Shared([String]())

  func will(_ name: String, _ transaction: DispatchInfo, _ store: AnyStore) {
    open.with { $0["\(transaction.id) \(store.identifier)", default: []].append(name) }
  }

  /// Checks that this middleware is the last open one.
  func did(_ name: String, _ transaction: StoreRunInfo, _ store: AnyStore) {
    let last = open.with {
      $0["\(transaction.dispatch.id) \(store.identifier)", default: []].popLast()
    }
    if last != name {
      faults.note("\(name) got didDispatch of \(transaction.dispatch.id), not \(last ?? "-")")
    }
  }

  func ended(_ dispatchID: DispatchID) {
    let left = open.now.filter { $0.key.hasPrefix("\(dispatchID) ") && !$0.value.isEmpty }
    if !left.isEmpty { faults.note("\(left) open at the completion") }
  }
}

final class LoggedHooks: Middleware {
  private let name: String
  private let log: HookLog
  private let verdict: @Sendable (_ number: Int, _ store: String) throws -> MiddlewareVerdict

  init(
    _ name: String, _ log: HookLog,
    verdict: @escaping @Sendable (Int, String) throws -> MiddlewareVerdict = { _, _ in .pass }
  ) {
    (self.name, self.log, self.verdict) = (name, log, verdict)
  }

  func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) throws -> MiddlewareVerdict {
    log.will(name, transaction, store)
    return try verdict((action as? Entry)?.number ?? 0, store.identifier)
  }

  func didDispatch(transaction: StoreRunInfo, action: AnyAction, in store: AnyStore) {
    log.did(name, transaction, store)
  }
}

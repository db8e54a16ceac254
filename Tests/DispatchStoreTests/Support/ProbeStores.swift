import DispatchStore
import Foundation

/// What probe stores respond to.
struct Ping: ActionType, Equatable {
  var name = ""
}

struct PingFailure: Error, Equatable {}

/// The ways in which a store responds with more than a reduction.
enum OperationStyle: CaseIterable, Codable, Sendable {
  case returning, callback, suspending
  /// By `apply(_:to:)`, without an operation.
  case applying

  static let operations: [OperationStyle] = [.returning, .callback, .suspending]
}

extension OperationStyle {
  /// A reducer that answers in this style with a closure, which commits nothing.
  func reducer(_ body: @escaping @Sendable (ProbeStore) -> Void) -> sending Reducer<Int, Ping> {
    if self == .applying { return ApplyingReducer { _, store in body(store) } }
    return ClosureReducer<Int, Ping> { action, store in
      switch self {
      case .returning, .applying:
        ActionOperation(action: action, store: store) { _, store in body(store) }
      case .callback:
        ActionOperation(action: action, store: store) { operation, _, store in
          body(store)
          operation.finish()
        }
      case .suspending:
        ActionOperation(action: action, store: store) { _, store in
          await Task.yield()
          body(store)
        }
      }
    }
  }
}

/// A reducer whose `apply(_:to:)` is a closure.
final class ApplyingReducer: Reducer<Int, Ping> {
  private let work: @Sendable (Ping, ProbeStore) throws -> Void
  private let waits: ClosureReducer<Int, Ping>.Waits

  init(
    waits: @escaping ClosureReducer<Int, Ping>.Waits = { $1 },
    _ work: @escaping @Sendable (Ping, ProbeStore) throws -> Void
  ) {
    self.waits = waits
    self.work = work
  }

  override func apply(_ action: Ping, to store: ProbeStore) throws {
    try work(action, store)
  }

  override func waitFor(
    for action: Ping, in store: ProbeStore, declared: WaitFor
  ) -> WaitFor {
    waits(action, declared)
  }
}

typealias ProbeStore = Store<Int, Ping>

extension Dispatcher {
  /// Registers a store that records "+name" and "-name" around its work, and counts its commits.
  @discardableResult
  func addProbe(
    _ name: String, waitFor: WaitFor = [], style: OperationStyle = .returning,
    fails: Bool = false, to recorder: Recorder<String>,
    waits: @escaping ClosureReducer<Int, Ping>.Waits = { $1 }
  ) -> ProbeStore {
    let reducer: Reducer<Int, Ping> =
      if style == .applying {
        ApplyingReducer(waits: waits) { _, store in try store.probe(fails, recorder) }
      } else {
        ClosureReducer(waits: waits) { action, store in
          .probe(action, store, style, fails, recorder)
        }
      }
    return register(
      store: ProbeStore(identifier: name, model: 0, reducer: reducer), waitFor: waitFor)
  }
}

extension Store where Model == Int, Action == Ping {
  /// A store that is not registered, and counts its actions.
  static func probe(_ identifier: String, model: Int = 0) -> ProbeStore {
    let reducer = ClosureReducer<Int, Ping> { action, store in
      ActionOperation(action: action, store: store) { _, store in store.updateModel { $0 += 1 } }
    }
    return ProbeStore(identifier: identifier, model: model, reducer: reducer)
  }

  /// A store that is not registered, and whose reduction counts its actions and calls a closure.
  static func reducing(
    _ identifier: String, _ body: @escaping @Sendable () throws -> Void
  ) -> ProbeStore {
    let reducer = FunctionReducer<Int, Ping> { count, _ in
      count += 1
      try body()
    }
    return ProbeStore(identifier: identifier, model: 0, reducer: reducer)
  }
}

extension Store where Model == Int, Action == Ping {
  fileprivate func probe(_ fails: Bool, _ recorder: Recorder<String>) throws {
    recorder.record("+\(identifier)")
    updateModel { $0 += 1 }
    recorder.record("-\(identifier)")
    if fails { throw PingFailure() }
  }
}

extension ActionOperation where Model == Int, Action == Ping {
  static func probe(
    _ action: Ping, _ store: ProbeStore, _ style: OperationStyle, _ fails: Bool,
    _ recorder: Recorder<String>
  ) -> ActionOperation<Int, Ping> {
    switch style {
    case .returning, .applying:
      ActionOperation(action: action, store: store) { _, store in
        try store.probe(fails, recorder)
      }
    case .callback:
      ActionOperation(action: action, store: store) { operation, _, store in
        recorder.record("+\(store.identifier)")
        DispatchQueue.global().async {
          operation.updateModel { $0 += 1 }
          recorder.record("-\(store.identifier)")
          if fails { operation.finish(throwing: PingFailure()) } else { operation.finish() }
        }
      }
    case .suspending:
      ActionOperation(action: action, store: store) { _, store in
        recorder.record("+\(store.identifier)")
        await Task.yield()
        store.updateModel { $0 += 1 }
        recorder.record("-\(store.identifier)")
        if fails { throw PingFailure() }
      }
    }
  }
}

extension Dispatcher {
  /// The thread and the order in which a dispatch runs.
  public struct Mode: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
      case async
      case sync
      case serial(TypedKey?)
      case mainThread
    }

    let kind: Kind

    @usableFromInline
    var isSync: Bool { if case .sync = kind { true } else { false } }
    @usableFromInline
    var isMainThread: Bool { if case .mainThread = kind { true } else { false } }
    var isAsync: Bool { if case .async = kind { true } else { false } }

    /// The key of the mode's lane, distinct from the program's keys for the default and main lanes; nil without a
    /// lane.
    var laneKey: TypedKey? {
      switch kind {
      case .serial(let key?): key
      case .serial(nil): .defaultLane
      case .mainThread: .mainLane
      case .sync, .async: nil
      }
    }

    /// Runs on the concurrent queue, without a guaranteed order between dispatches.
    public static let async = Mode(kind: .async)

    /// Runs on the caller's thread, before `dispatch` returns.
    ///
    /// While it waits, the thread runs the jobs of the dispatch's `async` blocks, and blocks for all else. A blocked
    /// thread keeps its stack, of which some 25 KB are in use. Work that it waits for gets a thread at once, even if
    /// the system has none left. If the library sees that a wait can't end, it refuses the wait with `wouldDeadlock`.
    /// The library does not see these waits:
    ///
    /// - On the main queue: an `async` block that awaits the main actor, or a `MainActor.run`, inside. Both wait for
    ///   the main queue, which this call holds up; use `.mainThread` there. (A block that is isolated to the main
    ///   actor as a whole is refused.)
    /// - In a task: a block that awaits a task made with `Task {}`. That task needs a thread of the cooperative pool,
    ///   which has as many as the machine has processors. This call blocks one of them. (For that reason, a wait in a
    ///   task for a dispatch that another task has sent is refused.)
    ///
    /// In an `async` function, `send` with another mode blocks nothing.
    public static let sync = Mode(kind: .sync)

    /// Runs on the default lane: one dispatch at a time, first in, first out.
    public static let serial = Mode(kind: .serial(nil))

    /// Runs on the main queue, one dispatch at a time, first in, first out; always enqueued.
    public static let mainThread = Mode(kind: .mainThread)

    /// Runs on the lane with this key: one dispatch at a time in each lane, while lanes run concurrently.
    ///
    /// Keys compare by type and value. An empty lane takes no memory, since its record is reused.
    public static func serial(lane key: some Hashable & Sendable) -> Mode {
      Mode(kind: .serial(TypedKey(key)))
    }

    /// The four modes, `serial` with its default lane.
    public static let allBuiltIn: [Mode] = [.async, .sync, .serial, .mainThread]
  }
}

extension TypedKey {
  private enum OwnLane: Hashable { case standard, main }
  fileprivate static let defaultLane = TypedKey(OwnLane.standard)
  fileprivate static let mainLane = TypedKey(OwnLane.main)
}

extension Dispatcher.Mode: CustomStringConvertible {
  /// The mode's name, with the name of its lane.
  public var description: String {
    switch kind {
    case .async: "async"
    case .sync: "sync"
    case .serial(nil): "serial"
    case .serial(let key?): "serial(lane: \(key.description))"
    case .mainThread: "mainThread"
    }
  }
}

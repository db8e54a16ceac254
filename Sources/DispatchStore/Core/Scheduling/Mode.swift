extension Dispatcher {
  /// Where and in which order a dispatch runs.
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

    /// What distinguishes its lane from others, also from those without a key of the program's; nil where it is none.
    var laneKey: TypedKey? {
      switch kind {
      case .serial(let key?): key
      case .serial(nil): .defaultLane
      case .mainThread: .mainLane
      case .sync, .async: nil
      }
    }

    /// On the concurrent queue, without a guaranteed order between dispatches.
    public static let async = Mode(kind: .async)

    /// On the caller's thread, before `dispatch` returns.
    ///
    /// Where it has to wait, the thread runs the jobs of its `async` blocks itself, and blocks for all else. A
    /// thread that blocks keeps its stack, of which some 25 KB are in use; what it waits for gets a thread
    /// at once, whatever the system has left. A wait that the library sees that it can't end is refused
    /// with `wouldDeadlock`. It does not see:
    ///
    /// - on the main queue: an `async` block that awaits the main actor, or a `MainActor.run`, inside. Both
    ///   wait for the main queue, which this call holds up; use `.mainThread` there. (A block that is isolated to
    ///   the main actor as a whole is refused.)
    /// - in a task: a block that awaits a task made with `Task {}`. It needs a thread of the cooperative pool,
    ///   which has as many as the machine has processors, and this call blocks one of them. (In a task, a wait
    ///   for a dispatch that was sent by another one is refused for that reason.)
    ///
    /// In an `async` function, `send` with another mode blocks nothing.
    public static let sync = Mode(kind: .sync)

    /// On the default lane: one dispatch at a time, first in, first out.
    public static let serial = Mode(kind: .serial(nil))

    /// On the main queue, one dispatch at a time, first in, first out; always enqueued.
    public static let mainThread = Mode(kind: .mainThread)

    /// On the lane with this key: one dispatch at a time in each lane; lanes run concurrently.
    ///
    /// Keys compare by type and value. An empty lane takes no memory: its record goes to another one.
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
  /// The mode's name, with that of its lane.
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

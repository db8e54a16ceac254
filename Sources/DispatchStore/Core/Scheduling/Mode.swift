extension Dispatcher {
  /// The thread and the order in which a dispatch runs.
  public struct Mode: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
      case async
      case sync
      case serial
      case lane(TypedKey)
      case lanes(LaneKeys)
      case mainThread
    }

    let kind: Kind

    @usableFromInline
    var isSync: Bool { if case .sync = kind { true } else { false } }
    @usableFromInline
    var isMainThread: Bool { if case .mainThread = kind { true } else { false } }
    var isAsync: Bool { if case .async = kind { true } else { false } }

    /// The keys of the mode's lanes; those of the default and main lanes are distinct from the program's.
    var laneKeys: [TypedKey] {
      switch kind {
      case .serial: [.defaultLane]
      case .lane(let key): [key]
      case .lanes(let keys): keys.all
      case .mainThread: [.mainLane]
      case .sync, .async: []
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
    ///   the main queue, which this call holds up; use `.mainThread` there. A block that is isolated to the main
    ///   actor as a whole is refused.
    /// - On the main queue: a wait for another dispatch, such as one in `after`, whose handler is isolated to the main
    ///   actor. Make that dispatch with `.mainThread`: then the wait is refused.
    /// - On the main queue: an operation that depends on one in `OperationQueue.main`.
    /// - In a task: a block that awaits a task made with `Task {}`. That task needs a thread of the cooperative pool,
    ///   which has as many as the machine has processors. This call blocks one of them. (For that reason, a wait in a
    ///   task for a dispatch that another task has sent is refused.)
    ///
    /// In an `async` function, `send` with another mode blocks nothing.
    public static let sync = Mode(kind: .sync)

    /// Runs on the default lane: one dispatch at a time, first in, first out.
    public static let serial = Mode(kind: .serial)

    /// Runs on the main queue, one dispatch at a time, first in, first out; always enqueued.
    ///
    /// One block of the queue runs up to 64 dispatches. So a dispatch may overtake another block that is there already.
    public static let mainThread = Mode(kind: .mainThread)

    /// Runs on the lane with this key: one dispatch at a time in each lane, while lanes run concurrently.
    ///
    /// Keys compare by type and value. An empty lane takes no memory, since its record is reused.
    public static func serial(lane key: some Hashable & Sendable) -> Mode {
      Mode(kind: .lane(TypedKey(key)))
    }

    /// Runs on several lanes at once: a transfer on the lanes of both accounts, say.
    ///
    ///     bank.dispatch(action: transfer, mode: .serial(lanes: [transfer.from, transfer.to]))
    ///
    /// The dispatch enters all lanes in one step, and takes its turn in each: first in, first out. It starts when it is
    /// first in all of them, and holds all of them until its end. So a lane may wait although its dispatches before
    /// this one have ended. Entering several lanes never deadlocks, whatever the order of the keys. In lanes with
    /// priorities it goes after all that came before it; its priority counts if all its lanes have priorities.
    ///
    /// Keys may have different types. A key that is named twice counts once.
    ///
    /// - Precondition: There is at least one key, and there are at most 256 different ones.
    public static func serial(
      lanes keys: [any Hashable & Sendable], fileID: StaticString = #fileID, line: UInt = #line
    ) -> Mode {
      guard let keys = LaneKeys(keys) else {
        stopProgram(
          """
          A mode was made without lanes (\(CallSite(fileID, line))): serial(lanes:) needs a key. For a \
          dispatch that needs no lane, take .async.
          """)
      }
      if keys.all.count > LaneKeys.most {
        stopProgram(
          """
          A mode was made with \(keys.all.count) lanes (\(CallSite(fileID, line))): serial(lanes:) takes \
          \(LaneKeys.most) at most, since the dispatch enters all of them in one step. Take one lane for many keys.
          """)
      }
      return keys.all.count == 1 ? Mode(kind: .lane(keys.all[0])) : Mode(kind: .lanes(keys))
    }

    /// The four modes, `serial` with its default lane.
    package static let allBuiltIn: [Mode] = [.async, .sync, .serial, .mainThread]
  }
}

/// The keys of several lanes, each once; equal to the same keys in another order.
struct LaneKeys: Hashable, Sendable {
  /// The number of lanes for which each thread's stack suffices: `LaneSet.enter` recurses once per lane.
  static let most = 256

  let all: [TypedKey]

  /// Nil without a key.
  init?(_ keys: [any Hashable & Sendable]) {
    var (all, known) = ([TypedKey](), Set<TypedKey>())
    for key in keys.map({ TypedKey($0) }) where known.insert(key).inserted { all.append(key) }
    if all.isEmpty { return nil }
    self.all = all
  }

  static func == (lhs: LaneKeys, rhs: LaneKeys) -> Bool {
    lhs.all.count == rhs.all.count && lhs.all.allSatisfy(rhs.all.contains)
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(all.reduce(0) { $0 ^ $1.hash })
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
    case .serial: "serial"
    case .lane(let key): "serial(lane: \(key.description))"
    case .lanes(let keys): "serial(lanes: \(keys.all.map(\.description).joined(separator: ", ")))"
    case .mainThread: "mainThread"
    }
  }
}

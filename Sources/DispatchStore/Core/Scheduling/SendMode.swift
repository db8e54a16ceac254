extension Dispatcher {
  /// The thread and the order in which a sent action runs: a mode that does not block the caller's thread.
  public struct SendMode: Hashable, Sendable {
    /// Corresponds to this mode of `dispatch`.
    public let mode: Mode

    /// Makes the mode for `send`, or nil for `.sync`, which would block the thread of the calling task.
    public init?(_ mode: Mode) {
      if mode.isSync { return nil }
      self.mode = mode
    }

    @usableFromInline
    init(unchecked mode: Mode) {
      self.mode = mode
    }

    /// Begins at once, without a guaranteed order between dispatches.
    public static let async = SendMode(unchecked: .async)

    /// Runs on the default lane: one dispatch at a time, first in, first out.
    public static let serial = SendMode(unchecked: .serial)

    /// Runs on the main actor, one dispatch at a time, first in, first out.
    public static let mainThread = SendMode(unchecked: .mainThread)

    /// Runs on the lane with this key: one dispatch at a time in each lane, while lanes run concurrently.
    ///
    /// Keys compare by type and value.
    public static func serial(lane key: some Hashable & Sendable) -> SendMode {
      SendMode(unchecked: .serial(lane: key))
    }

    /// Runs when it is first in several lanes, and holds all of them until it ends: see `Mode.serial(lanes:)`.
    public static func serial(
      lanes keys: [any Hashable & Sendable], fileID: StaticString = #fileID, line: UInt = #line
    ) -> SendMode {
      SendMode(unchecked: .serial(lanes: keys, fileID: fileID, line: line))
    }
  }
}

extension Dispatcher.SendMode: CustomStringConvertible {
  /// The mode's name, with the name of its lane.
  public var description: String { mode.description }
}
